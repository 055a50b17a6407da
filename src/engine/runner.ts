import type { Cursor } from "../checkpoint/log.ts";
import { canonical } from "../checkpoint/canonical.ts";
import { digest } from "../checkpoint/digest.ts";
import type { Created, RecordEvent } from "../checkpoint/records.ts";
import {
  CheckpointDecodeError,
  CheckpointNotFoundError,
  GraphMismatchError,
  GraphVersionMismatchError,
  isSuperstepError,
  messageOf,
  ResumeTerminalError,
  RunAbortedError,
  RunBusyError,
  RunExistsError,
} from "../errors.ts";
import { canonicalForm, describeVersionDifference, mermaid, type Topology, topology } from "../graph/mod.ts";
import type { Checkpoint } from "../model/checkpoint.ts";
import type { CompiledGraph } from "../model/definition.ts";
import { compareIds } from "../model/ids.ts";
import type { RunRecord } from "../model/run.ts";
import type { CatalogQuery, CatalogRow, Page, Store, WaitQuery } from "../store/store.ts";
import { announcements } from "./announce.ts";
import { checkedAnswer, refusal, resumeAnswers } from "./answers.ts";
import { Coordinator, type Ending } from "./coordinator.ts";
import type { Engine, RunSettings } from "./engine.ts";
import { type Hooks, notify } from "./events.ts";
import { EventStream, type RunHandle } from "./handle.ts";
import { type HistoryEntry, historyOf, type HistoryQuery, type InboxEntry, inboxOf } from "./history.ts";
import { runIdOf } from "./ids.ts";
import { takeIn } from "./inbox.ts";
import { validateCheckpoint } from "./load.ts";
import {
  checkedRunId,
  moment,
  positive,
  type ResumeOptions,
  type StartOptions,
  type WorkOptions,
} from "./options.ts";
import { type Owner, POLL_MS } from "./ownership.ts";
import { isAlive, recoveryDelay } from "./recovery.ts";
import { type RunResult, type RunView, viewOf } from "./result.ts";
import { pausedFailures } from "./step.ts";
import { nextDue } from "./superstep.ts";
import type { StateValidator } from "../checkpoint/validate.ts";

/**
 * A compiled, immutable graph that runs on one store. Safe for any number of concurrent runs.
 *
 * 1. A run is claimed by an append before any of it is worked on; whoever loses that append has run nothing.
 * 2. A bad argument is refused before anything is written. What happens in a run never rejects the call.
 */
export class Runner<S> {
  readonly #engine: Engine<S>;
  readonly #store: Store;
  readonly #validator: StateValidator<S>;

  constructor(engine: Engine<S>, store: Store, validator: StateValidator<S>) {
    this.#engine = engine;
    this.#store = store;
    this.#validator = validator;
  }

  /** The compiled graph. */
  get graph(): CompiledGraph<S> {
    return this.#engine.graph;
  }

  /** The graph as plain JSON: exactly what its version is made of, with labels. */
  topology(): Topology {
    return topology(this.#engine.graph);
  }

  /** The graph as Mermaid text; with a run id, its vertices carry their status in the newest step. */
  async mermaid(runId?: string): Promise<string> {
    if (runId === undefined) return mermaid(this.#engine.graph);
    const { checkpoint } = await this.#load(runId, { state: false });
    const statuses = new Map<string, string>(checkpoint.path.map((id) => [id, "done"]));
    for (const id of checkpoint.frontier) {
      statuses.set(id, checkpoint.executions.get(id)?.status ?? "pending");
    }
    return mermaid(this.#engine.graph, statuses as never);
  }

  /** Starts a run and waits until it is over or interrupted: `(await start(input, options)).result()`. */
  async run(input: unknown, options: StartOptions = {}): Promise<RunResult<S>> {
    return await (await this.start(input, options)).result();
  }

  /**
   * Starts a run. A start with the id or idempotency key of a run that has the same graph and input is that run.
   *
   * @throws {ValidationError} the schema refuses the input
   * @throws {RunExistsError} the id is taken by another run
   */
  async start(input: unknown, options: StartOptions = {}): Promise<RunHandle<S>> {
    const { graph, runtime, log } = this.#engine;
    const settings = this.#settings("start", options);
    const runId = options.runId !== undefined
      ? checkedRunId(options.runId, "start")
      : options.idempotencyKey !== undefined
      ? runIdOf(graph.id, options.idempotencyKey)
      : runtime.uuid();
    const inputDigest = digest(canonical(input, "the input"));
    const state = this.#validator.input(input);
    this.#engine.rules.measure(state);
    const now = runtime.now();
    const event: Created = {
      type: "created",
      runId,
      graphId: graph.id,
      graphVersion: graph.version,
      form: canonicalForm(graph),
      entry: graph.entry,
      maxSteps: positive(options.maxSteps, DEFAULT_MAX_STEPS, "start", "maxSteps"),
      ...(options.deadline === undefined
        ? {}
        : { deadline: moment(options.deadline, now, "start", "deadline") }),
      tags: [...new Set(options.tags ?? [])].sort(compareIds),
      inputDigest,
    };
    if (options.signal?.aborted) throw new RunAbortedError(runId, -1, { cause: options.signal.reason });
    try {
      return await this.#asOwner(async (owner) => {
        const created = { ...event, owner: owner.id };
        const cursor = await log.create(runId, created, state, { writer: owner.id });
        return this.#work(new Work(this.#engine, settings, owner, cursor), created);
      });
    } catch (error) {
      if (!isSuperstepError(error, "REVISION_CONFLICT") && !isSuperstepError(error, "MAILBOX_CONFLICT")) {
        throw error;
      }
      return await this.#existing(runId, inputDigest, options);
    }
  }

  /**
   * Goes on with a run that no living process owns: retries failed vertices and halts, takes in answers, due timers and
   * due retries. When there is nothing to do, nothing is written.
   *
   * @throws {RunBusyError} a living process owns it
   * @throws {ResumeTerminalError} it is over
   * @throws {AnswerError} an answer given here is not accepted
   */
  async resume(runId: string, options: ResumeOptions = {}): Promise<RunResult<S>> {
    checkedRunId(runId, "resume");
    const settings = this.#settings("resume", options);
    if (options.maxSteps !== undefined) positive(options.maxSteps, 1, "resume", "maxSteps");
    if (options.signal?.aborted) throw new RunAbortedError(runId, -1, { cause: options.signal.reason });
    const handle = await this.#asOwner(async (owner) => {
      const cursor = await this.#load(runId);
      this.#refuseTerminal(cursor.checkpoint);
      const absent = await this.#vacate(cursor.checkpoint, options.takeover === true);
      const facts = this.#resumeFacts(cursor, owner, options);
      if (facts === undefined) return { result: () => this.#result(cursor) };
      return await this.#claim(cursor, owner, settings, facts, absent);
    });
    return await handle.result();
  }

  /**
   * Accepts the answer to an open wait. It never runs tasks: the run is woken, or the process that owns it is poked.
   *
   * @throws {AnswerError} with the reason why it is not accepted; nothing has changed then
   */
  async answer(runId: string, waitId: string, value: unknown): Promise<void> {
    checkedRunId(runId, "answer");
    const { graph, runtime, log, ownership } = this.#engine;
    for (;;) {
      const found = await this.#store.wait(runId, waitId.slice(0, 200));
      if (found.head === null) throw new CheckpointNotFoundError(runId);
      const now = runtime.now();
      const { open } = found;
      if (open === null || found.closed !== null || (open.deadline !== undefined && open.deadline <= now)) {
        const { checkpoint, mailbox } = await this.#load(runId, { state: false });
        const posted = mailbox.content.answers.some((a) => a.waitId === waitId);
        throw refusal(graph, checkpoint, waitId, found.closed, posted, now);
      }
      if (open.graphId !== graph.id) throw new GraphMismatchError(runId, graph.id, open.graphId);
      const answer = checkedAnswer(graph, open, value);
      const { revision } = found.head.position;
      try {
        await log.post(runId, found, (mailbox) => ({
          mailbox: {
            ...mailbox,
            answers: [...mailbox.answers, { waitId, value: answer, at: now }],
            ...(mailbox.owner === undefined ? { wake: Math.min(now, mailbox.wake ?? now) } : {}),
          },
          closed: [{ runId, waitId, openedAt: open.openedAt, reason: "answered", revision }],
          graphId: open.graphId,
          graphVersion: graph.version,
        }));
        return ownership.poke(runId);
      } catch (error) {
        if (!isSuperstepError(error, "MAILBOX_CONFLICT")) throw error;
      }
    }
  }

  /** The run as it is stored now, with its state. Runs nothing. */
  async get(runId: string): Promise<RunView<S>> {
    const cursor = await this.#load(checkedRunId(runId, "get"));
    return viewOf(this.#engine.graph, this.#engine.rules, cursor);
  }

  /** The run record alone; works also when the state cannot be decoded. */
  async status(runId: string): Promise<RunRecord> {
    const cursor = await this.#engine.log.load(checkedRunId(runId, "status"), { state: false });
    if (cursor === undefined) throw new CheckpointNotFoundError(runId);
    return cursor.checkpoint.run;
  }

  /** The records of a run in order, each with what happened in it. */
  async history(runId: string, query: HistoryQuery = {}): Promise<readonly HistoryEntry[]> {
    return await historyOf(this.#engine.log, checkedRunId(runId, "history"), query);
  }

  /** Runs of this graph, newest created first. */
  list(query: Omit<CatalogQuery, "graphId"> = {}): Promise<Page<CatalogRow>> {
    return this.#store.list({ ...query, graphId: this.#engine.graph.id });
  }

  /** Open waits of this graph's runs, oldest opened first. */
  async waits(query: Omit<WaitQuery, "graphId"> = {}): Promise<Page<InboxEntry>> {
    return inboxOf(await this.#store.waits({ ...query, graphId: this.#engine.graph.id }));
  }

  /**
   * Takes over every run of this graph that a dead process left, and every one whose wake is due.
   *
   * @returns The handles of the runs that are at work now.
   */
  async recover(options: WorkOptions = {}): Promise<readonly RunHandle<S>[]> {
    const { runtime, graph } = this.#engine;
    const { owners } = this.#store;
    const left = new Set<string>();
    for (const owner of await owners.list()) {
      if (isAlive(owner, runtime.now())) continue;
      if (!owner.buried && !await owners.bury(owner.ownerId, owner.beatVersion)) continue;
      const runs = await owners.ownedBy(owner.ownerId, BATCH);
      if (runs.length === 0) await owners.forget(owner.ownerId);
      for (const runId of runs) left.add(runId);
    }
    for (const wake of await this.#store.wakes(runtime.now(), BATCH)) {
      if (wake.graphId === graph.id && wake.graphVersion === graph.version) left.add(wake.runId);
    }
    const handles: RunHandle<S>[] = [];
    for (const runId of left) {
      const handle = await this.#recoverOne(runId, options);
      if (handle !== undefined) handles.push(handle);
    }
    return handles;
  }

  /** Claims one run without an owner, or puts it off; `undefined` when it is not this runner's to work on. */
  async #recoverOne(runId: string, options: WorkOptions): Promise<RunHandle<S> | undefined> {
    const { graph, runtime, limits, log } = this.#engine;
    const settings = this.#settings("recover", options);
    try {
      return await this.#asOwner(async (owner) => {
        const status = await this.status(runId);
        if (status.graphId !== graph.id || status.graphVersion !== graph.version) return undefined;
        const cursor = await this.#load(runId);
        const { run } = cursor.checkpoint;
        if (run.status === "completed" || run.status === "cancelled") return undefined;
        const absent = await this.#vacate(cursor.checkpoint, false);
        const recoveries = run.recoveries + 1;
        if (absent !== undefined && run.recoveries > 0 && recoveries <= limits.maxRecoveries) {
          const wake = runtime.now() + recoveryDelay(recoveries, runtime.random());
          await log.defer(cursor, absent, wake);
          return undefined;
        }
        const facts = this.#resumeFacts(cursor, owner, options, false);
        if (facts === undefined) return undefined;
        return await this.#claim(cursor, owner, settings, facts, absent);
      });
    } catch (error) {
      if (LOST_CLAIM.some((code) => isSuperstepError(error, code))) return undefined;
      throw error;
    }
  }

  /** The facts of a claim, or `undefined` when a claim would change nothing. */
  #resumeFacts(
    cursor: Cursor<S>,
    owner: Owner,
    options: ResumeOptions,
    retry = true,
  ): readonly RecordEvent[] | undefined {
    const { checkpoint, mailbox } = cursor;
    const { runtime, graph, limits } = this.#engine;
    const now = runtime.now();
    const answers = resumeAnswers(graph, cursor, options, now);
    const failed = retry ? pausedFailures(checkpoint) : [];
    const halted = retry && checkpoint.halt !== undefined;
    const due = nextDue(checkpoint.executions.values());
    const idle = checkpoint.run.status === "interrupted" && answers.length === 0 && failed.length === 0 &&
      !halted &&
      takeIn(checkpoint, mailbox.content, [], now).events.length === 0 &&
      (checkpoint.run.deadline ?? Infinity) > now &&
      (checkpoint.phase === "halted" || due === undefined || due - now > limits.inlineTimersMs);
    if (idle) return undefined;
    const recovery = checkpoint.run.owner !== undefined && options.takeover !== true;
    return [
      {
        type: "claimed",
        owner: owner.id,
        recovery,
        ...(options.maxSteps === undefined ? {} : { maxSteps: options.maxSteps }),
      },
      ...answers,
      ...(failed.length > 0 || halted
        ? [
          {
            type: "retried",
            executions: failed.map((x) =>
              x.item === undefined ? { vertexId: x.vertexId } : { vertexId: x.vertexId, item: x.item }
            ),
          } as const,
        ]
        : []),
    ];
  }

  /** Makes sure that nobody alive owns the run; returns the dead owner that a claim must find gone. */
  async #vacate(checkpoint: Checkpoint, takeover: boolean): Promise<string | undefined> {
    const { owner, runId } = checkpoint.run;
    const { ownership, runtime } = this.#engine;
    if (owner === undefined) return undefined;
    if (ownership.isAtWork(owner, runId)) throw new RunBusyError(runId, owner);
    // An owner of this process that has no loop for the run any more has let it go without being able to say so.
    if (takeover || ownership.isOwn(owner)) return undefined;
    const row = (await this.#store.owners.list()).find((o) => o.ownerId === owner);
    if (row === undefined || row.buried) return owner;
    if (isAlive(row, runtime.now())) throw new RunBusyError(runId, owner);
    if (!await this.#store.owners.bury(owner, row.beatVersion)) throw new RunBusyError(runId, owner);
    return owner;
  }

  /** Runs `claim` under a live owner id; again under a new one when the id turns out to have been buried. */
  async #asOwner<T>(claim: (owner: Owner) => Promise<T>): Promise<T> {
    for (let tries = 1;; tries++) {
      try {
        return await claim(await this.#engine.ownership.acquire());
      } catch (error) {
        const again = isSuperstepError(error, "MAILBOX_CONFLICT") ||
          isSuperstepError(error, "OWNERSHIP_LOST");
        if (!again || tries >= MAX_CLAIMS) throw error;
      }
    }
  }

  async #claim(
    cursor: Cursor<S>,
    owner: Owner,
    settings: RunSettings,
    facts: readonly RecordEvent[],
    absent: string | undefined,
  ): Promise<RunHandle<S>> {
    const work = new Work(this.#engine, settings, owner, cursor);
    await work.coordinator.claim({ facts, ...(absent === undefined ? {} : { absent }) });
    return this.#work(work);
  }

  #work(work: Work<S>, created?: Created): RunHandle<S> {
    // A start begins one macrotask later, so that whoever gets the handle can listen from the first event on.
    const ending = new Promise<Ending<S>>((resolve, reject) => {
      const begin = () => {
        if (created !== undefined) work.announce(created);
        work.coordinator.run().then(resolve, reject).finally(() => work.stream.end());
      };
      if (created === undefined) begin();
      else this.#engine.runtime.macrotask(begin);
    });
    const result = ending.then(({ cursor, errors }) => this.#result(cursor, errors));
    result.catch(() => {});
    return { runId: work.runId, result: () => result, events: () => work.stream.read() };
  }

  #result(cursor: Cursor<S>, errors?: ReadonlyMap<string, unknown>): RunResult<S> {
    const view = viewOf(this.#engine.graph, this.#engine.rules, cursor, errors);
    if (view.status !== "running") return view;
    throw new RunAbortedError(view.run.runId, view.run.revision);
  }

  /** The handle of a run that exists under the id of a start. */
  async #existing(runId: string, inputDigest: string, options: StartOptions): Promise<RunHandle<S>> {
    const run = await this.status(runId);
    const { graph } = this.#engine;
    if (run.graphId !== graph.id) throw new RunExistsError(runId, `another graph, ${run.graphId}`);
    if (run.inputDigest !== inputDigest) throw new RunExistsError(runId, "another input");
    let result: Promise<RunResult<S>> | undefined;
    return {
      runId,
      result: () => result ??= this.#follow(runId, options),
      events: () => {
        const stream = new EventStream();
        stream.end();
        return stream.read();
      },
    };
  }

  /** Waits for a run that is at work elsewhere, and takes it over when its process is dead. */
  async #follow(runId: string, options: StartOptions): Promise<RunResult<S>> {
    const { runtime } = this.#engine;
    for (;;) {
      const cursor = await this.#load(runId);
      if (cursor.checkpoint.run.status !== "running") return this.#result(cursor);
      const handle = await this.#recoverOne(runId, options);
      if (handle !== undefined) return await handle.result();
      if (options.signal?.aborted) {
        throw new RunAbortedError(runId, cursor.checkpoint.run.revision, { cause: options.signal.reason });
      }
      await new Promise<void>((resolve) => {
        const timer = runtime.wakeAt(runtime.now() + POLL_MS / 4, done);
        const { signal } = options;
        signal?.addEventListener("abort", done);
        function done(): void {
          timer.cancel();
          signal?.removeEventListener("abort", done);
          resolve();
        }
      });
    }
  }

  async #load(runId: string, options: { readonly state?: boolean } = {}): Promise<Cursor<S>> {
    const { graph, log } = this.#engine;
    const cursor = await log.load(runId, {
      ...options,
      verify: async (checkpoint) => {
        const { graphId, graphVersion } = checkpoint.run;
        if (graphId !== graph.id) throw new GraphMismatchError(runId, graph.id, graphId);
        if (graphVersion !== graph.version) {
          throw new GraphVersionMismatchError(
            runId,
            graph.version,
            graphVersion,
            await this.#difference(runId),
          );
        }
      },
    });
    if (cursor === undefined) throw new CheckpointNotFoundError(runId);
    if (options.state === false) return cursor;
    let state: S;
    try {
      state = this.#validator.load(cursor.state);
    } catch (cause) {
      throw new CheckpointDecodeError(runId, "State", messageOf(cause), { cause });
    }
    validateCheckpoint(graph, cursor.checkpoint);
    return { ...cursor, state };
  }

  async #difference(runId: string): Promise<string> {
    const [first] = await this.#engine.log.history(runId, 0, 1);
    const created = first?.events.find((e) => e.type === "created");
    return created === undefined
      ? "its beginning is no longer stored"
      : describeVersionDifference(created.form, canonicalForm(this.#engine.graph));
  }

  #refuseTerminal(checkpoint: Checkpoint): void {
    const { runId, status } = checkpoint.run;
    if (status === "completed" || status === "cancelled") throw new ResumeTerminalError(runId, status);
  }

  #settings(op: string, options: WorkOptions): RunSettings {
    return {
      concurrency: positive(options.concurrency, DEFAULT_CONCURRENCY, op, "concurrency"),
      checkpointEvery: options.checkpointEvery ?? "vertex",
      hooks: options.hooks === undefined ? [] : [options.hooks],
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    };
  }
}

/** One claim of a run with those who listen to it. */
class Work<S> {
  readonly stream = new EventStream();
  readonly coordinator: Coordinator<S>;
  readonly runId: string;
  readonly #engine: Engine<S>;
  readonly #hooks: readonly Hooks[];
  readonly #cursor: Cursor<S>;

  constructor(engine: Engine<S>, settings: RunSettings, owner: Owner, cursor: Cursor<S>) {
    const hooks = [...settings.hooks, this.stream.hooks];
    this.coordinator = new Coordinator(engine, { ...settings, hooks }, owner, cursor);
    this.runId = cursor.checkpoint.run.runId;
    this.#engine = engine;
    this.#hooks = [...engine.hooks, ...hooks];
    this.#cursor = cursor;
  }

  /** Tells of revision 0. */
  announce(created: Created): void {
    const { checkpoint } = this.#cursor;
    for (const told of announcements(checkpoint, checkpoint, [created])) {
      notify(this.#hooks, this.#engine.logger, told);
    }
  }
}

const DEFAULT_MAX_STEPS = 10_000;
const DEFAULT_CONCURRENCY = 64;
const MAX_CLAIMS = 5;
const BATCH = 1_000;

/** Faults of a claim that only say that somebody else was first. */
const LOST_CLAIM = ["RUN_BUSY", "REVISION_CONFLICT", "OWNERSHIP_LOST", "CHECKPOINT_NOT_FOUND"];
