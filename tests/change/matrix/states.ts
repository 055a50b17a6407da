/** What a run stands at when the code is changed, and how it is brought there and to its end. */
import assert from "node:assert/strict";
import type { RunResult } from "../../../src/engine/result.ts";
import type { Engine, Notes } from "../../support/graphs.ts";
import type { World } from "./plan.ts";

/** The states of runs, each with the vertex at which it stands. */
export const STATES = {
  queued: "ask",
  waiting: "ask",
  answered: "ask",
  sleeping: "nap",
  backoff: "flaky",
  mapping: "each",
  joining: "right",
  calling: "call",
  halted: "halt",
  errored: "bad",
  handled: "fails",
} as const;

/** What a run stands at. */
export type State = keyof typeof STATES;

const REASONS: Readonly<Record<Exclude<State, "queued">, string>> = {
  waiting: "awaiting",
  answered: "awaiting",
  sleeping: "sleeping",
  backoff: "sleeping",
  mapping: "awaiting",
  joining: "awaiting",
  calling: "awaiting",
  halted: "halted",
  errored: "errored",
  handled: "awaiting",
};

/** The short answer that a narrowed schema refuses. */
const SHORT = { by: "al" };

/** Brings run `r` to a state; answers the id of the wait that was mailed, if one is open. */
export async function bringTo(process: Engine<Notes>, state: State): Promise<string | undefined> {
  const input = { log: [], mode: state, items: [1, 2], n: 1 };
  if (state === "queued") {
    await process.runner.submit(input, { runId: "r" });
    return undefined;
  }
  let result: RunResult<Notes> = await process.run(input, { runId: "r" });
  const openWait = async () => (await process.runner.waits({ runId: "r" })).rows[0];
  if (["waiting", "answered", "handled"].includes(state)) {
    const first = (await openWait())!;
    assert.equal(first.name, "first");
    result = await process.resume("r", { answers: { [first.waitId]: SHORT } });
  }
  assert.equal(result.status === "interrupted" && result.reason, REASONS[state], state);
  const mailed = (await openWait())?.waitId;
  if (state === "answered") await process.runner.answer("r", mailed!, SHORT);
  return mailed;
}

/** Brings run `r` to its end, answering whatever it waits for; the wait that was mailed by its old id. */
export async function finish(
  process: Engine<Notes>,
  world: World,
  mailed: string | undefined,
): Promise<RunResult<Notes>> {
  world.mended = true;
  if (
    mailed !== undefined && (await process.runner.waits({ runId: "r" })).rows.some((w) => w.waitId === mailed)
  ) {
    await process.runner.answer("r", mailed, { by: "anna" });
  }
  for (let i = 0; i < 12; i++) {
    const result = await process.resume("r");
    if (result.status !== "interrupted") return result;
    for (const { waitId } of (await process.runner.waits({ runId: "r" })).rows) {
      await process.runner.answer("r", waitId, { by: "anna" });
    }
    if (result.due !== undefined) await process.clock.advance("3h");
  }
  return assert.fail("it comes to no end");
}
