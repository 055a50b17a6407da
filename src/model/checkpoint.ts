import type { VertexFailure } from "./failure.ts";
import type { Halt, Phase, Route, RunRecord } from "./run.ts";
import type { WaitState } from "./wait.ts";

/**
 * Everything that a run is at a revision, apart from the state itself. Plain immutable data: the checkpoint log folds
 * record events into it, and the engine decides from it alone.
 */
export interface Checkpoint {
  readonly run: RunRecord;
  readonly phase: Phase;
  /** In `routed` the vertices that run next; in every other phase the vertices of the current step. */
  readonly frontier: readonly string[];
  /** The executions of the current step by {@link executionKey}; one that has recorded nothing yet is absent. */
  readonly executions: ReadonlyMap<string, Execution>;
  /** Item counts and input digests of the map vertices of the current step. */
  readonly maps: ReadonlyMap<string, MapRecord>;
  /** The routes taken by the newest completed step. */
  readonly routes: readonly Route[];
  /** For each waiting join the sources that have arrived. */
  readonly arrivals: ReadonlyMap<string, readonly string[]>;
  readonly halt?: Halt;
  /** Whether a finish vertex was done, or a branch ended, in this or an earlier step. */
  readonly finishRan: boolean;
  /** The index of the next super-step to begin, or of the current one while it is under way. */
  readonly nextStep: number;
  /** Whether the outcomes of the current step are part of the state already; true only while a routing halt stands. */
  readonly folded: boolean;
  /** The vertices that ran; {@link verticesOf} lists them. */
  readonly path: Path;
  /** The ids under which vertices of the frontier were begun that have another one since a migration. */
  readonly begunAs?: ReadonlyMap<string, string>;
}

/** The id that a vertex of the frontier has by now which had another one when its step began. */
export function presentId({ begunAs }: Pick<Checkpoint, "begunAs">, id: string): string {
  for (const [now, was] of begunAs ?? []) if (was === id) return now;
  return id;
}

/** The vertices that ran, in order: in two lists, so that a step copies the short one only. */
export interface Path {
  readonly older: readonly string[];
  readonly newer: readonly string[];
}

/** How many vertices a {@link Path} remembers; the history has them all. */
export const PATH_LIMIT = 1000;
const MAX_NEWER = 64;

/** A path with further vertices. */
export function extended({ older, newer }: Path, vertices: readonly string[]): Path {
  const more = [...newer, ...vertices];
  return more.length < MAX_NEWER
    ? { older, newer: more }
    : { older: verticesOf({ older, newer: more }), newer: [] };
}

/** The newest {@link PATH_LIMIT} vertices of a path, in order. */
export function verticesOf({ older, newer }: Path): readonly string[] {
  return [...older, ...newer].slice(-PATH_LIMIT);
}

/** What a map vertex was split into. */
interface MapRecord {
  readonly count: number;
  readonly digest: string;
}

/**
 * `pending`: to run · `suspended`: its body waits for nothing but open waits · `backoff`: between two attempts · `done` ·
 * `failed`: for good, under its policy.
 */
export type ExecutionStatus = "pending" | "suspended" | "backoff" | "done" | "failed";

/** One logical execution of a vertex, or of an item of a map vertex, in a step. */
export interface Execution extends ExecutionRef {
  /** How often it was begun afresh by a resume; part of its vertex-run id. */
  readonly generation: number;
  readonly status: ExecutionStatus;
  readonly startedAt?: number;
  readonly endedAt?: number;
  /** Attempts that failed since the last resume. */
  readonly failedAttempts: readonly FailedAttempt[];
  /** When the next attempt is due, in `backoff`. */
  readonly nextAt?: number;
  /** Milliseconds of the total timeout used up since the last resume. */
  readonly spentMs: number;
  /** Results of `ctx.once` by name. */
  readonly once: ReadonlyMap<string, unknown>;
  /** Their numbers among all results; those recorded before results of `once` were numbered have none. */
  readonly onceSeq?: ReadonlyMap<string, number>;
  /** Every opening of every wait, by id, in order of opening. */
  readonly waits: ReadonlyMap<string, WaitState>;
  /** How many results of waits, timers and `once` have been numbered. */
  readonly results: number;
  /** How many refusals have changed the id of an opening, by `openingKey`. */
  readonly refusals: ReadonlyMap<string, number>;
  /** How often a body came back by itself after its run had been released. */
  readonly returns?: number;
  readonly output?: unknown;
  readonly failure?: VertexFailure;
  /** The error handler that was chosen when it failed: its route, in records of earlier releases its index. */
  readonly handler?: string | number;
  /** Where the error was thrown, with what caused it; records of earlier releases have none. */
  readonly stack?: string;
}

/** One attempt that failed. */
interface FailedAttempt {
  readonly attempt: number;
  readonly at: number;
  readonly failure: VertexFailure;
}

/**
 * What names an execution in its step.
 *
 * @internal
 */
export interface ExecutionRef {
  readonly vertexId: string;
  readonly item?: number;
}

/** The name of an execution, for the events about it. */
export function refOf(x: ExecutionRef): ExecutionRef {
  return x.item === undefined ? { vertexId: x.vertexId } : { vertexId: x.vertexId, item: x.item };
}

/** The key of an execution among those of its step. */
export function executionKey(vertexId: string, item?: number): string {
  return item === undefined ? vertexId : `${vertexId}/${item}`;
}
