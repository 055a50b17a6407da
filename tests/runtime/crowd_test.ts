import assert from "node:assert/strict";
import process from "node:process";
import { test } from "node:test";
import { allowManyListeners } from "../../src/runtime/many_listeners.ts";

test("any number may listen to a crowded signal without a warning (FC-36)", async () => {
  const warned: Error[] = [];
  const warn = (warning: Error) => void warned.push(warning);
  process.on("warning", warn);
  const controller = new AbortController();
  let told = 0;
  for (let i = 0; i < 100; i++) allowManyListeners(controller.signal).addEventListener("abort", () => told++);
  await new Promise<void>((resolve) => setTimeout(resolve, 5));
  controller.abort();
  process.off("warning", warn);
  assert.deepEqual([told, warned], [100, []]);
});
