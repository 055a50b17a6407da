// Runs on deno by default: its processes show the same on all runtimes, and tests of a few start them on all three.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { HOST } from "../support/runtimes.ts";
import { temporaryFolder } from "../support/stores.ts";
import { Child } from "./child.ts";
import { effectsOf, Ledger, type Line } from "./errand.ts";
import type { Orders } from "./worker.ts";

/** Workers on one file, numbered in the order in which they are started. */
async function stage() {
  const folder = await temporaryFolder();
  const db = join(folder.path, "store.db");
  const ledger = join(folder.path, "ledger.jsonl");
  const children: Child[] = [];
  return {
    folder: folder.path,
    begin(task: Orders["task"], ahead = 0): Child {
      const child = new Child(HOST, { db, ledger, generation: children.length, ahead, task });
      children.push(child);
      return child;
    },
    begun: (generation: number, from = 0) =>
      Ledger.read(ledger).slice(from).filter((l) => l.kind === "begin" && l.generation === generation)
        .map((l) => l.name),
    lines: (): readonly Line[] => Ledger.read(ledger),
    async dispose() {
      for (const child of children) await child.dispose();
      await folder.remove();
    },
  };
}

test(
  "an owner that is stopped past its lease and replaced starts nothing more when it goes on, and reports that it lost the run (O1)",
  {
    timeout: 120_000,
  },
  async () => {
    const { begin, begun, lines, dispose } = await stage();
    try {
      const frozen = begin({ kind: "start", runId: "r", hold: true });
      await frozen.until("slow");
      frozen.kill("SIGSTOP");
      const heir = begin({ kind: "recover", patience: true });
      heir.go();
      const taken = await heir.until("end");
      assert.deepEqual([taken.claimed, taken.statuses], [1, ["interrupted"]]);
      assert.deepEqual(begun(1), ["slow", "ask"], "it runs what had no result, and what comes after it");
      const before = lines().length;

      frozen.kill("SIGCONT");
      frozen.go();
      const woken = await frozen.until("end");
      assert.equal(woken.error, "OWNERSHIP_LOST");
      assert.deepEqual(begun(0, before), [], "nothing begins in the process that lost the run");
      for (const reason of woken.aborts as string[]) assert.equal(reason, "OWNERSHIP_LOST");

      const effects = lines().filter((l) => l.kind === "effect").map((l) => l.key);
      const expected = effectsOf("r").filter((key) => !/vertex=(ask|ask2|end)$/.test(key));
      assert.deepEqual([...new Set(effects)].sort(), expected);
    } finally {
      await dispose();
    }
  },
);

test(
  "an owner whose body blocks the process past its lease starts nothing more once it was replaced, no once either, and reports that it lost the run (O1, T1, FT-A7)",
  {
    timeout: 120_000,
  },
  async () => {
    const { begin, begun, lines, folder, dispose } = await stage();
    try {
      const file = join(folder, "go");
      const heir = begin({ kind: "recover", patience: true });
      await heir.until("ready");
      const blocked = begin({ kind: "start", runId: "r", block: file });
      await blocked.until("slow");
      heir.go();
      const taken = await heir.until("end");
      assert.deepEqual([taken.claimed, taken.statuses], [1, ["interrupted"]]);
      const before = lines().length;
      writeFileSync(file, "");
      const woken = await blocked.until("end");
      assert.equal(woken.error, "OWNERSHIP_LOST");
      assert.deepEqual(begun(1, before), [], "nothing begins in the process that lost the run");
      for (const reason of woken.aborts as string[]) assert.equal(reason, "OWNERSHIP_LOST");
    } finally {
      await dispose();
    }
  },
);

for (const round of [1, 2, 3]) {
  test(
    `of two processes that recover a run at once one wins and the other has run nothing (${round} of 3) (O1)`,
    {
      timeout: 120_000,
    },
    async () => {
      const { begin, begun, lines, dispose } = await stage();
      try {
        const first = begin({ kind: "start", runId: "r", hold: true });
        await first.until("slow");
        first.kill("SIGKILL");
        await first.ended;
        const before = lines().length;
        const rivals = [begin({ kind: "recover" }, 16_000), begin({ kind: "recover" }, 16_000)];
        for (const rival of rivals) await rival.until("ready");
        for (const rival of rivals) rival.go();
        const said = [];
        for (const rival of rivals) said.push(await rival.until("end"));
        assert.deepEqual(said.map((s) => s.error), [undefined, undefined]);
        assert.deepEqual(said.map((s) => s.claimed).sort(), [0, 1]);
        const winner = said.findIndex((s) => s.claimed === 1);
        assert.deepEqual(begun(1 + winner, before), ["slow", "ask"]);
        assert.deepEqual(begun(2 - winner, before), []);
      } finally {
        await dispose();
      }
    },
  );
}
