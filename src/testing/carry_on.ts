import { isSuperstepError } from "../errors.ts";
import type { WorkOptions } from "../engine/options.ts";
import type { RunResult } from "../engine/result.ts";
import type { Runner } from "../engine/runner.ts";
import type { Store } from "../store/store.ts";
import type { AnswerBook } from "./answer_book.ts";
import type { VirtualClock } from "./virtual_clock.ts";

/** Everything that carries a run on. */
export interface Carrier<S> {
  readonly runner: Runner<S>;
  readonly store: Store;
  readonly clock: VirtualClock;
  /** The time as the process of the runner reads it. */
  readonly now: () => number;
  readonly answers: AnswerBook;
  /** Passes a promise on, unless its engine is stopped. */
  readonly guard: <T>(work: Promise<T>) => Promise<T>;
}

/**
 * Carries a run from one claim to the next, as workers and people would: answers what it waits for, moves time to its
 * next wake, resumes it. Ends when it is over, or when only a person can help: an unanswered wait, a failed vertex, a
 * halt.
 */
export async function carryOn<S>(
  carrier: Carrier<S>,
  runId: string,
  work: Promise<RunResult<S>>,
  options: WorkOptions = {},
): Promise<RunResult<S>> {
  const { runner, clock, now, answers, guard } = carrier;
  const give = () => clock.drive(guard(answers.give(runner, runId, now())));
  const drive = (result: Promise<RunResult<S>>) => clock.drive(guard(result), { idle: give });
  let result = await drive(work);
  for (;;) {
    if (result.status !== "interrupted" || result.reason === "halted" || result.reason === "errored") {
      return result;
    }
    let wake = -Infinity;
    if (!await give()) {
      wake = await wakeOf(carrier, runId) ?? Infinity;
      if (wake === Infinity) return result;
      await clock.advance(Math.max(0, wake - now()));
    }
    const before = result.run.revision;
    result = await drive(runner.resume(runId, options));
    // The clock may have been set back meanwhile.
    if (result.run.revision === before && wake <= now()) return result;
  }
}

/** When a run is to be woken, if it is. */
export async function wakeOf<S>(carrier: Carrier<S>, runId: string): Promise<number | undefined> {
  const { store, clock, guard } = carrier;
  const wakes = await clock.drive(guard(store.wakes(Number.MAX_SAFE_INTEGER, MOST_WAKES)));
  return wakes.find((wake) => wake.runId === runId)?.due;
}

const MOST_WAKES = 1_000;

/** Whether a fault says that there is no such run. */
export function isUnknownRun(error: unknown): boolean {
  return isSuperstepError(error, "CHECKPOINT_NOT_FOUND");
}
