import { host } from "../../src/runtime/host.ts";
import { storeSuite } from "../../src/testing/store_suite.ts";
import { openDenoKv } from "../support/stores.ts";

storeSuite(`deno kv on ${host}`, { open: openDenoKv });
if (host === "deno") {
  storeSuite("deno kv on deno with 10 checks", { open: () => openDenoKv({ maxChecks: 10 }) });
}
