import { appendHints } from "../checkpoint/hints.ts";
import { ArgumentError, CheckpointNotFoundError } from "../errors.ts";
import type { Duration } from "../model/durations.ts";
import { Alarm } from "../runtime/alarm.ts";
import type { CallOptions, Position } from "../store/store.ts";
import type { RunnerDeps } from "./runner_deps.ts";
import { type HistoryEntry, HistoryFold } from "./history.ts";
import { checkedRunId, span } from "./options.ts";
import { POLL_MS } from "./ownership.ts";

/** Options of `follow`. */
export interface FollowOptions {
  /** The first revision; at most the one that comes next. Where it is kept no more, the first that is. @default 0 */
  readonly from?: number;
  /** How often the store is asked whether another process has appended, at least. @default "1s" */
  readonly poll?: Duration;
  /** Aborting it ends the iteration. */
  readonly signal?: AbortSignal;
}

/**
 * The records of a run as they come.
 *
 * 1. Every revision from the first one asked for is yielded once and in order, whichever process appends it. Hints of
 *    appends in this process only save polls.
 * 2. The iteration ends after the record that ends the run. A paused run is followed on, for it may be resumed.
 * 3. Nothing is read and no timer is set while the reader does not ask; at most a page of records is held.
 */
export async function* followed<S>(
  { store, log, runtime }: RunnerDeps<S>,
  runId: string,
  options: FollowOptions,
): AsyncGenerator<HistoryEntry, void, undefined> {
  checkedRunId(runId, "follow");
  const { from = 0, signal } = options;
  const call: CallOptions = signal === undefined ? {} : { signal };
  const slowest = span(options.poll, POLL_MS, "follow", "poll");
  const look = async () => (await store.inspect(runId, 0, undefined, call)).head?.position;
  const alarm = new Alarm(runtime);
  const unlisten = appendHints(store).listen(runId, () => alarm.ring());
  try {
    const first = await look();
    if (first === undefined) throw new CheckpointNotFoundError(runId);
    checkFrom(runId, from, first);
    const fold = new HistoryFold(log, runId);
    let next = from;
    if (from > first.revision) {
      // Whether the run is over is what its newest record says.
      for (const record of await log.history(runId, first.revision, 1, signal)) await fold.take(record);
    }
    let pause = FIRST_PAUSE_MS;
    for (;;) {
      const { rings } = alarm;
      const head = await look();
      if (head?.epoch !== first.epoch) throw new CheckpointNotFoundError(runId);
      for (let read = next; next <= head.revision; read = next) {
        for (const record of await log.history(runId, next, PAGE, signal)) {
          next = record.revision + 1;
          yield await fold.take(record);
        }
        if (next === read) throw new CheckpointNotFoundError(runId, next);
        pause = FIRST_PAUSE_MS;
      }
      if (fold.isOver) return;
      await alarm.sleep(pause, rings, signal);
      pause = Math.min(2 * pause, slowest);
    }
  } catch (error) {
    if (signal?.aborted !== true) throw error;
  } finally {
    unlisten();
  }
}

function checkFrom(runId: string, from: number, { revision }: Position): void {
  if (Number.isSafeInteger(from) && from >= 0 && from <= revision + 1) return;
  throw new ArgumentError(
    "follow",
    `from is ${from}, and run ${runId} has the revisions 0 to ${revision}; give one of them, or the next one`,
  );
}

/** So many records are read at once. */
const PAGE = 64;

/** The first pause between two looks; each one after it is twice as long. */
const FIRST_PAUSE_MS = 50;
