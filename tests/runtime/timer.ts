/** A process that has nothing to do but one timer. */
import process from "node:process";
import { systemRuntime } from "../../src/runtime/system.ts";

process.stdout.write("begun");
systemRuntime.wakeAt(systemRuntime.now() + 300, () => process.stdout.write(" fired"), {
  keepAlive: process.argv[2] === "true",
});
