import { freshExecution } from "../checkpoint/beginning.ts";
import type { EventOf, RecordEvent } from "../checkpoint/records.ts";
import { ContextError, messageOf } from "../errors.ts";
import { type Checkpoint, type Execution, type ExecutionRef, refOf } from "../model/checkpoint.ts";
import { isOpen } from "../model/wait.ts";
import { vertexStart } from "./hook_events.ts";
import { Attempt, type Prepared, type Settlement } from "./attempt.ts";
import type { BodyPort } from "./body.ts";
import type { BodyHost, Return } from "./body_host.ts";
import type { RunnerDeps } from "./runner_deps.ts";
import { emittedBy } from "./emits.ts";
import type { VertexStart } from "./events.ts";
import { keyIn, reopening } from "./ids.ts";
import { MapRoom } from "./map_room.ts";
import { Onces } from "./onces.ts";
import { Outcomes } from "./outcomes.ts";
import { type PlannedExecution, planStep, type StepPlan } from "./plan.ts";
import { PoolRoom } from "./flow/pool_room.ts";
import { slowMs } from "./quiet.ts";
import { letGo } from "./released_bodies.ts";
import { runTime } from "./run_time.ts";
import { stepVertices } from "./superstep.ts";

/**
 * The bodies of the step under way: which run, which wait for a place, and what becomes of each.
 *
 * 1. A body starts only from what is durable: an execution with facts that are not recorded yet waits for them.
 * 2. At most `concurrency` bodies are at work at once; those that are suspended are not.
 * 3. Results are recorded only for a body that is at rest, or over; then it is abandoned and its execution runs again.
 * 4. A body that goes on by itself after its suspension was recorded acts only once that is recorded too.
 * 5. Bodies that are suspended when the run is released are let go, and nothing here keeps them.
 */
export class Bodies<S> {
  readonly #deps: RunnerDeps<S>;
  readonly #concurrency: number;
  readonly #host: BodyHost<S>;
  readonly #outcomes: Outcomes<S>;
  readonly #pools: PoolRoom<S>;
  readonly #attempts = new Map<string, Attempt>();
  /** Suspended bodies, with the fact that says so. */
  readonly #suspended = new Map<string, EventOf<"suspended">>();
  /** Bodies that go on by themselves once that is recorded. */
  readonly #returns = new Map<string, Return>();
  /** Bodies that came back and were over before that was recorded. */
  readonly #overBefore: Attempt[] = [];
  readonly #onces = new Onces();
  /** For how long bodies had been at work that were replaced meanwhile. */
  readonly #ranMs = new Map<string, number>();
  readonly #started = new Set<string>();
  #plan: StepPlan | undefined;
  /** The plan of a step that has not begun. */
  #ahead: { readonly checkpoint: Checkpoint; readonly plan: StepPlan } | undefined;
  /** The first bodies of a step, made before it begins. */
  readonly #prepared = new Map<string, Prepared>();
  readonly #ready = new Set<string>();
  readonly #again = new Set<string>();
  #ended = false;

  constructor(deps: RunnerDeps<S>, concurrency: number, host: BodyHost<S>) {
    this.#deps = deps;
    this.#concurrency = concurrency;
    this.#host = host;
    this.#outcomes = new Outcomes(deps, host);
    this.#pools = new PoolRoom(deps, host);
  }

  /** Whether any body is at work. */
  get atWork(): boolean {
    return this.#atWork > 0;
  }

  /** Whether the function of any `once` is at work: a run is not let go meanwhile. */
  get onceAtWork(): boolean {
    return this.#onces.areAtWork();
  }

  /** Whether results may be recorded for an execution. */
  isAtRest(key: string): boolean {
    return this.#attempts.get(key)?.state.isAtRest ?? true;
  }

  get #atWork(): number {
    return this.#attempts.size - this.#suspended.size;
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

  /** Results were recorded for these executions: they run again. */
  outdate(keys: readonly string[]): void {
    for (const key of keys) this.#replace(key);
    if (keys.length > 0) this.#host.wake();
  }

  /** These executions have outcomes: a `once` that they did not wait for is not wanted any more. */
  settled(events: readonly RecordEvent[]): void {
    if (this.#onces.settled(events)) this.#host.wake();
  }

  /** Gives the permit of a body back while a run that it called is at work. */
  lend(by: ExecutionRef, work: Promise<unknown>): Promise<void> {
    return this.#pools.lend(by, work);
  }

  /** The step is over. */
  clear(): void {
    this.#plan = undefined;
    this.#pools.end();
    this.#ready.clear();
    this.#again.clear();
    this.#started.clear();
    this.#ranMs.clear();
    this.#overBefore.length = 0;
  }

  /** Ends every body, where there are any, for a reason that is made then; nothing more of them is accepted. */
  end(because: () => Error): void {
    this.#ended = true;
    this.#pools.end();
    if (this.#attempts.size === 0 && !this.#onces.areAtWork()) return;
    const reason = because();
    for (const attempt of this.#attempts.values()) attempt.abandon(reason);
    this.#attempts.clear();
    this.#onces.drop(undefined, reason);
  }

  /** The run was released: suspended bodies may still come back, which runs their executions again. */
  leave(): void {
    const { checkpoint } = this.#host.cursor();
    this.#pools.end();
    for (const attempt of this.#overBefore) letGo(this.#deps, checkpoint, attempt, true);
    for (const key of this.#suspended.keys()) {
      letGo(this.#deps, checkpoint, this.#attempts.get(key)!, this.#returns.has(key));
      this.#attempts.delete(key);
    }
  }

  /** Selects the inputs of a step that begins once `checkpoint` is durable, and makes its first bodies. */
  prepareNextStep(checkpoint: Checkpoint, state: S): void {
    const vertices = stepVertices(this.#deps.graph, checkpoint);
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
    const { checkpoint, state } = this.#host.cursor();
    if (this.#ahead?.checkpoint !== checkpoint) this.prepareNextStep(checkpoint, state);
    const { plan } = this.#ahead!;
    this.#ahead = undefined;
    this.#plan = plan;
    this.queue(plan.ready);
    for (const mapped of plan.mapped) this.#host.keep(mapped);
    for (const { vertexId, error } of plan.faults) {
      this.#outcomes.giveUp(freshExecution(vertexId), { error, phase: "select", attempt: 1 });
    }
    if (plan.faults.length > 0 || plan.mapped.some((m) => m.count === 0)) this.#host.wake();
  }

  /** Starts what may start, as far as there is room. */
  launch(): void {
    if (this.#ended) return;
    if (!this.#host.mayStart()) return this.#host.wake();
    if (this.#plan === undefined) this.#begin();
    const room = new MapRoom(this.#deps.graph, this.#attempts, this.#suspended);
    for (const [key, { isRecorded, goOn }] of this.#returns) {
      if (this.#atWork >= this.#concurrency) return;
      if (!isRecorded || room.isFull(this.#attempts.get(key)?.info.execution.vertexId)) continue;
      const x = this.#attempts.get(key)?.info.execution;
      if (x !== undefined && !this.#pools.mayRun(x)) continue;
      this.#awake(key);
      goOn();
    }
    for (const key of this.#ready) {
      if (this.#atWork >= this.#concurrency) return;
      const planned = this.#plan?.executions.get(key);
      if (room.isFull(planned?.vertexId)) continue;
      const prepared = this.#prepared.get(key);
      this.#prepared.delete(key);
      const x = this.#host.cursor().checkpoint.executions.get(key) ?? prepared?.execution ??
        (planned && freshExecution(planned.vertexId, planned.item));
      if (x?.status === "backoff" && (x.nextAt ?? 0) > this.#now()) continue;
      if (x !== undefined && !this.#attempts.has(key) && !this.#pools.mayRun(x)) continue;
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
      const attempt = execution.failedAttempts.length + 1;
      this.#outcomes.giveUp(execution, { error, phase: "select", attempt });
      return this.#host.wake();
    }
    this.#start(key, execution, this.#make(this.#host.cursor().checkpoint, key, execution, input));
  }

  #make(checkpoint: Checkpoint, key: string, execution: Execution, input: unknown): Attempt {
    const deps = this.#deps;
    const vertex = deps.graph.vertices.get(execution.vertexId)!;
    const { run, nextStep: step } = checkpoint;
    const attempt: Attempt = new Attempt(
      {
        graphId: run.graphId,
        runId: run.runId,
        waitSalt: run.waitSalt,
        step,
        key: keyIn(checkpoint, execution),
        vertex: vertex as never,
        execution,
        runtime: deps.runtime,
        logger: deps.logger,
        callingRun: this.#host.callingRun,
        task: deps.tasks.get(vertex.id)!,
        input,
        slowMs: slowMs(execution, deps.limits),
      },
      this.#port(key, execution, () => attempt),
      (settlement) => {
        const giving = this.#pools.giveBack(key);
        if (giving === undefined) return this.#settled(key, execution, settlement);
        // Its return stands in the record of what it came to.
        void giving.then(() =>
          this.#attempts.get(key) === attempt && this.#settled(key, execution, settlement)
        );
      },
    );
    return attempt;
  }

  #start(key: string, execution: Execution, attempt: Attempt): void {
    this.#attempts.set(key, attempt);
    attempt.begin(this.#ranMs.get(key));
    this.#ranMs.delete(key);
    if (!this.#started.has(key)) {
      this.#started.add(key);
      this.#host.tell(() => this.#startOf(execution, attempt.startedAt));
    }
    attempt.run(this.#host.around(() => this.#startOf(execution, attempt.startedAt)));
  }

  #startOf(x: Execution, startedAt: number): VertexStart {
    const { checkpoint } = this.#host.cursor();
    return vertexStart(checkpoint, x, startedAt, this.#plan?.mapped);
  }

  #port(key: string, x: Execution, attempt: () => Attempt): Omit<BodyPort, "signal" | "failed"> {
    const of = refOf(x);
    const { runtime } = this.#deps;
    let body: string | undefined;
    return {
      now: () => this.#now(),
      isBusy: () => this.#onces.areAtWork(key),
      once: (name, run, failed) =>
        this.#onces.use(key, name, {
          ready: this.#returns.get(key)?.ready ??
            (this.#host.mayStart() ? undefined : this.#host.confirmed()),
          run,
          failed,
          recording: async (value) => {
            const what = `the result of once(${JSON.stringify(name)}) in vertex ${x.vertexId}`;
            this.#deps.measureOutput(value, what);
            await this.#host.durable({ type: "once", ...of, name, value });
            this.#attempts.get(key)?.recorded(name, value);
          },
          ended: () => {
            this.#attempts.get(key)?.state.watch();
            this.#host.wake();
          },
          late: () => attempt().late(`ended once(${JSON.stringify(name)})`),
        }),
      open: (event, before) => {
        this.#deps.measureOutput(event.info, `the info of wait ${event.name} of vertex ${x.vertexId}`);
        this.#deps.measureOutput(event.continuation, `the continuation of vertex ${x.vertexId}`);
        this.#host.keep(event);
        if (before !== undefined && this.#isOpen(key, before)) {
          this.#host.keep({ type: "closed", ...of, id: before, reason: "superseded" });
        }
        // The body is about to wait for it; if it goes on instead, the wait is recorded all the same.
        runtime.macrotask(() => runtime.macrotask(() => this.#host.wake()));
      },
      refuse: (waitId, error) => this.#refuse(key, of, waitId, error),
      emit: (name, data) => {
        body ??= this.#host.emits.nextBody();
        const emitted = emittedBy(this.#host.cursor().checkpoint, x, { body, at: this.#now(), name, data });
        const emit = () => this.#host.emits.send(emitted);
        const back = this.#returns.get(key);
        if (back === undefined) emit();
        else void back.ready.then(emit);
      },
      rested: () => this.#host.wake(),
      suspended: () => {
        attempt().suspend();
        void this.#pools.giveBack(key);
        const fact = this.#outcomes.suspended(x, attempt());
        this.#suspended.set(key, fact);
        this.#host.note(fact);
        this.launch();
      },
      cameBack: () => this.#comeBack(key, of, attempt()),
    };
  }

  /** A body that was suspended goes on by itself: at once when that is not recorded yet, or is no more. */
  #comeBack(key: string, of: { vertexId: string; item?: number }, attempt: Attempt): void {
    if (!this.#pools.isOf(of.vertexId) && this.#host.withdraw(this.#suspended.get(key)!)) {
      this.#suspended.delete(key);
      return attempt.goOn();
    }
    let goOn!: () => void;
    const ready = new Promise<void>((resolve) => goOn = resolve);
    const back: Return = { ready, goOn, isRecorded: false };
    this.#returns.set(key, back);
    void this.#host.durable({ type: "returned", ...of }).then(() => {
      back.isRecorded = true;
      this.launch();
    });
  }

  /** The body of this key is at work again, or over. */
  #awake(key: string): void {
    if (!this.#suspended.delete(key)) return;
    this.#returns.delete(key);
    this.#attempts.get(key)?.goOn();
  }

  /** The body of an execution, if there is one, makes room for another one. */
  #replace(key: string): void {
    const attempt = this.#attempts.get(key);
    this.#again.add(key);
    if (attempt === undefined) return;
    if (!this.#suspended.has(key)) this.#ranMs.set(key, attempt.ranMs);
    this.#forget(key);
    const vertexId = attempt.info.vertex.id;
    const message = `the body of vertex ${vertexId} runs again with what was recorded meanwhile`;
    attempt.abandon(new ContextError(message, { vertexId }), true);
  }

  /** The body of this key is over. */
  #forget(key: string): void {
    this.#attempts.delete(key);
    this.#suspended.delete(key);
    this.#returns.delete(key);
    this.#onces.withdraw(key);
  }

  /** The code no longer accepts an answer that it accepted: the wait opens again under a new id. */
  #refuse(key: string, of: { vertexId: string; item?: number }, waitId: string, error: unknown): void {
    const reopened = reopening(this.#host.cursor().checkpoint, of, waitId, messageOf(error), this.#now());
    if (reopened === undefined) return;
    this.#host.keep(reopened);
    this.outdate([key]);
  }

  #settled(key: string, x: Execution, settlement: Settlement): void {
    if (this.#returns.has(key)) this.#overBefore.push(this.#attempts.get(key)!);
    this.#forget(key);
    if (this.#ended) return;
    if (settlement.kind === "failed" && settlement.phase === "timeout") {
      this.#onces.drop(key, settlement.error as Error, true);
    }
    if (this.#outcomes.settled(x, settlement)) this.#again.add(key);
    this.launch();
  }

  #now(): number {
    return runTime(this.#deps.runtime, this.#host.cursor().checkpoint.run);
  }

  #isOpen(key: string, waitId: string): boolean {
    const wait = this.#host.cursor().checkpoint.executions.get(key)?.waits.get(waitId);
    return wait === undefined ? this.#host.isOpening(waitId) : isOpen(wait);
  }
}
