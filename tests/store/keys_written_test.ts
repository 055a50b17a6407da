// Runs on deno by default: what is written is the same everywhere.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { z } from "zod";
import { compile, defineWait, GraphBuilder, type TaskContext } from "../../mod.ts";
import { type CommitCall, keyKind, withFaults } from "../support/kv_faults.ts";
import { ROOT } from "../support/paths.ts";
import { matchesSnapshot } from "../support/snapshots.ts";

const Reply = defineWait("reply", z.number());

const graph = new GraphBuilder({ id: "asking", schema: z.object({ n: z.number(), ask: z.boolean() }) })
  .addVertex({
    id: "work",
    waits: [Reply],
    task: {
      execute: async (s: { readonly n: number; readonly ask: boolean }, ctx: TaskContext) => {
        if (s.n === 0) return;
        await (s.ask ? ctx.waitFor(Reply) : ctx.sleep("nap", "1h"));
      },
    },
    select: (s) => ({ n: s.n, ask: s.ask }),
    reduce: (s) => void s.n++,
  })
  .addVertex({ id: "end", task: { execute: () => 0 }, select: () => 0, reduce: () => {} })
  .addConditionalEdge("work", { targets: ["work", "end"], pick: (s) => s.n < 2 ? "work" : "end" })
  .build({ entry: "work", finish: "end" });

type KeyOf = readonly unknown[];
type Line = readonly string[];

const NAMES: Readonly<Record<string, string | ((key: KeyOf) => string)>> = {
  h: "head",
  m: (key) => key.length === 4 ? "mailbox" : "entry",
  c: "row",
  w: "wait",
  o: "inbox of the run",
  r: "record",
  ci: (key) => `by ${key[2]}`,
  state: "by state",
  waits: "inbox",
  wakes: "wake",
  works: "owned",
  q: "poke",
  t: "rest",
};

function namesOf(keys: readonly KeyOf[]): string {
  const names = keys.map((key) => {
    const name = NAMES[keyKind(key)] ?? keyKind(key);
    return typeof name === "string" ? name : name(key);
  });
  return names.length === 0 ? "–" : names.join(", ");
}

/** A line of the table in the documentation. */
function lineOf(operation: string, { checks, sets, deletes }: CommitCall): Line {
  const count = `${checks.length} + ${sets.length + deletes.length}`;
  return [operation, count, namesOf(checks), namesOf(sets), namesOf(deletes)];
}

test("what is checked and written when is what the documentation says, operation by operation (S3, I2)", async () => {
  const lines: Line[] = [];
  await withFaults(async ({ store, faults }) => {
    let taken: CommitCall[] = [];
    faults.commit = (call) => {
      if (call.checks.some(([, kind]) => kind === "h")) taken.push(call);
      return call.commit();
    };
    const during = async (work: () => Promise<unknown>, ...operations: string[]) => {
      taken = [];
      await work();
      assert.equal(taken.length, operations.length, `${operations}: ${taken.length} commits`);
      operations.forEach((operation, i) => operation === "" || lines.push(lineOf(operation, taken[i]!)));
    };
    const runner = compile(graph, { store });
    await during(
      () => runner.run({ n: 0, ask: true }, { runId: "asks" }),
      "start, owned by its process",
      "a step",
      "a wait opens, and the run pauses",
    );
    const { rows: [wait] } = await runner.waits({ runId: "asks" });
    await during(() => runner.answer("asks", wait!.waitId, 1), "an answer to a paused run");
    await during(() => runner.resume("asks"), "a claim with an answer", "", "the last step, and the end");
    await during(
      () => runner.run({ n: 1, ask: false }, { runId: "naps", tags: ["tag"] }),
      "start with a tag",
      "a timer is set, and the run sleeps",
    );
    await during(() => runner.cancel("naps", "enough"), "a cancellation of a sleeping run");
    await during(() => runner.submit({ n: 1, ask: true }, { runId: "left" }), "submit");
    await during(() => runner.resume("left"), "a claim of a submitted run", "");
  });
  const path = "docs/storage.md";
  const text = readFileSync(join(ROOT, path), "utf8");
  matchesSnapshot(path, text.replace(/^\| when .*\n(?:\|.*\n)+/m, () => tableOf(lines)));
});

/** The table as `deno fmt` has it. */
function tableOf(lines: readonly Line[]): string {
  const rows = [["when", "keys", "checked", "set", "deleted"], ...lines];
  const widths = rows[0]!.map((_, i) => Math.max(...rows.map((row) => row[i]!.length)));
  const [head, ...body] = rows.map((row) =>
    `| ${row.map((cell, i) => cell.padEnd(widths[i]!)).join(" | ")} |\n`
  );
  return [head, `| ${widths.map((width) => "-".repeat(width)).join(" | ")} |\n`, ...body].join("");
}
