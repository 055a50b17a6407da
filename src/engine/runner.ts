import type { Cursor } from "../checkpoint/log.ts";
import { retainLast } from "../checkpoint/retention.ts";
import { jsonSchemaOf, type StateValidator } from "../checkpoint/validate.ts";
import { CheckpointNotFoundError, RunAbortedError } from "../errors.ts";
import { mermaid, svg, type Topology, topology } from "../graph/mod.ts";
import type { ExecutionStatus } from "../model/checkpoint.ts";
import { defined } from "../model/defined.ts";
import type { CompiledGraph } from "../model/definition.ts";
import type { RunRecord } from "../model/run.ts";
import type { WaitDefinition } from "../model/wait.ts";
import type { Page, Store, WaitQuery } from "../store/store.ts";
import { Activities, listRuns, type RunQuery, type RunRow, withActivity } from "./activity.ts";
import { Answering } from "./answering.ts";
import { withAnswerable } from "./change/answerable.ts";
import { knownCodeOf } from "./change/called_runs.ts";
import { takingOver, tookOver } from "./change/take_over.ts";
import { verdictOf } from "./change/judge.ts";
import type { AdoptVerdict } from "./change/verdict.ts";
import { Claims } from "./claims.ts";
import type { RunnerDeps } from "./runner_deps.ts";
import { followed, type FollowOptions } from "./follow.ts";
import { Sweeper } from "./flow/sweep.ts";
import type { RunHandle } from "./handle.ts";
import { type HistoryEntry, historyOf, type HistoryQuery, type InboxEntry, inboxOf } from "./history.ts";
import { runIdOf } from "./ids.ts";
import { checkOptions } from "./known.ts";
import { Loader } from "./loader.ts";
import { workFor } from "./child_runs.ts";
import { type Cancellation, cancelRun } from "./operations/cancel.ts";
import type { StateEdit } from "./operations/edit.ts";
import { type ForkOptions, forkRun } from "./operations/fork.ts";
import { type PurgeQuery, purgeRuns } from "./operations/purge.ts";
import { updateRun } from "./operations/update.ts";
import {
  type AnswerOptions,
  checkedQuery,
  checkedRunId,
  type GetOptions,
  positive,
  type ResumeOptions,
  revisionOf,
  settingsOf,
  type StartOptions,
  type SubmitOptions,
  workOf,
  type WorkOptions,
} from "./options.ts";
import { statusesOf } from "./vertex_statuses.ts";
import { type RunResult, type RunView, viewOf } from "./result.ts";
import { checkOwner, whenVacant } from "./owner_check.ts";
import { Starts, type Submitted } from "./starts.ts";
import { streamed, type StreamEvent, type StreamOptions } from "./stream.ts";
import { resultOf } from "./claimed_run.ts";
import { type WorkerRow, workersOf } from "./workers.ts";

/**
 * A compiled, immutable graph that runs on one store. Safe for any number of concurrent runs. `S` is the type of its
 * state, `I` that of the inputs that its schema accepts; a `Runner<S>` takes any input and leaves it to the schema.
 *
 * 1. A run is claimed by an append before any of it is worked on; whoever loses that append has run nothing.
 * 2. A bad argument is refused before anything is written. What happens in a run never rejects the call.
 */
export class Runner<S, I = unknown> {
  readonly #deps: RunnerDeps<S>;
  readonly #store: Store;
  readonly #loader: Loader<S>;
  readonly #claims: Claims<S>;
  readonly #starts: Starts<S>;
  readonly #sweeper: Sweeper<S>;
  readonly #answering: Answering<S>;
  #input: { readonly schema: unknown } | undefined;

  /** @internal */
  constructor(deps: RunnerDeps<S>, store: Store, validator: StateValidator<S>) {
    this.#deps = deps;
    this.#store = store;
    this.#loader = new Loader(deps, validator);
    this.#claims = new Claims(deps, store, this.#loader);
    this.#starts = new Starts(deps, this.#claims);
    this.#sweeper = new Sweeper(deps);
    this.#answering = new Answering(deps, this.#loader);
    knownCodeOf(store).add(deps.graph, (runId) => verdictOf(deps, this.#loader, runId));
  }

  /** The compiled graph. */
  get graph(): CompiledGraph<S, I> {
    return this.#deps.graph as CompiledGraph<S, I>;
  }

  /** The store that its runs are kept in. */
  get store(): Store {
    return this.#store;
  }

  /** The JSON Schema of the inputs that runs are started with, for forms; `undefined` where the schema has none. */
  get inputSchema(): unknown {
    return (this.#input ??= { schema: jsonSchemaOf(this.#deps.graph.schema) }).schema;
  }

  /** The graph as plain JSON: exactly what its version is made of, with labels. */
  topology(): Topology {
    return topology(this.#deps.graph);
  }

  /** The graph as Mermaid text; with a run id, its vertices carry their status in the newest step. */
  async mermaid(runId?: string): Promise<string> {
    return mermaid(this.#deps.graph, await this.#statuses(runId));
  }

  /**
   * The graph as an SVG document that stands alone and follows the reader's light or dark scheme; with a run id, its
   * vertices carry their status in the newest step.
   */
  async svg(runId?: string): Promise<string> {
    return await svg(this.topology(), { status: await this.#statuses(runId) });
  }

  /** Status by vertex id; empty without a run. */
  async #statuses(runId: string | undefined): Promise<Readonly<Record<string, ExecutionStatus>>> {
    if (runId === undefined) return {};
    return statusesOf((await this.#loader.seen(checkedRunId(runId, "draw"))).checkpoint);
  }

  /** Starts a run and waits until it is over or interrupted: `(await start(input, options)).result()`. */
  run(input: I, options: StartOptions = {}): Promise<RunResult<S>> {
    return workFor(options.caller, async () => await (await this.start(input, options)).result());
  }

  /**
   * Starts a run. A start with the id or idempotency key of a run that has the same graph and input is that run.
   *
   * @throws {ValidationError} the schema refuses the input
   * @throws {RunExistsError} the id is taken by another run
   */
  start(input: I, options: StartOptions = {}): Promise<RunHandle<S>> {
    return workFor(options.caller, () => this.#starts.start(input, options));
  }

  /**
   * Stores a run for whoever serves it: a worker, or `recover` in any process that holds the code. Nothing runs here.
   * Its id means what it means in `start`.
   *
   * @throws {ValidationError} the schema refuses the input
   * @throws {RunExistsError} the id is taken by another run
   */
  submit(input: I, options: SubmitOptions = {}): Promise<Submitted> {
    return this.#starts.submit(input, options);
  }

  /**
   * Goes on with a run that no living process owns: retries failed vertices and halts, takes in answers, due timers and
   * due retries. When there is nothing to do, nothing is written.
   *
   * @throws {RunBusyError} a living process owns it
   * @throws {ResumeTerminalError} it is over
   * @throws {AnswerError} an answer given here is not accepted
   */
  resume<A = unknown>(runId: string, options: ResumeOptions<A> = {}): Promise<RunResult<S>> {
    return workFor(options.caller, () => this.#resume(runId, options));
  }

  async #resume<A>(runId: string, options: ResumeOptions<A>): Promise<RunResult<S>> {
    checkedRunId(runId, "resume");
    checkOptions("resume", options);
    const settings = settingsOf("resume", options);
    if (options.maxSteps !== undefined) positive(options.maxSteps, 1, "resume", "maxSteps");
    if (options.signal?.aborted) throw new RunAbortedError(runId, -1, { cause: options.signal.reason });
    const claim = () =>
      takingOver(this.#deps, runId, () =>
        this.#claims.asOwner(async (owner) => {
          const cursor = await this.#loader.load(runId, { unfinished: true });
          const former = await checkOwner(this.#deps, cursor.checkpoint, options.takeover === true);
          const facts = await this.#claims.factsOf(cursor, owner, options);
          if (facts === undefined) return { result: () => resultOf(this.#deps, cursor) };
          const claimed = await this.#claims.claim(cursor, owner, settings, facts, former);
          return claimed ?? { result: () => this.#claims.follow(runId, workOf(options)) };
        }, options.takeover === true));
    const handle = await whenVacant(this.#deps, runId, claim, options.signal);
    return await handle.result();
  }

  /**
   * Accepts the answer to an open wait, given by its id, or by its definition where exactly one wait of it is open in the
   * run. It never runs tasks: the run is woken, or the process that owns it is poked.
   *
   * @throws {AnswerError} with the reason why it is not accepted; nothing has changed then
   *
   * @example
   * ```ts ignore
   * await runner.answer(runId, Verdict, { approve: true }); // checked by the compiler
   * await runner.answer(runId, waitId, await request.json()); // checked when it is given
   * ```
   */
  answer<A>(
    runId: string,
    wait: WaitDefinition<unknown, A>,
    value: NoInfer<A>,
    options?: AnswerOptions,
  ): Promise<void>;
  /** Accepts the answer to an open wait, given by its id. */
  answer(runId: string, waitId: string, value: unknown): Promise<void>;
  answer(
    runId: string,
    wait: string | WaitDefinition,
    value: unknown,
    options?: AnswerOptions,
  ): Promise<void> {
    return this.#answering.answer(runId, wait, value, options);
  }

  /**
   * Ends a run for good: its bodies see their signal aborted with a `RunCancelledError`, its waits close, and no answer is
   * accepted any more. It needs neither the state nor the code of the run, which may be of any graph and version. Resolves
   * when the record stands, or as soon as no other end is possible for a run whose process does not move.
   *
   * @param reason At most 1 000 characters. @default "requested"
   * @returns `cancelled`, also when it was before, or `completed` when it came too late.
   * @throws {CheckpointNotFoundError} there is no such run
   */
  cancel(runId: string, reason?: string): Promise<Cancellation> {
    return cancelRun(this.#deps, runId, reason);
  }

  /** The id of the run that is started with an idempotency key, and without an id of its own. */
  runIdOf(idempotencyKey: string): string {
    return runIdOf(this.#deps.graph.id, idempotencyKey);
  }

  /**
   * Begins a new run where this one was at a revision, also when it is over, halted or at work. Vertices that were done keep
   * their outcomes; those under way run again, with the results of `once` and the answers they had, and open their other
   * waits anew. The fork needs nothing of its source and is for whoever serves it; nothing runs here.
   *
   * Runs that worked for those under way, as those of `Subgraph` do, are forked with it, each as of the last record that it
   * had when the record of this revision was written: what they came to later is done again, and asked again. They need an
   * id that is derived from `ctx.idempotencyKey`. One that gets another input, or is no longer stored there, is begun anew.
   *
   * @returns The id of the new run. The same fork under the same id is the same run.
   * @throws {CheckpointNotFoundError} there is no such run or revision
   * @throws {GraphVersionMismatchError} the run was begun with other code
   * @throws {ValidationError} the schema refuses the state given
   * @throws {RunExistsError} the id is taken by another run
   */
  async fork(
    runId: string,
    revision: number,
    options: ForkOptions<S> = {},
  ): Promise<{ readonly runId: string }> {
    checkOptions("fork", options);
    return await forkRun(this.#deps, this.#loader, { runId, revision }, options);
  }

  /**
   * Replaces the state with which the current step of a run began, while nobody is at work on it. Recorded outcomes stand and
   * are reduced into the new state; vertices that wait or failed select from it when they run again; waits stay open under
   * their ids, and accepted answers stay accepted. Nothing runs here.
   *
   * @param edit A synchronous, pure function that edits a draft of the state or returns another one; or another state.
   * @returns The run as it is then.
   * @throws {RunBusyError} a process owns the run
   * @throws {ResumeTerminalError} it is over
   * @throws {ValidationError} the schema refuses the new state
   * @throws {ArgumentError} it would change the items of a map vertex of which an outcome is recorded
   */
  async update(runId: string, edit: StateEdit<S>): Promise<RunView<S>> {
    const update = () => updateRun(this.#deps, this.#loader, runId, edit);
    return await this.#seen(await takingOver(this.#deps, runId, update));
  }

  /**
   * Removes runs of this graph that are over, with everything of them; with `force` others too, which are cancelled first.
   *
   * @returns How many runs were removed.
   * @throws {ArgumentError} the query asks for runs that are not over, without `force`, or has an option that is none
   */
  async purge(query: PurgeQuery): Promise<number> {
    checkOptions("purge", query);
    return await purgeRuns(this.#deps, query);
  }

  /**
   * Cuts the beginning off the history of a run, whatever it is at, and keeps at least the newest `lastN` records: the cut is
   * at a snapshot, so that up to some hundred more may stay. What is left can be read, resumed and forked as before.
   *
   * @returns The first revision that is kept.
   * @throws {CheckpointNotFoundError} there is no such run
   */
  async retain(runId: string, lastN: number): Promise<{ readonly first: number }> {
    checkedRunId(runId, "retain");
    return { first: await retainLast(this.#store, runId, positive(lastN ?? NaN, 1, "retain", "lastN")) };
  }

  /**
   * The run as it is stored now, or was at a revision, with its state. Runs nothing.
   *
   * @throws {CheckpointNotFoundError} there is no such run or revision
   */
  async get(runId: string, options: GetOptions = {}): Promise<RunView<S>> {
    const cursor = await this.#loader.seen(checkedRunId(runId, "get"), revisionOf("get", options));
    if (options.revision === undefined) return await this.#seen(cursor);
    return viewOf(this.#deps.graph, this.#deps.rules, cursor);
  }

  async #seen(cursor: Cursor<S>): Promise<RunView<S>> {
    const activity = await new Activities(this.#store, this.#deps.runtime.now()).ofCursor(cursor);
    return { ...viewOf(this.#deps.graph, this.#deps.rules, cursor), ...defined({ activity }) };
  }

  /** The run record alone; also when the state cannot be decoded. */
  async status(runId: string): Promise<RunRecord> {
    const cursor = await this.#deps.log.load(checkedRunId(runId, "status"), { state: false });
    if (cursor === undefined) throw new CheckpointNotFoundError(runId);
    return cursor.checkpoint.run;
  }

  /** The records of a run in order, each with what happened in it. */
  async history(runId: string, query: HistoryQuery = {}): Promise<Page<HistoryEntry>> {
    return await historyOf(this.#deps.log, checkedRunId(runId, "history"), query);
  }

  /**
   * The records of a run as they come, whichever process appends them: from the first one asked for to the one that ends
   * the run, each once and in order. A paused run is followed on. Reading stops when the iteration is left.
   *
   * @throws {CheckpointNotFoundError} there is no such run, or no longer
   */
  follow(runId: string, options: FollowOptions = {}): AsyncIterableIterator<HistoryEntry> {
    return followed(this.#deps, runId, options);
  }

  /** As {@link Runner.follow}, with what bodies emit between the records: see {@link StreamEvent}. */
  events(runId: string, options: StreamOptions = {}): AsyncIterableIterator<StreamEvent> {
    return streamed(this.#deps, runId, options);
  }

  /** Runs of this graph, newest created first, each with what becomes of it where it is not over. */
  async list(query: RunQuery = {}): Promise<Page<RunRow>> {
    checkOptions("list", query);
    checkedQuery("list", query);
    const { graph, runtime } = this.#deps;
    return await listRuns(this.#store, { ...query, graphId: graph.id }, runtime.now());
  }

  /** Open waits of this graph's runs, oldest opened first; each with what becomes of its run. */
  async waits(query: Omit<WaitQuery, "graphId"> = {}): Promise<Page<InboxEntry>> {
    checkedQuery("waits", query);
    const { graph, runtime } = this.#deps;
    const page = await this.#store.waits({ ...query, graphId: graph.id });
    const rows = await withActivity(this.#store, inboxOf(page), runtime.now());
    return await withAnswerable(this.#store, rows, (_, version) => version === graph.version);
  }

  /** The workers of the store, of whatever graphs, the oldest first. */
  async workers(): Promise<readonly WorkerRow[]> {
    return await workersOf(this.#store, this.#deps.runtime.now());
  }

  /**
   * Moves a run to the version of this graph, from a lower user version or from another structure that no living worker
   * serves: one that has begun no body, that migrations bring here, or, with `adopt: "compatible"`, that fits; false when it
   * stays. Workers, `recover` and `resume` do so by themselves.
   */
  async adopt(runId: string): Promise<boolean> {
    return await tookOver(this.#deps, checkedRunId(runId, "adopt"));
  }

  /**
   * Tells what would become of an open run under this code: it loads, fits, migrates, or is refused, and why. Nothing is
   * written; schemas, migrations and selectors run on copies.
   */
  async tryAdopt(runId: string): Promise<AdoptVerdict> {
    return await verdictOf(this.#deps, this.#loader, checkedRunId(runId, "tryAdopt"));
  }

  /**
   * Takes over every run of this graph that a dead process left, and every one whose wake is due.
   *
   * @returns The handles of the runs that are at work now.
   */
  async recover(options: WorkOptions = {}): Promise<readonly RunHandle<S>[]> {
    checkOptions("recover", options);
    await this.#sweeper.sweep();
    return await this.#claims.recover(options);
  }

  /**
   * Takes over one run of this graph that is due, or that a dead process left, as a worker does with a run that it was pointed
   * to. One that this code cannot load is halted with `load_fault`.
   *
   * @returns Its handle; `undefined` when there is nothing to do: it is at work elsewhere, not yet due, or over.
   */
  async claim(runId: string, options: WorkOptions = {}): Promise<RunHandle<S> | undefined> {
    return await this.#claims.recoverOne(checkedRunId(runId, "claim"), options);
  }

  /** Rights what ended processes left undone for the limits of this graph; workers do so every few seconds. */
  async sweep(): Promise<void> {
    await this.#sweeper.sweep();
  }
}
