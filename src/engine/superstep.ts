import type { Patch } from "../checkpoint/delta.ts";
import { Evolution, evolve } from "../checkpoint/evolve.ts";
import type { RecordEvent } from "../checkpoint/records.ts";
import { HaltError, MaxStepsExceededError } from "../errors.ts";
import { type Checkpoint, type Execution, executionKey } from "../model/checkpoint.ts";
import { defined } from "../model/defined.ts";
import type { CompiledGraph, CompiledVertex } from "../model/definition.ts";
import type { InterruptReason } from "../model/run.ts";
import { isOpen } from "../model/wait.ts";
import { foldStep, type StateRules } from "./fold.ts";
import { giveUp } from "./policy.ts";
import { routeStep } from "./routing.ts";
import { closings, isSettled, pausedFailures, recordKey, standing } from "./step.ts";

/**
 * The pure core: facts in, decisions out. It knows no clock, no store and no promise; the coordinator brings it what
 * became known and carries out what it decides.
 *
 * 1. `transition` is deterministic: the same checkpoint, state and facts give the same record, live and recovered.
 * 2. A step is folded and routed exactly when every vertex of it is done or failed under a route.
 * 3. Whatever settles an execution closes its open waits in the same record.
 * 4. The output of an outcome is left out of the record that folds it: the state's change holds its effect.
 * 5. A run is released exactly when nothing can run and no timer is near enough to be awaited.
 */
export function transition<S>(situation: Situation<S>, facts: readonly RecordEvent[]): Transition<S> {
  const core = new Core(situation, facts);
  core.decide();
  return core.result();
}

/** What the core decides from. */
interface Situation<S> {
  readonly graph: CompiledGraph<S>;
  readonly checkpoint: Checkpoint;
  readonly state: S;
  readonly rules: StateRules<S>;
  readonly limits: Limits;
  /** The time at which the facts are judged. */
  readonly now: number;
  /** Whether work is going on that outlives its body, as the function of a `once` does. */
  readonly busy?: boolean;
}

/** The limits that decide whether a run goes on in this process. */
export interface Limits {
  /** A timer due within so many milliseconds is awaited in the process. */
  readonly inlineTimersMs: number;
  readonly maxRecoveries: number;
}

/** One record to append, and what is to be done once it is durable. */
export interface Transition<S> {
  /** The facts and the decisions made from them; empty when there is nothing to record. */
  readonly events: readonly RecordEvent[];
  /** The run after them. */
  readonly checkpoint: Checkpoint;
  readonly next: { readonly state: S; readonly patch: Patch | undefined } | undefined;
  readonly command: Command;
  /** The live errors behind the decisions, by execution key; under the empty key that of a halt. */
  readonly errors: ReadonlyMap<string, unknown>;
}

/** What the coordinator does next. */
export type Command =
  /** Run what is pending; nothing is decided yet. */
  | { readonly kind: "work" }
  /** Begin the step of the frontier. */
  | { readonly kind: "begin" }
  /** Nothing can run before this time; it is near enough to be awaited. */
  | { readonly kind: "sleep"; readonly until: number }
  /** The run is no longer owned. */
  | { readonly kind: "stop"; readonly wake?: number };

class Core<S> {
  readonly #at: Situation<S>;
  readonly #events: RecordEvent[] = [];
  readonly #errors = new Map<string, unknown>();
  readonly #evolution: Evolution;
  readonly #checkpoint: Checkpoint;
  #state: S;
  #next: { state: S; patch: Patch | undefined } | undefined;
  #command: Command = { kind: "work" };

  constructor(situation: Situation<S>, facts: readonly RecordEvent[]) {
    this.#at = situation;
    this.#evolution = new Evolution(situation.checkpoint);
    this.#checkpoint = this.#evolution.checkpoint;
    this.#state = situation.state;
    this.#record(...facts);
  }

  result(): Transition<S> {
    const { checkpoint, now } = this.#at;
    const folded = this.#events.some((e) => e.type === "folded");
    const events = folded ? this.#events.map(withoutOutput) : this.#events;
    const revision = checkpoint.run.revision + 1;
    // What a halt keeps of the step is what the record tells of it.
    const retold = folded && this.#checkpoint.executions.size > 0;
    return {
      events,
      checkpoint: retold ? evolve(checkpoint, events, revision, now) : this.#evolution.end(revision, now),
      next: this.#next,
      command: this.#command,
      errors: this.#errors,
    };
  }

  decide(): void {
    if (this.#ended()) return this.#stop();
    // An abort let the run go in the middle of a step: whoever claims it next decides.
    if (this.#events.some((e) => e.type === "released")) return this.#stop(this.#at.now);
    const queued = this.#events.find((e) => e.type === "queued");
    if (queued !== undefined) {
      const due = Math.min(queued.until ?? Infinity, this.#checkpoint.run.deadline ?? Infinity);
      return this.#stop(Number.isFinite(due) ? due : undefined);
    }
    this.#closeSettled();
    if (this.#checkpoint.phase === "halted") return this.#stop();
    if (this.#recoveredTooOften()) return;
    while (this.#checkpoint.phase !== "routed") {
      if (!this.#checkpoint.folded && !this.#fold()) return this.#idle();
      if (!this.#route()) return;
    }
    if (this.#checkpoint.frontier.length > 0) this.#begin();
  }

  #record(...events: readonly RecordEvent[]): void {
    if (events.length === 0) return;
    this.#events.push(...events);
    this.#evolution.apply(events, this.#at.now);
  }

  #stop(wake?: number): void {
    this.#command = { kind: "stop", ...(wake === undefined ? {} : { wake }) };
  }

  #ended(): boolean {
    const { status } = this.#checkpoint.run;
    if (status === "cancelled") this.#close(() => true, "cancelled");
    return status === "cancelled" || status === "completed";
  }

  #closeSettled(): void {
    const { executions } = this.#checkpoint;
    // Items of a map vertex that has failed as a whole under a route are over with it; under a pause they go on later.
    const isOver = (x: Execution) => wholeOf(executions, x)?.handler !== undefined;
    this.#close((x) => x.status === "done" || x.status === "failed" || isOver(x), "settled");
  }

  #close(which: (x: Execution) => boolean, reason: "settled" | "cancelled"): void {
    this.#record(...closings(this.#checkpoint, which, reason));
  }

  /** Folds a settled step; false while it is unsettled. A reducer's fault is judged and may unsettle it. */
  #fold(): boolean {
    const vertices = this.#vertices();
    while (isSettled(this.#checkpoint, vertices)) {
      const fold = foldStep(vertices, this.#checkpoint, this.#state, this.#at.rules);
      if (fold.kind === "folded") {
        this.#next = { state: fold.state, patch: fold.patch };
        this.#state = fold.state;
        this.#record({ type: "folded", finish: fold.finish });
        return true;
      }
      const { vertex, phase, error } = fold;
      const x = this.#checkpoint.executions.get(vertex.id);
      const attempt = (x?.failedAttempts.length ?? 0) + 1;
      const was = standing(this.#checkpoint, vertex);
      const first = was.kind === "failed" ? { first: was.failure } : {};
      const verdict = giveUp(vertex, { error, phase, attempt, ...first });
      this.#errors.set(phase === "record" ? recordKey(vertex.id) : executionKey(vertex.id), verdict.error);
      this.#record({
        type: "failed",
        vertexId: vertex.id,
        startedAt: x?.startedAt ?? this.#at.now,
        at: this.#at.now,
        ...defined({ failure: verdict.failure, handler: verdict.handler, stack: verdict.stack }),
      });
    }
    return false;
  }

  /** Routes a folded step; false when the run stops here. */
  #route(): boolean {
    const routing = routeStep(this.#at.graph, this.#checkpoint, this.#state);
    if (routing.kind === "halted") {
      this.#errors.set("", routing.error);
      this.#record({ type: "halted", halt: routing.halt });
      this.#stop(this.#checkpoint.run.deadline);
      return false;
    }
    const { routes, frontier, arrivals } = routing;
    this.#record({ type: "routed", routes, frontier, ...(arrivals.size === 0 ? {} : { arrivals }) });
    if (frontier.length > 0) return true;
    this.#record({ type: "completed" });
    this.#stop();
    return false;
  }

  #begin(): void {
    const { nextStep, run } = this.#checkpoint;
    if (nextStep < run.maxSteps) {
      this.#command = { kind: "begin" };
      return;
    }
    const error = new MaxStepsExceededError(run.maxSteps, nextStep);
    this.#halt("max_steps", error, nextStep);
  }

  #recoveredTooOften(): boolean {
    const { run, nextStep } = this.#checkpoint;
    if (run.recoveries <= this.#at.limits.maxRecoveries) return false;
    const message =
      `superstep: the run lost its process ${run.recoveries} times in step ${nextStep} without any ` +
      `progress; find out why and resume it`;
    this.#halt("max_recoveries", new HaltError("max_recoveries", nextStep, message), nextStep);
    return true;
  }

  #halt(kind: "max_steps" | "max_recoveries", error: Error, step: number): void {
    this.#errors.set("", error);
    this.#record({ type: "halted", halt: { kind, step, message: error.message } });
    this.#stop(kind === "max_steps" ? this.#checkpoint.run.deadline : undefined);
  }

  /** The step is unsettled: work goes on, or the process waits for a timer, or the run is released. */
  #idle(): void {
    const runnable = this.#vertices().some((v) => hasPending(this.#checkpoint, v));
    if (runnable || this.#at.busy === true) return;
    const until = nextDue(this.#checkpoint);
    if (until !== undefined && until - this.#at.now <= inlineMs(this.#checkpoint, this.#at.limits)) {
      this.#command = { kind: "sleep", until };
      return;
    }
    const { owner, deadline } = this.#checkpoint.run;
    const wake = Math.min(until ?? Infinity, deadline ?? Infinity);
    if (owner !== undefined) {
      this.#record({ type: "released", status: "interrupted", reason: reasonOf(this.#checkpoint) });
    }
    this.#stop(Number.isFinite(wake) ? wake : undefined);
  }

  #vertices(): readonly CompiledVertex<S>[] {
    return stepVertices(this.#at.graph, this.#checkpoint);
  }
}

/** The vertices of the current step, in ascending id. */
export function stepVertices<S>(
  graph: CompiledGraph<S>,
  checkpoint: Checkpoint,
): readonly CompiledVertex<S>[] {
  return checkpoint.frontier.map((id) => graph.vertices.get(id)!);
}

/** Why a paused run is interrupted: the first that holds. */
export function reasonOf(checkpoint: Checkpoint): InterruptReason {
  if (checkpoint.halt !== undefined) return "halted";
  if (pausedFailures(checkpoint).length > 0) return "errored";
  for (const x of checkpoint.executions.values()) {
    if (x.status !== "suspended") continue;
    for (const wait of x.waits.values()) {
      if (wait.kind !== "timer" && isOpen(wait)) return "awaiting";
    }
  }
  return "sleeping";
}

/** How near a timer must be to be awaited in the process. The caller of a run may have answers for it any time. */
export function inlineMs({ run }: Checkpoint, { inlineTimersMs }: Limits): number {
  return run.caller === undefined ? inlineTimersMs : 0;
}

/** When the earliest open timer, deadline of a wait, or backoff that ends after `after` is due. */
export function nextDue({ executions, run }: Checkpoint, after = -Infinity): number | undefined {
  let due = Infinity;
  for (const x of executions.values()) {
    if (wholeOf(executions, x)?.status === "failed") continue;
    if (x.status === "backoff" && x.nextAt !== undefined && x.nextAt > after) due = Math.min(due, x.nextAt);
    if (x.status === "done" || x.status === "failed") continue;
    for (const wait of x.waits.values()) {
      if (wait.due === undefined || wait.result !== undefined || wait.closed !== undefined) continue;
      // It is for the caller of a run to say what has expired.
      if (wait.due > after && (wait.kind === "timer" || run.caller === undefined)) {
        due = Math.min(due, wait.due);
      }
    }
  }
  return due === Infinity ? undefined : due;
}

/** Of an item the outcome of its map vertex as a whole, where there is one. */
function wholeOf(executions: ReadonlyMap<string, Execution>, x: Execution): Execution | undefined {
  return x.item === undefined ? undefined : executions.get(x.vertexId);
}

function hasPending<S>(checkpoint: Checkpoint, vertex: CompiledVertex<S>): boolean {
  const isPending = (item?: number) =>
    (checkpoint.executions.get(executionKey(vertex.id, item))?.status ?? "pending") === "pending";
  if (vertex.each === undefined || checkpoint.executions.has(vertex.id)) return isPending();
  const map = checkpoint.maps.get(vertex.id);
  if (map === undefined) return true;
  for (let item = 0; item < map.count; item++) if (isPending(item)) return true;
  return false;
}

function withoutOutput(event: RecordEvent): RecordEvent {
  if (event.type !== "done" || !("output" in event)) return event;
  const { output: _, ...rest } = event;
  return rest;
}
