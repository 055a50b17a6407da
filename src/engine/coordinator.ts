import { leafEdits } from "../checkpoint/leaves.ts";
import type { Cursor } from "../checkpoint/log.ts";
import type { RecordEvent } from "../checkpoint/records.ts";
import { freshExecution } from "../checkpoint/evolve.ts";
import {
  ContextError,
  isSuperstepError,
  messageOf,
  OwnershipLostError,
  RunAbortedError,
  RunCancelledError,
  RunDeadlineError,
} from "../errors.ts";
import { type Execution, executionKey } from "../model/checkpoint.ts";
import type { Timer } from "../runtime/runtime.ts";
import { announcements } from "./announce.ts";
import { Attempt, type Settlement } from "./attempt.ts";
import type { BodyPort } from "./context.ts";
import type { Engine, RunSettings } from "./engine.ts";
import { notify, type RunEvent } from "./events.ts";
import { idempotencyKey, vertexRunId, waitIdOf } from "./ids.ts";
import { takeIn } from "./inbox.ts";
import { Latch } from "./latch.ts";
import type { OwnedRun, Owner } from "./ownership.ts";
import { planStep, type StepPlan } from "./plan.ts";
import { type Fault, giveUp, judge } from "./policy.ts";
import { type Command, nextDue, stepVertices, transition } from "./superstep.ts";
import { openingKey } from "../model/wait.ts";

/**
 * The one loop that awaits: it carries facts from bodies, timers and the mailbox to the pure core, appends what the core
 * decides, and then does what it commands.
 *
 * 1. Facts wait in `#facts` until the append that holds them has been acknowledged; there is one append at a time.
 * 2. A body starts only from what is durable, and the next step only after the boundary record of the one before.
 * 3. `#flush` is the only place from which outcomes reach the log.
 * 4. When the loop ends, for whatever reason, every body's signal is aborted and nothing more of it is accepted.
 */
export class Coordinator<S> implements OwnedRun {
  readonly #engine: Engine<S>;
  readonly #settings: RunSettings;
  readonly #owner: Owner;
  readonly #runId: string;
  readonly #latch = new Latch();
  readonly #attempts = new Map<string, Attempt>();
  /** Executions with a result that their running body has not seen. */
  readonly #stale = new Set<string>();
  readonly #started = new Set<string>();
  readonly #durable = new Map<RecordEvent, () => void>();
  readonly #errors = new Map<string, unknown>();
  #facts: RecordEvent[] = [];
  #absent: string | undefined;
  #first: Command | undefined;
  #cursor: Cursor<S>;
  #plan: StepPlan | undefined;
  #ready: string[] = [];
  /** Executions to run again once the facts about them are durable. */
  #again: string[] = [];
  #timer: Timer | undefined;
  #claiming = false;
  #poked = false;
  #lost: OwnershipLostError | undefined;
  #aborted: { readonly reason: unknown } | undefined;
  #ended = false;

  constructor(engine: Engine<S>, settings: RunSettings, owner: Owner, cursor: Cursor<S>) {
    this.#engine = engine;
    this.#settings = settings;
    this.#owner = owner;
    this.#cursor = cursor;
    this.#runId = cursor.checkpoint.run.runId;
  }

  /** Takes the run over. Until this has succeeded nothing of it is worked on. */
  async claim(claim: Claim): Promise<void> {
    this.#facts = [...claim.facts];
    this.#absent = claim.absent;
    this.#claiming = true;
    this.#owner.hold(this.#runId, this);
    try {
      this.#first = await this.#flush();
    } catch (error) {
      this.#owner.release(this.#runId);
      throw error;
    }
  }

  poke(): void {
    this.#poked = true;
    this.#latch.set();
  }

  lose(error: OwnershipLostError): void {
    this.#lost = error;
    this.#latch.set();
  }

  /** Runs until the run is released, over, or lost. */
  async run(): Promise<Ending<S>> {
    const { signal } = this.#settings;
    const abort = () => {
      this.#aborted = { reason: signal?.reason };
      this.#latch.set();
    };
    signal?.addEventListener("abort", abort);
    if (signal?.aborted) abort();
    this.#owner.hold(this.#runId, this);
    try {
      await this.#loop();
      this.#owner.release(this.#runId);
      return { cursor: this.#cursor, errors: this.#errors };
    } catch (error) {
      throw await this.#fail(error);
    } finally {
      signal?.removeEventListener("abort", abort);
      this.#end();
    }
  }

  async #loop(): Promise<void> {
    for (;;) {
      const again = this.#again.splice(0);
      const command = this.#first ?? await this.#flush();
      this.#first = undefined;
      this.#ready.push(...again);
      if (command.kind === "stop") return;
      if (this.#aborted !== undefined) return await this.#leave(this.#aborted.reason);
      if (this.#plan === undefined) this.#begin();
      this.#launch();
      this.#arm();
      await this.#latch.wait();
      // What settles in the same turn rides in the same record.
      for (let tick = 0; tick < GATHERING; tick++) await undefined;
      if (this.#lost !== undefined) throw this.#lost;
    }
  }

  /** Appends what is known and what follows from it; repeated while the mailbox is newer than the one seen. */
  async #flush(): Promise<Command> {
    for (;;) {
      if (this.#poked) {
        this.#poked = false;
        this.#cursor = await this.#engine.log.refresh(this.#cursor);
      }
      const { checkpoint, mailbox, state } = this.#cursor;
      const now = this.#engine.runtime.now();
      const taken = takeIn(checkpoint, mailbox.content, this.#facts, now);
      const { graph, rules, limits } = this.#engine;
      const decided = transition({ graph, checkpoint, state, rules, limits, now }, taken.events);
      if (decided.events.length === 0 || this.#mayWait(decided.events, decided.command)) {
        return decided.command;
      }
      const before = this.#facts.length;
      try {
        const cursor = await this.#engine.log.append(this.#cursor, {
          events: decided.events,
          ...(decided.next === undefined ? {} : { next: decided.next }),
          writer: this.#owner.id,
          ...(this.#claiming && this.#absent !== undefined ? { absent: this.#absent } : {}),
          ...(decided.command.kind === "stop" && decided.command.wake !== undefined
            ? { wake: decided.command.wake }
            : {}),
          schemas: this.#engine.schemaOf,
        });
        this.#facts.splice(0, before);
        this.#claiming = false;
        for (const [key, error] of decided.errors) this.#errors.set(key, error);
        this.#recorded(cursor, decided.events, taken.rerun);
        return decided.command;
      } catch (error) {
        if (!isSuperstepError(error, "MAILBOX_CONFLICT") || this.#claiming) throw error;
        this.#cursor = await this.#engine.log.refresh(this.#cursor);
      }
    }
  }

  /** With a checkpoint every step, successes alone wait for the end of it. */
  #mayWait(events: readonly RecordEvent[], command: Command): boolean {
    return this.#settings.checkpointEvery === "step" && command.kind === "work" &&
      events.every((e) => e.type === "done" || e.type === "mapped");
  }

  #recorded(cursor: Cursor<S>, events: readonly RecordEvent[], rerun: readonly string[]): void {
    const before = this.#cursor.checkpoint;
    this.#cursor = cursor;
    for (const event of events) {
      const resolve = this.#durable.get(event);
      if (resolve === undefined) continue;
      this.#durable.delete(event);
      resolve();
    }
    if (events.some((e) => e.type === "routed")) {
      this.#plan = undefined;
      this.#ready = [];
      this.#started.clear();
      this.#stale.clear();
    }
    for (const key of rerun) {
      if (this.#attempts.has(key)) this.#stale.add(key);
      else this.#ready.push(key);
    }
    for (const told of announcements(before, cursor.checkpoint, events)) this.#tell(told);
  }

  #begin(): void {
    const { checkpoint, state } = this.#cursor;
    const vertices = stepVertices(this.#engine.graph, checkpoint);
    const plan = planStep(vertices, checkpoint, state);
    this.#plan = plan;
    this.#ready = [...plan.ready];
    this.#facts.push(...plan.mapped);
    for (const { vertexId, error } of plan.faults) {
      this.#giveUp(freshExecution(vertexId), { error, phase: "select", attempt: 1 });
    }
    if (plan.faults.length > 0 || plan.mapped.some((m) => m.count === 0)) this.#latch.set();
  }

  #launch(): void {
    if (this.#ended) return;
    const waiting: string[] = [];
    while (this.#ready.length > 0 && this.#attempts.size < this.#settings.concurrency) {
      const key = this.#ready.shift()!;
      const planned = this.#plan?.executions.get(key);
      if (planned === undefined || this.#attempts.has(key)) continue;
      const x = this.#cursor.checkpoint.executions.get(key) ?? freshExecution(planned.vertexId, planned.item);
      if (x.status === "backoff" && (x.nextAt ?? 0) > this.#engine.runtime.now()) waiting.push(key);
      else if (x.status === "pending" || x.status === "backoff") this.#start(key, x, () => planned.input());
    }
    this.#ready.push(...waiting);
  }

  #start(key: string, execution: Execution, select: () => unknown): void {
    const engine = this.#engine;
    const vertex = engine.graph.vertices.get(execution.vertexId)!;
    const { run, nextStep: step } = this.#cursor.checkpoint;
    let input: unknown;
    try {
      input = select();
    } catch (error) {
      this.#giveUp(execution, { error, phase: "select", attempt: execution.failedAttempts.length + 1 });
      return this.#latch.set();
    }
    const attempt = new Attempt(
      {
        graphId: run.graphId,
        runId: run.runId,
        step,
        vertex: vertex as never,
        execution,
        runtime: engine.runtime,
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
    this.#attempts.set(key, attempt);
    if (!this.#started.has(key)) {
      this.#started.add(key);
      const id = idempotencyKey(run.graphId, run.runId, step, vertex.id, execution.item);
      this.#tell({
        type: "vertexStart",
        runId: run.runId,
        vertexId: vertex.id,
        ...(execution.item === undefined ? {} : { item: execution.item }),
        get vertexRunId() {
          return vertexRunId(id, execution.generation);
        },
        step,
        attempt: execution.failedAttempts.length + 1,
        startedAt: attempt.startedAt,
      });
    }
    attempt.start();
  }

  #port(key: string, x: Execution): BodyPort {
    const of = x.item === undefined ? { vertexId: x.vertexId } : { vertexId: x.vertexId, item: x.item };
    return {
      record: (event) => {
        this.#engine.measureOutput(
          event.value,
          `the result of once(${JSON.stringify(event.name)}) in vertex ${x.vertexId}`,
        );
        return new Promise((resolve) => {
          this.#durable.set(event, resolve);
          this.#push(event);
        });
      },
      open: (event, before) => {
        this.#facts.push(event);
        if (before !== undefined && this.#isOpen(key, before)) {
          this.#facts.push({ type: "closed", ...of, id: before, reason: "superseded" });
        }
        // The body is about to settle on it; if it goes on instead, the wait is recorded all the same.
        const { runtime } = this.#engine;
        runtime.macrotask(() => runtime.macrotask(() => this.#latch.set()));
      },
      refuse: (waitId, error) => this.#refuse(key, of, waitId, error),
      emit: (name, data) => this.#tell({ type: "emit", runId: this.#runId, ...of, name, data }),
      log: (message, fields) => this.#engine.logger.info(message, fields),
    };
  }

  /** The code no longer accepts an answer that it accepted: the wait opens again under a new id. */
  #refuse(key: string, of: { vertexId: string; item?: number }, waitId: string, error: unknown): void {
    const x = this.#cursor.checkpoint.executions.get(key);
    const wait = x?.waits.get(waitId);
    if (x === undefined || wait === undefined) return;
    const { run, nextStep } = this.#cursor.checkpoint;
    const id = idempotencyKey(run.graphId, run.runId, nextStep, of.vertexId, of.item);
    const refusals = (x.refusals.get(openingKey(wait.kind, wait.name, wait.n)) ?? 0) + 1;
    const newId = waitIdOf(run.runId, id, wait.kind, wait.name, wait.n, refusals);
    const at = this.#engine.runtime.now();
    this.#facts.push({ type: "reopened", ...of, id: waitId, newId, at, problem: messageOf(error) });
    this.#stale.add(key);
  }

  #settled(key: string, x: Execution, settlement: Settlement): void {
    this.#attempts.delete(key);
    if (this.#ended) return;
    const timedOut = settlement.kind === "failed" && settlement.phase === "timeout";
    if (this.#stale.delete(key) && !timedOut) {
      this.#again.push(key);
      return this.#latch.set();
    }
    const of = x.item === undefined ? { vertexId: x.vertexId } : { vertexId: x.vertexId, item: x.item };
    const { startedAt, endedAt: at, attempt } = settlement;
    const spentMs = x.spentMs + Math.max(0, at - startedAt);
    const fault = this.#faultOf(x, settlement);
    if (fault !== undefined) {
      this.#judge(key, x, fault, startedAt, spentMs);
    } else if (settlement.kind === "suspended") {
      this.#push({ type: "suspended", ...of, startedAt, at, spentMs });
    } else if (settlement.kind === "done") {
      this.#push({ type: "done", ...of, attempt, startedAt, at, output: settlement.output });
    }
    this.#launch();
  }

  #faultOf(x: Execution, settlement: Settlement): Fault | undefined {
    const { attempt } = settlement;
    const edited = leafEdits(this.#cursor.state);
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
    const verdict = judge(vertex, fault, { now: runtime.now(), random: runtime.random(), spentMs });
    if (verdict.kind === "failed") return this.#giveUp(x, fault, startedAt, verdict);
    const of = x.item === undefined ? { vertexId: x.vertexId } : { vertexId: x.vertexId, item: x.item };
    const { failure, nextAt } = verdict;
    this.#push({
      type: "attempt_failed",
      ...of,
      at: runtime.now(),
      failure,
      nextAt,
      spentMs: verdict.spentMs,
    });
    this.#again.push(key);
  }

  #giveUp(
    x: Execution,
    fault: Fault,
    startedAt = this.#engine.runtime.now(),
    verdict = giveUp(this.#engine.graph.vertices.get(x.vertexId)!, fault),
  ): void {
    const of = x.item === undefined ? { vertexId: x.vertexId } : { vertexId: x.vertexId, item: x.item };
    this.#errors.set(executionKey(x.vertexId, x.item), verdict.error);
    this.#push({
      type: "failed",
      ...of,
      startedAt,
      at: this.#engine.runtime.now(),
      failure: verdict.failure,
      ...(verdict.handler === undefined ? {} : { handler: verdict.handler }),
    });
  }

  #push(event: RecordEvent): void {
    this.#facts.push(event);
    this.#latch.set();
  }

  #isOpen(key: string, waitId: string): boolean {
    const wait = this.#cursor.checkpoint.executions.get(key)?.waits.get(waitId);
    if (wait === undefined) return this.#facts.some((e) => e.type === "opened" && e.id === waitId);
    return wait.result === undefined && wait.closed === undefined;
  }

  /** Sets the one timer to whatever is due first: a wait, a backoff, the run's deadline. */
  #arm(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    const { executions, run } = this.#cursor.checkpoint;
    // A backoff that has passed is at work already, or waits for a free place.
    const next = nextDue(executions.values(), this.#engine.runtime.now());
    const due = Math.min(next ?? Infinity, run.deadline ?? Infinity);
    if (due === Infinity) return;
    this.#timer = this.#engine.runtime.wakeAt(due, () => this.#latch.set());
  }

  /** An abort: what is known is recorded, and the run is left for others to go on with. */
  async #leave(reason: unknown): Promise<never> {
    this.#end(reason);
    this.#facts.push({ type: "released", status: "running" });
    await this.#flush();
    const cause = reason === undefined ? {} : { cause: reason };
    throw new RunAbortedError(this.#runId, this.#cursor.checkpoint.run.revision, cause);
  }

  #tell(event: RunEvent): void {
    notify([...this.#engine.hooks, ...this.#settings.hooks], this.#engine.logger, event);
  }

  async #fail(error: unknown): Promise<unknown> {
    if (isSuperstepError(error, "RUN_ABORTED") || isSuperstepError(error, "OWNERSHIP_LOST")) {
      this.#owner.release(this.#runId);
      return error;
    }
    if (isSuperstepError(error, "REVISION_CONFLICT")) {
      this.#owner.release(this.#runId);
      const lost = new OwnershipLostError(this.#runId, this.#owner.id);
      lost.cause = error;
      return lost;
    }
    this.#owner.desert(this.#runId);
    return error;
  }

  #end(reason?: unknown): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#timer?.cancel();
    const { runId, status, cancelReason } = this.#cursor.checkpoint.run;
    const cancelled = cancelReason === "deadline"
      ? new RunDeadlineError(runId)
      : new RunCancelledError(runId, cancelReason ?? "");
    const why = status === "cancelled"
      ? cancelled
      : this.#lost ?? new RunAbortedError(runId, this.#cursor.checkpoint.run.revision, { cause: reason });
    for (const attempt of this.#attempts.values()) attempt.abandon(why);
    this.#attempts.clear();
  }
}

/** Microtasks that are awaited before a record is made, so that it gathers what settles at once. */
const GATHERING = 8;

/** The facts that take a run over. */
export interface Claim {
  readonly facts: readonly RecordEvent[];
  /** The dead owner that is replaced. */
  readonly absent?: string;
}

/** How a run left its coordinator. */
export interface Ending<S> {
  readonly cursor: Cursor<S>;
  /** Live errors by execution key; under the empty key that of a halt. */
  readonly errors: ReadonlyMap<string, unknown>;
}
