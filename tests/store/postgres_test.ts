import { test } from "node:test";
import { leaseCases, storeCases, storeSuite } from "../../src/testing/store_suite.ts";
import { testEach } from "../../src/testing/suite.ts";
import { host } from "../../src/runtime/host.ts";
import { LONG } from "../support/effort.ts";
import { NO_POSTGRES, openPostgres, POSTGRES_BIN } from "../support/postgres.ts";

if (POSTGRES_BIN === undefined) test(NO_POSTGRES, () => {});
else {
  // No runtime decides what becomes of an acknowledgement that is late.
  if (LONG) storeSuite(`postgres on ${host}`, { open: openPostgres });
  else testEach(`postgres on ${host}`, storeCases, () => openPostgres());
  testEach(`postgres on ${host}`, leaseCases, () => openPostgres());
}
