import { host } from "../../src/runtime/host.ts";
import { storeCases, storeSuite } from "../../src/testing/store_suite.ts";
import { testEach } from "../../src/testing/suite.ts";
import { LONG } from "../support/effort.ts";
import { openDenoKv } from "../support/stores.ts";

// No runtime decides what becomes of an acknowledgement that is late.
if (host === "deno" || LONG) storeSuite(`deno kv on ${host}`, { open: openDenoKv });
else testEach(`deno kv on ${host}`, storeCases, () => openDenoKv());
// The drivers of the other runtimes have 10 as it is.
if (host === "deno" && LONG) {
  storeSuite("deno kv on deno with 10 checks", { open: () => openDenoKv({ maxChecks: 10 }) });
}
