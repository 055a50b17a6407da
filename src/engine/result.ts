import type { Cursor } from "../checkpoint/log.ts";
import {
  ConditionError,
  DeadEndError,
  HaltError,
  MaxStepsExceededError,
  UndeclaredTargetError,
  VertexError,
} from "../errors.ts";
import {
  type Checkpoint,
  type Execution,
  executionKey,
  type ExecutionStatus,
  refOf,
  verticesOf,
} from "../model/checkpoint.ts";
import type { CompiledGraph } from "../model/definition.ts";
import { defined } from "../model/defined.ts";
import type { VertexFailure } from "../model/failure.ts";
import type { Halt, InterruptReason, RunRecord } from "../model/run.ts";
import { isOpen, type WaitKind } from "../model/wait.ts";
import { foldSoFar, type StateRules } from "./fold.ts";
import { keyIn, vertexRunId } from "./ids.ts";
import { statusesOf } from "./vertex_statuses.ts";
import { pausedFailures, recordKey } from "./step.ts";
import { nextDue, stepVertices } from "./superstep.ts";

/**
 * What a call that runs or reads a run returns. Its status is never `running` after `run` or `resume`.
 *
 * @example
 * ```ts
 * function tell(result: RunResult<unknown>): string {
 *   switch (result.status) {
 *     case "completed":
 *       return `done: ${result.path.join(", ")}`;
 *     case "cancelled":
 *       return `cancelled: ${result.cancelReason}`;
 *     case "interrupted":
 *       return result.halt?.error.message ?? result.failures[0]?.error.message ??
 *         `waits for ${result.waits.map((wait) => wait.name).join(", ")}`;
 *   }
 * }
 * ```
 */
export type RunResult<S> = CompletedResult<S> | InterruptedResult<S> | CancelledResult<S>;

/** What every result has. */
export interface ResultBase<S> {
  /** Its identity and bookkeeping. */
  readonly run: RunRecord;
  /** The state after the newest step, with the outcomes so far of the one under way. Frozen. */
  readonly state: S;
  /** The vertices that ran, in order; the newest 1 000 of them. */
  readonly path: readonly string[];
  /** How the vertices stand that have begun, by id: those of steps before the newest are done. */
  readonly vertices: Readonly<Record<string, ExecutionStatus>>;
  /** What becomes of it, where `get` has read it as it is now; absent when it is over. */
  readonly activity?: "queued" | "working" | "waiting" | "stranded";
}

/** The run reached a finish and nothing is left to run. */
export interface CompletedResult<S> extends ResultBase<S> {
  /** Tells it from the other results. */
  readonly status: "completed";
}

/** The run waits for something: an answer, a time, or a `resume` after a fault. */
export interface InterruptedResult<S> extends ResultBase<S> {
  /** Tells it from the other results. */
  readonly status: "interrupted";
  /** The first that holds of `halted`, `errored`, `awaiting` and `sleeping`. */
  readonly reason: InterruptReason;
  /** The waits that are open, timers included. */
  readonly waits: readonly OpenWait[];
  /** The ids of the waits whose answer is accepted and not taken in yet: whoever goes on with the run takes them in. */
  readonly answered: readonly string[];
  /** When the run goes on by itself, in milliseconds since the epoch: a timer, a retry, an expiry. @default never */
  readonly due?: number;
  /** The vertices and items that failed for good; `resume` gives them fresh attempts. */
  readonly failures: readonly FailedVertex[];
  /** The run-level fault, if there is one; `resume` goes on after it. */
  readonly halt?: RunHalt;
}

/** The run was cancelled. */
export interface CancelledResult<S> extends ResultBase<S> {
  /** Tells it from the other results. */
  readonly status: "cancelled";
  /** As given to `cancel`, or `deadline`. */
  readonly cancelReason: string;
}

/** A run as it is stored now; it may be running. */
export type RunView<S> = RunResult<S> | RunningView<S>;

/** A run that a process is at work on, or that waits to be claimed. */
export interface RunningView<S> extends ResultBase<S> {
  /** Tells it from the results of runs that nobody is at work on. */
  readonly status: "running";
}

/** A wait that is open. */
export interface OpenWait {
  /** What `answer` takes. */
  readonly waitId: string;
  /** The run that waits. */
  readonly runId: string;
  /** The vertex that waits. */
  readonly vertexId: string;
  /** The index of the item that waits, in a map vertex. */
  readonly item?: number;
  /** The name of the wait; `interrupt` for `ctx.interrupt`. */
  readonly name: string;
  /** The key that the body gave it, if it did. */
  readonly key?: string;
  /** Whether it waits for a checked answer, a time, or any answer. */
  readonly kind: WaitKind;
  /** When it was opened, in milliseconds since the epoch. */
  readonly openedAt: number;
  /** When it expires, or, for a timer, when it fires. */
  readonly due?: number;
  /** What the body shows to whoever answers. */
  readonly info?: unknown;
}

/** A vertex that failed for good and pauses the run. */
export interface FailedVertex {
  /** The vertex that failed. */
  readonly vertexId: string;
  /** The index of the item that failed, in a map vertex. */
  readonly item?: number;
  /** The step that it failed in. */
  readonly step: number;
  /** The failure as plain data, as it is stored. */
  readonly failure: VertexFailure;
  /** Its cause is what was thrown, in the process where it was; elsewhere an error with the recorded text. */
  readonly error: VertexError;
}

/** A run-level fault. */
export interface RunHalt extends Halt {
  /** The fault as an error, such as a `ConditionError`. */
  readonly error: Error;
}

/** A result made of a cursor and the live errors of the process that ran it. */
export function viewOf<S>(
  graph: CompiledGraph<S>,
  rules: StateRules<S>,
  cursor: Cursor<S>,
  errors: ReadonlyMap<string, unknown> = new Map(),
): RunView<S> {
  const { checkpoint } = cursor;
  const { run, path } = checkpoint;
  const state = checkpoint.phase === "routed" || checkpoint.folded
    ? cursor.state
    : foldSoFar(stepVertices(graph, checkpoint), checkpoint, cursor.state, rules);
  const base = { run, state, path: verticesOf(path), vertices: statusesOf(checkpoint) };
  switch (run.status) {
    case "running":
    case "completed":
      return { ...base, status: run.status };
    case "cancelled":
      return { ...base, status: "cancelled", cancelReason: run.cancelReason ?? "" };
    case "interrupted":
      return {
        ...base,
        status: "interrupted",
        reason: run.reason ?? "awaiting",
        ...waitsOf(cursor),
        ...dueOf(checkpoint),
        failures: inOrder(checkpoint, pausedFailures(checkpoint)).map((x) =>
          failedVertex(checkpoint, x, errors)
        ),
        ...(checkpoint.halt === undefined
          ? {}
          : { halt: { ...checkpoint.halt, error: haltError(graph, checkpoint, errors.get("")) } }),
      };
  }
}

/** A halted run goes on for nothing but a resume, or its deadline. */
function dueOf(checkpoint: Checkpoint): { readonly due?: number } {
  const next = checkpoint.halt === undefined ? nextDue(checkpoint) : undefined;
  const due = Math.min(next ?? Infinity, checkpoint.run.deadline ?? Infinity);
  return Number.isFinite(due) ? { due } : {};
}

/** The open waits of a run as of its mailbox: one whose answer is accepted is open no longer, though no record says so. */
export function waitsOf(
  { checkpoint, mailbox }: Cursor<unknown>,
): Pick<InterruptedResult<unknown>, "waits" | "answered"> {
  const accepted = new Set(mailbox.content.answers.map((a) => a.waitId));
  const waits = openWaitsOf(checkpoint);
  return {
    waits: waits.filter((w) => !accepted.has(w.waitId)),
    answered: waits.map((w) => w.waitId).filter((id) => accepted.has(id)),
  };
}

/** Every wait of a run without a recorded end, timers included, in ascending vertex id and order of opening. */
export function openWaitsOf(checkpoint: Checkpoint): readonly OpenWait[] {
  const { runId } = checkpoint.run;
  return inOrder(checkpoint, checkpoint.executions.values()).flatMap((x) =>
    [...x.waits.values()].filter(isOpen).map((wait) => {
      const { id: waitId, name, key, kind, openedAt, due } = wait;
      const info = "info" in wait ? { info: wait.info } : {};
      return { waitId, runId, ...refOf(x), name, kind, openedAt, ...defined({ key, due }), ...info };
    })
  );
}

/** In ascending vertex id and item, whoever was first. */
function inOrder(checkpoint: Checkpoint, executions: Iterable<Execution>): Execution[] {
  const order = new Map(checkpoint.frontier.map((id, i) => [id, i]));
  return [...executions].sort((a, b) =>
    order.get(a.vertexId)! - order.get(b.vertexId)! || (a.item ?? -1) - (b.item ?? -1)
  );
}

function failedVertex(
  checkpoint: Checkpoint,
  x: Execution,
  errors: ReadonlyMap<string, unknown>,
): FailedVertex {
  const { nextStep: step } = checkpoint;
  const failure = x.failure!;
  const key = keyIn(checkpoint, x);
  const cause = causeOf(x, failure, errors);
  const { attempt, phase } = failure;
  return {
    ...refOf(x),
    step,
    failure,
    error: new VertexError(x.vertexId, vertexRunId(key, x.generation), step, attempt, phase, cause, x.item),
  };
}

/** What was thrown, as far as this process saw it; the error that a faulty `record` was to record comes last. */
function causeOf(
  { vertexId, item, stack }: Pick<Execution, "vertexId" | "item" | "stack">,
  failure: VertexFailure,
  errors: ReadonlyMap<string, unknown>,
): unknown {
  const { cause: first, failures } = failure;
  const key = first === undefined ? executionKey(vertexId, item ?? failures?.[0]?.item) : recordKey(vertexId);
  const error = errors.has(key) ? errors.get(key) : recalled(failure, stack);
  if (first !== undefined) appendCause(error, causeOf({ vertexId }, first, errors));
  return error;
}

function appendCause(error: unknown, cause: unknown): void {
  try {
    let last = error as Error;
    for (let level = 0; last.cause instanceof Error && level < MAX_CAUSES; level++) last = last.cause;
    if (last !== cause) last.cause ??= cause;
  } catch {
    // It is no error, or cannot be changed; `failure.cause` tells the same.
  }
}

const MAX_CAUSES = 100;

function recalled(failure: VertexFailure, stack: string | undefined): Error {
  const error = new Error(failure.message);
  error.name = failure.name;
  if (stack !== undefined) error.stack = stack;
  return error;
}

function haltError<S>(graph: CompiledGraph<S>, checkpoint: Checkpoint, live: unknown): Error {
  if (live instanceof Error) return live;
  const { kind, step, message, vertexId = "", target = "" } = checkpoint.halt!;
  switch (kind) {
    case "condition":
      return new ConditionError(vertexId, new Error(message));
    case "undeclared_target":
      return new UndeclaredTargetError(
        vertexId,
        target,
        graph.vertices.get(vertexId)?.condition?.targets ?? [],
      );
    case "dead_end":
      return new DeadEndError(step);
    case "max_steps":
      return new MaxStepsExceededError(checkpoint.run.maxSteps, step);
    case "max_recoveries":
    case "load_fault":
      return new HaltError(kind, step, message);
  }
}
