import { host } from "../../src/runtime/host.ts";
import { storeSuite } from "../../src/testing/store_suite.ts";
import { LONG } from "../support/effort.ts";
import { openDenoKv } from "../support/stores.ts";

storeSuite(`deno kv on ${host}`, { open: openDenoKv });
// The drivers of the other runtimes have 10 as it is.
if (host === "deno" && LONG) {
  storeSuite("deno kv on deno with 10 checks", { open: () => openDenoKv({ maxChecks: 10 }) });
}
