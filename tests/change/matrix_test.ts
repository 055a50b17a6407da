// Runs on deno by default: what fits is decided by code that is the same everywhere.
/**
 * Every change of a workflow × every state of a run. What is expected is what the sentence of SPEC 16 beside the change says:
 * the run fits, migrates or is refused; the dry run says so before, and it is so then. A run that was refused is rolled back
 * to the code that it began with, and comes to its end there; one that has moved does so under the new code, by the wait id
 * that was mailed before, with each effect had once, and no body sees a value that its types do not allow.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Store } from "../../src/store/store.ts";
import { effort } from "../support/effort.ts";
import { openDenoKv, openMemory } from "../support/stores.ts";
import { type Change, CHANGES } from "./matrix/changes.ts";
import { codeOf, FIRST, type World } from "./matrix/plan.ts";
import { bringTo, finish, type State, STATES } from "./matrix/states.ts";

async function cell(change: Change, state: State, store: Store): Promise<void> {
  const at = STATES[state];
  const world: World = { effects: new Map(), violations: [], mended: false };
  const { process: old } = codeOf(FIRST, world, { store });
  const mailed = await bringTo(old, state);
  const { revision } = await old.runner.status("r");
  const plan = { ...change.make(FIRST, at), version: 2 };
  const { process: next } = codeOf(plan, world, { store: old.store, clock: old.clock });
  const why = change.refuses?.(state, at);
  const told = await next.runner.tryAdopt("r");
  assert.equal(
    told.verdict,
    why !== undefined ? "refused" : change.migrates === true ? "migrates" : "fits",
    told.problem,
  );
  if (why !== undefined) assert.match(told.problem!, why);
  assert.equal((await old.runner.status("r")).revision, revision, "the dry run writes nothing");

  const adopted = await next.runner.adopt("r").catch((error) => {
    assert.equal(error.code, "MIGRATION");
    return false;
  });
  assert.equal(adopted, why === undefined, "the dry run says what happens");
  if (why !== undefined) {
    assert.equal((await old.runner.status("r")).revision, revision, "a refused run is as it was");
    await assert.rejects(next.resume("r"), (e: Error) => why.test(e.message) || why.test(told.problem!));
  } else {
    assert.equal(await old.runner.adopt("r"), false, "never back");
    assert.equal((await old.runner.tryAdopt("r")).verdict, "refused");
    await assert.rejects(old.resume("r"), { code: "GRAPH_VERSION_MISMATCH" });
  }
  const result = await finish(why === undefined ? next : old, world, mailed);
  assert.equal(result.status, "completed");
  assert.equal(result.run.graphVersion, (why === undefined ? next : old).graph.version);
  assert.deepEqual(world.violations, [], "no body sees a value that its types do not allow");
  assert.deepEqual([...world.effects].filter(([, times]) => times !== 1), [], "nothing is done twice");
  if (state !== "queued") assert.equal(old.ran("start"), 1);
}

const kinds = effort<readonly ("memory" | "Deno KV")[]>(["memory"], ["memory", "Deno KV"]);
for (const kind of kinds) {
  for (const change of CHANGES) {
    test(`${change.name}: runs in every state fit, migrate or are refused as the dry run says, in ${kind} (V2, V3, V4)`, async () => {
      const faults: string[] = [];
      for (const state of Object.keys(STATES) as State[]) {
        const { store, cleanup } = kind === "memory" ? await openMemory() : await openDenoKv();
        await cell(change, state, store)
          .catch((error) => void faults.push(`${state}: ${error.stack}`))
          .finally(cleanup);
      }
      assert.deepEqual(faults, [], `SPEC: ${change.says}`);
    });
  }
}
