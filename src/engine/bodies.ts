import { freshExecution } from "../checkpoint/evolve.ts";
import { leafEdits } from "../checkpoint/leaves.ts";
import type { Cursor } from "../checkpoint/log.ts";
import type { OnceRecorded, RecordEvent } from "../checkpoint/records.ts";
import { ContextError, messageOf } from "../errors.ts";
import { type Checkpoint, type Execution, executionKey, refOf } from "../model/checkpoint.ts";
import { openingKey } from "../model/wait.ts";
import { Attempt, type Settlement } from "./attempt.ts";
import type { BodyPort } from "./body.ts";
import type { Callers } from "./called.ts";
import type { Engine } from "./engine.ts";
import type { RunEvent, VertexStart } from "./events.ts";
import { idempotencyKey, vertexRunId, waitIdOf } from "./ids.ts";
import { type PlannedExecution, planStep, type StepPlan } from "./plan.ts";
import { type Fault, giveUp, judge } from "./policy.ts";
import { runTime } from "./run_time.ts";
import { stepVertices } from "./superstep.ts";

/**
 * The bodies of the step under way: which run, which wait for a place, and what becomes of each that settles.
 *
 * 1. A body starts only from what is durable: an execution with facts that are not recorded yet waits for them.
 * 2. At most `concurrency` bodies run at once.
 * 3. A body that has not seen a recorded result of its execution runs again, whatever it came to, unless it timed out.
 */
export class Bodies<S> {
  readonly #engine: Engine<S>;
  readonly #concurrency: number;
  readonly #desk: Desk<S>;
  readonly #attempts = new Map<string, Attempt>();
  readonly #stale = new Set<string>();
  readonly #started = new Set<string>();
  #plan: StepPlan | undefined;
  /** The plan of a step that has not begun. */
  #ahead: { readonly checkpoint: Checkpoint; readonly plan: StepPlan } | undefined;
  /** The first bodies of a step, made before it begins. */
  readonly #prepared = new Map<string, Prepared>();
  readonly #ready = new Set<string>();
  readonly #again = new Set<string>();
  #ended = false;

  constructor(engine: Engine<S>, concurrency: number, desk: Desk<S>) {
    this.#engine = engine;
    this.#concurrency = concurrency;
    this.#desk = desk;
  }

  /** Whether any body runs. */
  get atWork(): boolean {
    return this.#attempts.size > 0;
  }

  /** The executions that run again once everything known about them by now is durable. */
  takeAgain(): readonly string[] {
    const keys = [...this.#again];
    this.#again.clear();
    return keys;
  }

  /** Queues executions of which everything is durable. */
  queue(keys: readonly string[]): void {
    for (const key of keys) this.#ready.add(key);
  }

  /** Results were recorded for these executions: whoever runs has not seen them, whoever has settled runs again. */
  outdate(keys: readonly string[]): void {
    for (const key of keys) {
      if (this.#attempts.has(key)) this.#stale.add(key);
      else this.#again.add(key);
    }
    if (keys.length > 0) this.#desk.wake();
  }

  /** The step is over. */
  clear(): void {
    this.#plan = undefined;
    this.#ready.clear();
    this.#again.clear();
    this.#started.clear();
    this.#stale.clear();
  }

  /** Ends every body; nothing more of them is accepted. */
  end(reason: Error): void {
    this.#ended = true;
    for (const attempt of this.#attempts.values()) attempt.abandon(reason);
    this.#attempts.clear();
  }

  /** Selects the inputs of a step that begins once `checkpoint` is durable, and makes its first bodies. */
  foresee(checkpoint: Checkpoint, state: S): void {
    const vertices = stepVertices(this.#engine.graph, checkpoint);
    const plan = planStep(vertices, checkpoint, state);
    this.#ahead = { checkpoint, plan };
    this.#prepared.clear();
    for (const key of plan.ready) {
      if (this.#prepared.size >= this.#concurrency) return;
      if (checkpoint.executions.has(key)) continue;
      const planned = plan.executions.get(key)!;
      const execution = freshExecution(planned.vertexId, planned.item);
      this.#prepared.set(key, {
        execution,
        attempt: this.#make(checkpoint, key, execution, planned.input()),
      });
    }
  }

  /** Selects the inputs of the step under way and queues what is left to run of it. */
  #begin(): void {
    const { checkpoint, state } = this.#desk.cursor();
    if (this.#ahead?.checkpoint !== checkpoint) this.foresee(checkpoint, state);
    const { plan } = this.#ahead!;
    this.#ahead = undefined;
    this.#plan = plan;
    this.queue(plan.ready);
    for (const mapped of plan.mapped) this.#desk.keep(mapped);
    for (const { vertexId, error } of plan.faults) {
      this.#giveUp(freshExecution(vertexId), { error, phase: "select", attempt: 1 });
    }
    if (plan.faults.length > 0 || plan.mapped.some((m) => m.count === 0)) this.#desk.wake();
  }

  /** Starts what may start, as far as there is room. */
  launch(): void {
    if (this.#ended) return;
    if (!this.#desk.mayStart()) return this.#desk.wake();
    if (this.#plan === undefined) this.#begin();
    for (const key of this.#ready) {
      if (this.#attempts.size >= this.#concurrency) return;
      const planned = this.#plan?.executions.get(key);
      const prepared = this.#prepared.get(key);
      this.#prepared.delete(key);
      const x = this.#desk.cursor().checkpoint.executions.get(key) ?? prepared?.execution ??
        (planned && freshExecution(planned.vertexId, planned.item));
      if (x?.status === "backoff" && (x.nextAt ?? 0) > this.#now()) continue;
      this.#ready.delete(key);
      if (planned === undefined || x === undefined || this.#attempts.has(key)) continue;
      if (prepared?.execution === x) this.#start(key, x, prepared.attempt);
      else if (x.status === "pending" || x.status === "backoff") this.#select(key, x, planned);
    }
  }

  #select(key: string, execution: Execution, planned: PlannedExecution): void {
    let input: unknown;
    try {
      input = planned.input();
    } catch (error) {
      this.#giveUp(execution, { error, phase: "select", attempt: execution.failedAttempts.length + 1 });
      return this.#desk.wake();
    }
    this.#start(key, execution, this.#make(this.#desk.cursor().checkpoint, key, execution, input));
  }

  #make(checkpoint: Checkpoint, key: string, execution: Execution, input: unknown): Attempt {
    const engine = this.#engine;
    const vertex = engine.graph.vertices.get(execution.vertexId)!;
    const { run, nextStep: step } = checkpoint;
    return new Attempt(
      {
        graphId: run.graphId,
        runId: run.runId,
        step,
        vertex: vertex as never,
        execution,
        runtime: engine.runtime,
        callers: this.#desk.callers,
        task: engine.tasks.get(vertex.id)!,
        input,
        isOpen: (waitId) => this.#isOpen(key, waitId),
        late: (settlement) =>
          engine.logger.warn(`superstep: the body of vertex ${vertex.id} ended after its attempt; ignored`, {
            runId: run.runId,
            vertexId: vertex.id,
            ended: settlement.kind,
          }),
      },
      this.#port(key, execution),
      (settlement) => this.#settled(key, execution, settlement),
    );
  }

  #start(key: string, execution: Execution, attempt: Attempt): void {
    this.#attempts.set(key, attempt);
    attempt.begin();
    if (!this.#started.has(key)) {
      this.#started.add(key);
      this.#desk.tell(() => this.#startOf(execution, attempt.startedAt));
    }
    attempt.run(this.#desk.around(() => this.#startOf(execution, attempt.startedAt)));
  }

  #startOf(execution: Execution, startedAt: number): VertexStart {
    const { run, nextStep: step } = this.#desk.cursor().checkpoint;
    const id = idempotencyKey(run.graphId, run.runId, step, execution.vertexId, execution.item);
    return {
      type: "vertexStart",
      runId: run.runId,
      vertexId: execution.vertexId,
      ...(execution.item === undefined
        ? {}
        : { item: execution.item, items: this.#itemsOf(execution.vertexId) }),
      get vertexRunId() {
        return vertexRunId(id, execution.generation);
      },
      step,
      attempt: execution.failedAttempts.length + 1,
      startedAt,
    };
  }

  /** How many items a map vertex of this step has, recorded or still to be. */
  #itemsOf(vertexId: string): number {
    const { maps } = this.#desk.cursor().checkpoint;
    const map = maps.get(vertexId) ?? this.#plan?.mapped.find((mapped) => mapped.vertexId === vertexId);
    return map?.count ?? 0;
  }

  #port(key: string, x: Execution): Omit<BodyPort, "signal"> {
    const of = refOf(x);
    return {
      record: (event) => {
        this.#engine.measureOutput(
          event.value,
          `the result of once(${JSON.stringify(event.name)}) in vertex ${x.vertexId}`,
        );
        return this.#desk.durable(event);
      },
      open: (event, before) => {
        this.#engine.measureOutput(event.info, `the info of wait ${event.name} of vertex ${x.vertexId}`);
        this.#engine.measureOutput(event.continuation, `the continuation of vertex ${x.vertexId}`);
        this.#desk.keep(event);
        if (before !== undefined && this.#isOpen(key, before)) {
          this.#desk.keep({ type: "closed", ...of, id: before, reason: "superseded" });
        }
        // The body is about to settle on it; if it goes on instead, the wait is recorded all the same.
        const { runtime } = this.#engine;
        runtime.macrotask(() => runtime.macrotask(() => this.#desk.wake()));
      },
      refuse: (waitId, error) => this.#refuse(key, of, waitId, error),
      emit: (name, data) =>
        this.#desk.tell(() => ({
          type: "emit",
          runId: this.#desk.cursor().checkpoint.run.runId,
          ...of,
          name,
          data,
        })),
      log: (message, fields) => this.#engine.logger.info(message, fields),
    };
  }

  /** The code no longer accepts an answer that it accepted: the wait opens again under a new id. */
  #refuse(key: string, of: { vertexId: string; item?: number }, waitId: string, error: unknown): void {
    const x = this.#desk.cursor().checkpoint.executions.get(key);
    const wait = x?.waits.get(waitId);
    if (x === undefined || wait === undefined) return;
    const { run, nextStep } = this.#desk.cursor().checkpoint;
    const id = idempotencyKey(run.graphId, run.runId, nextStep, of.vertexId, of.item);
    const refusals = (x.refusals.get(openingKey(wait)) ?? 0) + 1;
    const newId = waitIdOf(run.runId, id, wait, refusals);
    const at = this.#now();
    this.#desk.keep({ type: "reopened", ...of, id: waitId, newId, at, problem: messageOf(error) });
    this.#stale.add(key);
  }

  #settled(key: string, x: Execution, settlement: Settlement): void {
    this.#attempts.delete(key);
    if (this.#ended) return;
    const timedOut = settlement.kind === "failed" && settlement.phase === "timeout";
    if (this.#stale.delete(key) && !timedOut) {
      this.#again.add(key);
      return this.#desk.wake();
    }
    const of = refOf(x);
    const { startedAt, endedAt: at, attempt } = settlement;
    const spentMs = x.spentMs + settlement.tookMs;
    const fault = this.#faultOf(x, settlement);
    if (fault !== undefined) {
      this.#judge(key, x, fault, startedAt, spentMs);
    } else if (settlement.kind === "suspended") {
      this.#desk.note({ type: "suspended", ...of, startedAt, at, spentMs });
    } else if (settlement.kind === "done") {
      this.#desk.note({ type: "done", ...of, attempt, startedAt, at, output: settlement.output });
    }
    this.launch();
  }

  #faultOf(x: Execution, settlement: Settlement): Fault | undefined {
    const { attempt } = settlement;
    const edited = leafEdits(this.#desk.cursor().state);
    if (edited !== undefined) {
      const error = new ContextError(
        `vertex ${x.vertexId} edited ${edited} of the state in place; the state is a snapshot, return a new value instead`,
        { vertexId: x.vertexId, path: edited },
      );
      return { error, phase: "execute", attempt };
    }
    if (settlement.kind === "failed") return { error: settlement.error, phase: settlement.phase, attempt };
    if (settlement.kind !== "done") return undefined;
    try {
      this.#engine.measureOutput(settlement.output, `the output of vertex ${x.vertexId}`);
      return undefined;
    } catch (error) {
      return { error, phase: "serialize", attempt };
    }
  }

  #judge(key: string, x: Execution, fault: Fault, startedAt: number, spentMs: number): void {
    const { runtime, graph } = this.#engine;
    const vertex = graph.vertices.get(x.vertexId)!;
    const now = this.#now();
    const verdict = judge(vertex, fault, { now, random: runtime.random(), spentMs });
    if (verdict.kind === "failed") return this.#giveUp(x, fault, startedAt, verdict);
    const of = refOf(x);
    const { failure, nextAt } = verdict;
    this.#desk.note({
      type: "attempt_failed",
      ...of,
      at: now,
      failure,
      nextAt,
      spentMs: verdict.spentMs,
    });
    this.#again.add(key);
  }

  #giveUp(
    x: Execution,
    fault: Fault,
    startedAt = this.#engine.runtime.now(),
    verdict = giveUp(this.#engine.graph.vertices.get(x.vertexId)!, fault),
  ): void {
    const of = refOf(x);
    this.#desk.blame(executionKey(x.vertexId, x.item), verdict.error);
    this.#desk.note({
      type: "failed",
      ...of,
      startedAt,
      at: this.#engine.runtime.now(),
      failure: verdict.failure,
      ...(verdict.handler === undefined ? {} : { handler: verdict.handler }),
    });
  }

  #now(): number {
    return runTime(this.#engine.runtime, this.#desk.cursor().checkpoint.run);
  }

  #isOpen(key: string, waitId: string): boolean {
    const wait = this.#desk.cursor().checkpoint.executions.get(key)?.waits.get(waitId);
    if (wait === undefined) return this.#desk.isOpening(waitId);
    return wait.result === undefined && wait.closed === undefined;
  }
}

/** A body that has been made and not started, with the execution that it is of. */
interface Prepared {
  readonly execution: Execution;
  readonly attempt: Attempt;
}

/** Where bodies leave their facts. */
export interface Desk<S> {
  /** The run as far as it is durable. */
  cursor(): Cursor<S>;
  /** The newest revision of the run, and of those that it works for. */
  readonly callers: Callers;
  /** Notes a fact that is to be recorded soon. */
  note(event: RecordEvent): void;
  /** Notes a fact that can wait for the next record. */
  keep(event: RecordEvent): void;
  /** Notes a fact; resolves when it is durable. */
  durable(event: OnceRecorded): Promise<void>;
  wake(): void;
  /** Whether this process is sure to own the run; otherwise the loop makes sure when it is woken. */
  mayStart(): boolean;
  /** Whether this wait was opened and is not recorded yet. */
  isOpening(waitId: string): boolean;
  /** Keeps a live error for the result of the call. */
  blame(key: string, error: unknown): void;
  /** Tells observers, if there are any, of an event. */
  tell(event: () => RunEvent): void;
  /** What runs a body within what observers put around it, if any does. */
  around(start: () => VertexStart): ((body: () => unknown) => unknown) | undefined;
}
