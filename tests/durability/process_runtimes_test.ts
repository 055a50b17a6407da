// Runs on deno by default: it starts processes on all three.
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { HOST, type RuntimeName, RUNTIMES } from "../support/runtimes.ts";
import { temporaryFolder } from "../support/stores.ts";
import { Child } from "./child.ts";
import { effectsOf, Ledger, LOG, PATH } from "./errand.ts";

/** The orders that begin on this runtime; the other runtimes run those that begin on them. */
const ORDERS = RUNTIMES.filter((name) => name !== HOST).map((second): readonly RuntimeName[] => {
  const third = RUNTIMES.find((name) => name !== HOST && name !== second)!;
  return [HOST, second, third];
});

for (const order of ORDERS) {
  test(`a run begun on one runtime goes on on another and ends on the third: ${order.join(" → ")} (S3)`, async () => {
    const folder = await temporaryFolder();
    const db = join(folder.path, "store.db");
    const ledger = join(folder.path, "ledger.jsonl");
    const children: Child[] = [];
    const play = async (runtime: RuntimeName, task: ConstructorParameters<typeof Child>[1]["task"]) => {
      const child = new Child(runtime, { db, ledger, generation: children.length, task });
      children.push(child);
      const said = await child.until("end");
      await child.ended;
      return said;
    };
    try {
      const [first, second, third] = order as [RuntimeName, RuntimeName, RuntimeName];
      const begun = await play(first, { kind: "start", runId: "r" });
      assert.deepEqual([begun.status, begun.path], ["interrupted", PATH.slice(0, -3)]);
      const answered = await play(second, { kind: "answer", runId: "r", by: "first" });
      assert.deepEqual([answered.status, answered.kept], ["interrupted", true]);
      const ended = await play(third, { kind: "answer", runId: "r", by: "second" });
      assert.deepEqual([ended.status, ended.kept, ended.log, ended.path], ["completed", true, LOG, PATH]);
      const effects = Ledger.read(ledger).filter((line) => line.kind === "effect").map((line) => line.key);
      assert.deepEqual(
        effects.sort(),
        effectsOf("r"),
        "each effect once, under the same key on every runtime",
      );
    } finally {
      for (const child of children) await child.dispose();
      await folder.remove();
    }
  });
}
