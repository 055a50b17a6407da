import type { CheckpointLog } from "../checkpoint/log.ts";
import { isSuperstepError, UNREADABLE } from "../errors.ts";
import type { RecordEvent } from "../checkpoint/records.ts";
import { executionKey, type ExecutionRef, presentId, refOf } from "../model/checkpoint.ts";
import type { TaskContext } from "../model/context.ts";
import { rowsOf } from "../model/pages.ts";
import { isOver, type RunCaller, type RunRecord } from "../model/run.ts";
import { sha256Hex } from "../runtime/hash.ts";
import type { CatalogRow, Store } from "../store/store.ts";
import type { Emitted } from "./emits.ts";

/**
 * Runs that work for an execution of another run, as those of `Subgraph` do.
 *
 * 1. They are asked through their caller: their waits are in no inbox, expire only when the caller says so, and nothing
 *    but the caller wakes them. So an answer is accepted in one place, and counts from there.
 * 2. They end with the run of their caller at the latest: cancelling or purging that one finds them by a tag.
 * 3. One is created, and claimed, only while the execution that called it waits for it; when that has come to its end
 *    otherwise, it is cancelled. It never works for another run of its caller's id.
 * 4. Each of their records tells how far their callers were when it was written, so that a fork of a caller at a revision
 *    finds where they stood then. What a caller records of them, and what they get from it, is later than what it refers to.
 */

/** A run at work, for those that are called by its bodies. */
export interface CallingRun {
  /** The newest revisions of it, of the one that called it, and so on. */
  revisions(): readonly number[];
  /** Tells it from others of its id. */
  epoch(): string;
  /** A run works for one of its executions from now on. */
  calls(runId: string, by: ExecutionRef): void;
  /** The id under which a vertex of it was begun. */
  begunAs(vertexId: string): string;
  /** One of its bodies gives its permit of a pool back until `work` is over, and has it again then. */
  lend(by: ExecutionRef, work: Promise<unknown>): Promise<void>;
  /** A run that works for it emits. */
  emits(emit: Emitted): void;
  /** A fault of the store, or of loading, was met by a run that works for it: it stops as by its own. */
  stop(fault: unknown): void;
}

/** That of a body whose run was released. */
export const NO_RUN: CallingRun = {
  revisions: () => [],
  epoch: () => "",
  calls: () => {},
  begunAs: (id) => id,
  lend: () => Promise.resolve(),
  emits: () => {},
  stop: () => {},
};

/** Under this the context of a body has its {@link CallingRun}. */
export const CALLING_RUN: unique symbol = Symbol.for("superstep.calling_run") as never;

/** The run at work whose live context `caller` is; `undefined` for one that only names it. */
export function callingRunOf(caller: RunCaller | undefined): CallingRun | undefined {
  return caller === undefined ? undefined : (caller as { readonly [CALLING_RUN]?: CallingRun })[CALLING_RUN];
}

/**
 * Does work that a body has called for, which is not suspended while it goes on. A body that was abandoned gets none; a
 * fault that stops the called run stops the run of the caller, whatever its body makes of it.
 */
export function workFor<T>(caller: RunCaller | undefined, work: () => Promise<T>): Promise<T> {
  const run = callingRunOf(caller);
  if (run === undefined) return work();
  const body = caller as Partial<TaskContext>;
  if (body.signal?.aborted) return Promise.reject(body.signal.reason);
  const watched = work().catch((error) => {
    if (isSuperstepError(error, ...STOPPING)) run.stop(error);
    throw error;
  });
  const lent = run.lend(caller!, watched);
  const over = watched.finally(() => lent);
  body.hold?.(over.catch(() => {}));
  return over;
}

/** Faults of loading, which stay as long as code and store stay as they are. */
export const LOAD_FAULTS = [
  ...UNREADABLE,
  "UNKNOWN_VERTEX",
  "GRAPH_MISMATCH",
  "GRAPH_RUN_MISMATCH",
  "GRAPH_VERSION_MISMATCH",
  "MIGRATION",
];
const STOPPING = ["STORE", ...LOAD_FAULTS];

/**
 * Whether a run is still waited for by the execution that called it. It is asked once the record of a run is there that
 * was created: whoever ends the caller looks for such runs after its own record, so that one of the two sees the other.
 */
export async function isAwaited<S>(log: CheckpointLog<S>, caller: RunCaller): Promise<boolean> {
  try {
    const found = await log.load(caller.runId, { state: false });
    if (found === undefined || (caller.epoch ?? found.position.epoch) !== found.position.epoch) return false;
    if (found.mailbox.content.cancel !== undefined) return false;
    const { run: { status }, frontier, executions, nextStep } = found.checkpoint;
    const vertexId = presentId(found.checkpoint, caller.vertexId);
    if (isOver(status) || (caller.step ?? nextStep) !== nextStep) {
      return false;
    }
    const { item } = caller;
    const settled = [executions.get(vertexId), executions.get(executionKey(vertexId, item))].some((x) =>
      x?.status === "done" || (x?.status === "failed" && x.handler !== undefined)
    );
    return frontier.includes(vertexId) && !settled;
  } catch (error) {
    // A caller that is damaged is for those who work on it; this run can go on.
    if (!isSuperstepError(error, ...UNREADABLE)) throw error;
    return true;
  }
}

/** Why a run is cancelled that nobody waits for. */
export const NOT_AWAITED = "the run that called it no longer waits for it";

/** The runs that work for the executions of a run at work. */
export class ChildRuns {
  readonly #open = new Map<string, ExecutionRef>();
  readonly #ending = new Set<Promise<unknown>>();
  readonly #cancel: (runId: string) => Promise<unknown>;

  constructor(cancel: (runId: string) => Promise<unknown>) {
    this.#cancel = cancel;
  }

  add(runId: string, by: ExecutionRef): void {
    this.#open.set(runId, refOf(by));
  }

  /** Cancels those whose execution has come to its end without theirs. */
  settle(events: readonly RecordEvent[]): void {
    if (this.#open.size === 0) return;
    for (const [runId, by] of this.#open) {
      const settled = events.some((e) =>
        (e.type === "done" || (e.type === "failed" && e.handler !== undefined)) &&
        e.vertexId === by.vertexId && (e.item ?? by.item) === by.item
      );
      if (!settled) continue;
      this.#open.delete(runId);
      const ending = this.#cancel(runId).catch(() => {}).finally(() => this.#ending.delete(ending));
      this.#ending.add(ending);
    }
  }

  /** Resolves when those that were cancelled are. */
  async ended(): Promise<void> {
    await Promise.all(this.#ending);
  }
}

/** How far the callers of a run are by what is stored of them: for work that no live context of theirs has asked for. */
export async function storedCallers<S>(log: CheckpointLog<S>, caller: RunCaller): Promise<readonly number[]> {
  const revisions: number[] = [];
  for (let next: RunCaller | undefined = caller; next !== undefined && revisions.length < DEEPEST;) {
    try {
      const run: RunRecord | undefined = (await log.load(next.runId, { state: false }))?.checkpoint.run;
      if (run === undefined) break;
      revisions.push(run.revision);
      next = run.caller;
    } catch (error) {
      // A caller that is damaged is for those who work on it; this run can go on.
      if (!isSuperstepError(error, ...UNREADABLE)) throw error;
      break;
    }
  }
  return revisions;
}

/** Only records that nobody of this package wrote go on for ever. */
const DEEPEST = 100;

/** The caller, without whatever else the context of a body holds. */
export function callerOf(caller: RunCaller): RunCaller {
  const { graphId, runId, step } = caller;
  const run = callingRunOf(caller);
  return {
    graphId,
    runId,
    ...refOf(caller),
    ...(run === undefined ? {} : { vertexId: run.begunAs(caller.vertexId) }),
    ...(run === undefined || step === undefined ? {} : { step, epoch: run.epoch() }),
  };
}

/** The tag of the runs that work for a run. */
export function calledTag(runId: string): string {
  const tag = `${CALLED_BY}${runId}`;
  return tag.length <= LONGEST_TAG ? tag : `${CALLED_BY}${sha256Hex(runId)}`;
}

/** Whether a tag is one of those that find the runs that work for another one. */
export function isCalledTag(tag: string): boolean {
  return tag.startsWith(CALLED_BY);
}

const CALLED_BY = "called-by:";

const LONGEST_TAG = 128;

/** The runs that work for a run, of whatever graph. */
export function calledBy(store: Store, runId: string): AsyncIterable<CatalogRow> {
  return rowsOf((start) => store.list({ tag: calledTag(runId), ...start }));
}
