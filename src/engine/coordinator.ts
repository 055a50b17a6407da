import type { Cursor } from "../checkpoint/log.ts";
import type { RecordEvent } from "../checkpoint/records.ts";
import { isSuperstepError, messageOf, OwnershipLostError, RunAbortedError } from "../errors.ts";
import type { Timer } from "../runtime/runtime.ts";
import { announce } from "./failure_log.ts";
import { endOf } from "./end_reason.ts";
import { type ChildRuns, LOAD_FAULTS } from "./child_runs.ts";
import type { Claim, Ending } from "./claim.ts";
import { wrapInAroundHooks } from "./around.ts";
import { Bodies } from "./bodies.ts";
import type { RunnerDeps, RunSettings } from "./runner_deps.ts";
import { gated, passOn, ungated } from "./flow/gate.ts";
import { EmitWriter } from "./emit_writer.ts";
import { type Hooks, notify, type RunEvent } from "./events.ts";
import { withMailboxFacts, withoutOutdated } from "./mailbox_facts.ts";
import { Latch } from "./latch.ts";
import type { OwnedRun, Owner } from "./ownership.ts";
import { runTime } from "./run_time.ts";
import { type Command, type Limits, nextDue, transition } from "./superstep.ts";

/**
 * The one loop that awaits: it carries facts from bodies, timers and the mailbox to the pure core, appends what the core
 * decides, and then does what it commands.
 *
 * 1. Facts wait in `#facts` until the append that holds them has been acknowledged; there is one append at a time.
 * 2. A body starts only from what is durable, and the next step only after the boundary record of the one before.
 * 3. `#flush` is the only place from which outcomes reach the log.
 * 4. No body starts in a process that was frozen past its lease and has not made sure that it still owns the run.
 * 5. When the loop ends, for whatever reason, every body's signal is aborted and nothing more of it is accepted.
 */
export class Coordinator<S> implements OwnedRun {
  readonly #deps: RunnerDeps<S>;
  readonly #settings: RunSettings;
  readonly #owner: Owner;
  readonly #observers: () => readonly Hooks[];
  readonly #runId: string;
  readonly #children: ChildRuns;
  readonly #emits: EmitWriter;
  readonly #latch = new Latch();
  readonly #bodies: Bodies<S>;
  readonly #durable = new Map<RecordEvent, () => void>();
  readonly #confirming: (() => void)[] = [];
  readonly #errors = new Map<string, unknown>();
  #facts: RecordEvent[] = [];
  /** How many of them are in the append under way. */
  #appending = 0;
  #absent: string | undefined;
  #first: Command | undefined;
  #cursor: Cursor<S>;
  #timer: Timer | undefined;
  /** The time at which facts were judged last. */
  #judgedAt = -Infinity;
  #claiming = false;
  /** Permits on their way to others. */
  #passing: Promise<void> | undefined;
  #poked = false;
  #lost: OwnershipLostError | undefined;
  /** A fault of the store that a called run met. */
  #fault: { readonly error: unknown } | undefined;
  #aborted: { readonly reason: unknown } | undefined;
  #ended = false;

  constructor(
    deps: RunnerDeps<S>,
    settings: RunSettings,
    owner: Owner,
    cursor: Cursor<S>,
    observers: () => readonly Hooks[],
    children: ChildRuns,
  ) {
    this.#observers = observers;
    this.#children = children;
    this.#deps = deps;
    this.#settings = settings;
    this.#owner = owner;
    this.#cursor = cursor;
    this.#runId = cursor.checkpoint.run.runId;
    this.#emits = new EmitWriter(deps, settings, () => this.#cursor, (event) => this.#tell(event));
    this.#bodies = new Bodies(deps, settings.concurrency, {
      cursor: () => this.#cursor,
      callingRun: {
        revisions: () => [this.#cursor.checkpoint.run.revision, ...this.#settings.callers?.() ?? []],
        epoch: () => this.#cursor.position.epoch,
        calls: (runId, by) => this.#children.add(runId, by),
        begunAs: (id) => this.#cursor.checkpoint.begunAs?.get(id) ?? id,
        lend: (by, work) => this.#bodies.lend(by, work),
        emits: (emit) => this.#emits.add(emit),
        stop: (fault) => this.#stop(fault),
      },
      note: (event) => {
        this.#facts.push(event);
        this.#latch.set();
      },
      keep: (event) => this.#facts.push(event),
      durable: (event) =>
        new Promise((resolve) => {
          this.#durable.set(event, resolve);
          this.#facts.push(event);
          this.#latch.set();
        }),
      withdraw: (event) => {
        const index = this.#facts.indexOf(event);
        if (index < this.#appending) return false;
        this.#facts.splice(index, 1);
        return true;
      },
      wake: () => this.#latch.set(),
      mayStart: () => !this.#owner.isOverdue(),
      confirmed: () =>
        new Promise((resolve) => {
          this.#confirming.push(resolve);
          this.#latch.set();
        }),
      isOpening: (waitId) => this.#facts.some((e) => e.type === "opened" && e.id === waitId),
      keepError: (key, error) => this.#errors.set(key, error),
      emits: this.#emits,
      tell: (event) => {
        if (this.#observers().length > 0) this.#tell(event());
      },
      around: (start) => wrapInAroundHooks(this.#observers(), this.#deps.logger, start),
    });
  }

  /** Takes the run over. Until this has succeeded nothing of it is worked on. False when it waits for its turn. */
  async claim(claim: Claim): Promise<boolean> {
    const { facts, absent, replaced } = claim;
    const { log, ownership } = this.#deps;
    const rivals = replaced === undefined ? [] : ownership.atWork(replaced, this.#runId);
    this.#facts = [...facts];
    this.#absent = absent;
    this.#claiming = true;
    this.hold();
    try {
      this.#first = await this.#flush();
    } catch (error) {
      this.#owner.giveUp(this.#runId, this, error);
      throw error;
    }
    if (this.#cursor.checkpoint.run.queued !== undefined) {
      await this.#passing;
      this.#owner.release(this.#runId, this);
      return false;
    }
    if (replaced === undefined) return true;
    // A living owner that was replaced is told at once, so that its bodies do not work on in vain.
    for (const rival of rivals) rival.lose(new OwnershipLostError(this.#runId, replaced));
    try {
      if (rivals.length === 0) this.#cursor = await log.poke(this.#cursor, replaced);
    } catch {
      // It finds out at its next append.
    }
    return true;
  }

  /** From now on this is the work on the run: pokes and the loss of the owner come here. */
  hold(): void {
    this.#owner.hold(this.#runId, this);
  }

  /** A run that works for this one met a fault by which this one stops, as by its own. */
  #stop(fault: unknown): void {
    if (this.#ended || this.#fault !== undefined) return;
    if (isSuperstepError(fault, ...LOAD_FAULTS)) {
      const { step } = this.#cursor.checkpoint.run;
      this.#errors.set("", fault);
      this.#facts.push({ type: "halted", halt: { kind: "load_fault", step, message: messageOf(fault) } });
    } else this.#fault = { error: fault };
    this.#bodies.end(() =>
      new RunAbortedError(this.#runId, this.#cursor.checkpoint.run.revision, { cause: fault })
    );
    this.#latch.set();
  }

  /** Ends the run before anything of it is worked on. */
  cancel(reason: string): void {
    this.#facts.push({ type: "cancelled", reason });
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
    const { signal, drain } = this.#settings;
    const abort = () => {
      this.#aborted = { reason: signal?.reason };
      this.#latch.set();
    };
    const look = () => this.#latch.set();
    signal?.addEventListener("abort", abort);
    drain?.addEventListener("abort", look);
    if (signal?.aborted) abort();
    try {
      await this.#loop();
      await this.#children.ended();
      await this.#passing;
      this.#owner.release(this.#runId, this);
      return { cursor: this.#cursor, errors: this.#errors };
    } catch (error) {
      const reason = this.#fail(error);
      await this.#passing;
      this.#tell({ type: "runLeave", run: this.#cursor.checkpoint.run, error: reason });
      throw reason;
    } finally {
      signal?.removeEventListener("abort", abort);
      drain?.removeEventListener("abort", look);
      this.#end();
    }
  }

  async #loop(): Promise<void> {
    for (;;) {
      const again = this.#bodies.takeAgain();
      const command = this.#first ?? await this.#flush();
      this.#first = undefined;
      if (command.kind === "stop") {
        if (this.#cursor.checkpoint.run.status === "interrupted") this.#bodies.leave();
        return;
      }
      if (this.#aborted !== undefined) return await this.#leave(this.#aborted.reason);
      this.#bodies.queue(again);
      // A process that was frozen past its lease must not start what another one may be at work on.
      if (this.#owner.isOverdue()) await this.#owner.beat();
      if (this.#lost !== undefined) throw this.#lost;
      for (const confirm of this.#confirming.splice(0)) confirm();
      this.#bodies.launch();
      this.#arm();
      if (!this.#latch.take()) await this.#latch.wait();
      // What settles in the same turn rides in the same record.
      for (let tick = 0; tick < GATHERING && this.#bodies.atWork; tick++) await undefined;
      if (this.#lost !== undefined) throw this.#lost;
      if (this.#fault !== undefined) throw this.#fault.error;
    }
  }

  /** Appends what is known and what follows from it; repeated while the mailbox is newer than the one seen. */
  async #flush(): Promise<Command> {
    for (;;) {
      if (this.#poked) {
        this.#poked = false;
        await this.#refresh();
      }
      const { checkpoint, mailbox, state } = this.#cursor;
      this.#appending = this.#facts.length;
      const now = this.#judgedAt = runTime(this.#deps.runtime, checkpoint.run);
      const isAtRest = (key: string) => this.#bodies.isAtRest(key);
      const taken = withMailboxFacts(checkpoint, mailbox.content, this.#facts, now, isAtRest);
      const { graph, rules } = this.#deps;
      const [limits, busy] = [this.#limits, this.#bodies.onceAtWork];
      const situation = { graph, checkpoint, state, rules, limits, now, busy };
      const decide = (facts: readonly RecordEvent[]) => transition(situation, facts);
      const gate = checkpoint.run.flow === undefined
        ? ungated(decide(taken.events))
        : await gated(this.#deps, this.#cursor, taken.events, this.#claiming, now, decide);
      const { decided } = gate;
      try {
        if (decided.events.length === 0 || this.#mayWait(decided.events, decided.command)) {
          this.#appending = 0;
          return decided.command;
        }
        const { events, checkpoint, next, command } = decided;
        const sending = this.#emits.written();
        if (sending !== undefined) await sending;
        const appending = this.#deps.log.append(this.#cursor, {
          events,
          checkpoint,
          next,
          writer: this.#owner.id,
          absent: this.#claiming ? this.#absent : undefined,
          wake: command.kind === "stop" ? command.wake : undefined,
          callers: this.#settings.callers?.(),
          schemas: this.#deps.schemaOf,
          cells: gate.cells,
        });
        // Selecting is pure, so it need not wait for the record that it follows from.
        if (command.kind === "begin") {
          this.#bodies.prepareNextStep(checkpoint, next === undefined ? state : next.state);
        }
        this.#emits.appending = appending;
        const cursor = await appending;
        this.#facts.splice(0, this.#appending);
        this.#appending = 0;
        this.#claiming = false;
        for (const [key, error] of decided.errors) this.#errors.set(key, error);
        this.#recorded(cursor, decided.events, taken.rerun);
        if (gate.passOn.length > 0) this.#passing = passOn(this.#deps, gate.passOn, this.#passing);
        return decided.command;
      } catch (error) {
        this.#appending = 0;
        if (isSuperstepError(error, "CELL_CONFLICT")) continue;
        if (!isSuperstepError(error, "MAILBOX_CONFLICT") || this.#claiming) throw error;
        await this.#refresh();
      } finally {
        gate.end?.();
      }
    }
  }

  get #limits(): Limits {
    const { limits } = this.#deps;
    return this.#settings.drain?.aborted ? { ...limits, inlineTimersMs: 0 } : limits;
  }

  /** Reads the mailbox, which also tells whether the run has been taken over. */
  async #refresh(): Promise<void> {
    this.#cursor = await this.#deps.log.refresh(this.#cursor);
    if (this.#cursor.mailbox.content.owner === this.#owner.id) return;
    throw new OwnershipLostError(this.#runId, this.#owner.id);
  }

  /** With a checkpoint every step, successes alone wait for the end of it. */
  #mayWait(events: readonly RecordEvent[], command: Command): boolean {
    return this.#settings.checkpointEvery === "step" && command.kind === "work" &&
      events.every((e) => e.type === "done" || e.type === "mapped");
  }

  #recorded(cursor: Cursor<S>, events: readonly RecordEvent[], rerun: readonly string[]): void {
    const before = this.#cursor.checkpoint;
    this.#cursor = cursor;
    if (this.#durable.size > 0) {
      for (const event of events) {
        this.#durable.get(event)?.();
        this.#durable.delete(event);
      }
    }
    this.#bodies.settled(events);
    this.#emits.settled(before, events);
    this.#children.settle(events);
    if (events.some((e) => e.type === "routed")) this.#bodies.clear();
    if (rerun.length > 0) this.#rerun(events, rerun);
    announce(this.#observers(), this.#deps.logger, before, cursor.checkpoint, events);
  }

  /** What a body came to while the append was under way has not seen the results in it. */
  #rerun(events: readonly RecordEvent[], rerun: readonly string[]): void {
    this.#facts = withoutOutdated(this.#facts, events, rerun);
    this.#bodies.outdate(rerun);
  }

  /** Sets the one timer to whatever is due first: a wait, a backoff, the run's deadline. */
  #arm(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    const { checkpoint } = this.#cursor;
    const { run } = checkpoint;
    // What was due then is at work already, or waits for a free place, or for its body to come to rest.
    const next = nextDue(checkpoint, this.#judgedAt);
    const due = Math.min(next ?? Infinity, run.deadline ?? Infinity);
    if (due === Infinity) return;
    this.#timer = this.#deps.runtime.wakeAt(due, () => this.#latch.set());
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
    notify(this.#observers(), this.#deps.logger, event);
  }

  #fail(error: unknown): unknown {
    if (isSuperstepError(error, "RUN_ABORTED", "OWNERSHIP_LOST")) {
      if (isSuperstepError(error, "OWNERSHIP_LOST")) this.#lost ??= error as OwnershipLostError;
      this.#owner.release(this.#runId, this);
      return error;
    }
    if (isSuperstepError(error, "REVISION_CONFLICT")) {
      this.#owner.release(this.#runId, this);
      this.#lost = new OwnershipLostError(this.#runId, this.#owner.id);
      this.#lost.cause = error;
      return this.#lost;
    }
    this.#owner.retire(this.#runId, this);
    return error;
  }

  #end(reason?: unknown): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#timer?.cancel();
    this.#emits.end();
    const { run } = this.#cursor.checkpoint;
    this.#bodies.end(() => endOf(run, this.#lost, reason));
  }
}

/** Microtasks that are awaited before a record is made, so that it gathers what settles at once. */
const GATHERING = 8;
