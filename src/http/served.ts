import { type HistoryEntry, type HistoryQuery, type InboxEntry, inboxOf } from "../engine/history.ts";
import { type ListQuery, listRuns, type RunRow, withActivity } from "../engine/activity.ts";
import { withAnswerable } from "../engine/change/answerable.ts";
import type { FollowOptions } from "../engine/follow.ts";
import type { ForkOptions } from "../engine/operations/fork.ts";
import type { StateEdit } from "../engine/operations/edit.ts";
import type { Cancellation } from "../engine/operations/cancel.ts";
import type { ResumeOptions, SubmitOptions } from "../engine/options.ts";
import type { Submitted } from "../engine/starts.ts";
import { userVersion, type WorkerRow, workersOf } from "../engine/workers.ts";
import type { RunView } from "../engine/result.ts";
import type { StreamEvent, StreamOptions } from "../engine/stream.ts";
import {
  BuildError,
  CheckpointNotFoundError,
  DuplicateRegistrationError,
  isSuperstepError,
} from "../errors.ts";
import type { Topology } from "../graph/mod.ts";
import { compareIds } from "../model/ids.ts";
import type { RunRecord } from "../model/run.ts";
import type { Page, PageQuery, Store, WaitQuery, WaitRow } from "../store/store.ts";
import { HttpFault } from "./faults.ts";

/** What HTTP needs of a runner; every {@link Runner} is one. */
export interface HttpRunner {
  /** The graph whose runs it serves. */
  readonly graph: { readonly id: string; readonly version: string };
  /** Where they are kept. */
  readonly store: Store;
  /** As {@link Runner.inputSchema}. */
  readonly inputSchema: unknown;
  /** As {@link Runner.topology}. */
  topology(): Topology;
  /** As {@link Runner.submit}. */
  submit(input: unknown, options?: SubmitOptions): Promise<Pick<Submitted, "runId" | "skipped">>;
  /** As {@link Runner.resume}. */
  resume(runId: string, options?: ResumeOptions): Promise<unknown>;
  /** As {@link Runner.answer}. */
  answer(runId: string, waitId: string, value: unknown): Promise<void>;
  /** As {@link Runner.cancel}. */
  cancel(runId: string, reason?: string): Promise<Cancellation>;
  /** As {@link Runner.fork}. */
  fork(
    runId: string,
    revision: number,
    options?: Omit<ForkOptions<unknown>, "state"> & { readonly state?: unknown },
  ): Promise<{ readonly runId: string }>;
  /** As {@link Runner.update}. */
  update(runId: string, edit: StateEdit<unknown>): Promise<RunView<unknown>>;
  /** As {@link Runner.get}. */
  get(runId: string, options?: { readonly revision?: number }): Promise<RunView<unknown>>;
  /** As {@link Runner.status}. */
  status(runId: string): Promise<RunRecord>;
  /** As {@link Runner.history}. */
  history(runId: string, query?: HistoryQuery): Promise<Page<HistoryEntry>>;
  /** As {@link Runner.follow}. */
  follow(runId: string, options?: FollowOptions): AsyncIterableIterator<HistoryEntry>;
  /** As {@link Runner.events}. */
  events(runId: string, options?: StreamOptions): AsyncIterableIterator<StreamEvent>;
}

/** The runners that are served, and the runs of their graphs. Runs of other graphs in the store do not exist here. */
export class Served {
  readonly store: Store;
  readonly #versions = new Map<string, Map<string, HttpRunner>>();

  /** @param store What the runners are on; only where there is none must it be given. */
  constructor(runners: readonly HttpRunner[], store: Store | undefined = runners[0]?.store) {
    if (store === undefined) {
      throw new BuildError("createApp", "there is nothing to serve; give runners, or workflows and a store");
    }
    this.store = store;
    for (const runner of runners) this.#add(runner);
  }

  #add(runner: HttpRunner): void {
    const { id, version } = runner.graph;
    if (runner.store !== this.store) {
      throw new BuildError(
        "createApp",
        `the runner of graph ${id} is on another store; compile them all on one`,
      );
    }
    const versions = this.#versions.get(id) ?? new Map<string, HttpRunner>();
    if (versions.has(version)) throw new DuplicateRegistrationError(id, version);
    this.#versions.set(id, versions.set(version, runner));
  }

  /** Every graph in ascending order with its versions, the newest last. */
  get graphs(): readonly { readonly graphId: string; readonly versions: readonly string[] }[] {
    return [...this.#versions].map(([graphId, versions]) => ({
      graphId,
      versions: [...versions.keys()].sort(byAge),
    })).sort((a, b) => compareIds(a.graphId, b.graphId));
  }

  serves(graphId: string): boolean {
    return this.#versions.has(graphId);
  }

  /** The runner of a version of a graph, or of its newest one. */
  resolve(graphId: string, version: string | undefined): HttpRunner {
    const versions = this.#versions.get(graphId);
    if (versions === undefined) throw new HttpFault("GRAPH_NOT_SERVED");
    if (version === undefined) return newestOf(versions);
    const runner = versions.get(version);
    if (runner === undefined) throw new HttpFault("GRAPH_NOT_SERVED");
    return runner;
  }

  /**
   * A run with the runner of its version; where that is not served, with the newest one, which may take the run over, and
   * says itself what keeps it from what it is asked for.
   */
  async find(runId: string): Promise<FoundRun> {
    const [anyone] = [...this.#versions.values()].flatMap((versions) => [...versions.values()]);
    if (anyone === undefined) throw new CheckpointNotFoundError(runId);
    const run = await anyone.status(runId);
    const versions = this.#versions.get(run.graphId);
    if (versions === undefined) throw new CheckpointNotFoundError(runId);
    return { run, runner: versions.get(run.graphVersion) ?? newestOf(versions) };
  }

  /** A page of runs. */
  async list(query: ListQuery, now: number): Promise<Page<RunRow>> {
    return await this.#page(query, (page) => listRuns(this.store, page, now));
  }

  /** The workers that serve any of these graphs, with those alone. */
  async workers(now: number): Promise<readonly WorkerRow[]> {
    return (await workersOf(this.store, now))
      .map((row) => ({ ...row, serves: row.serves.filter(({ graphId }) => this.serves(graphId)) }))
      .filter(({ serves }) => serves.length > 0);
  }

  /** A page of open waits. */
  async waits(query: WaitQuery, now: number): Promise<Page<InboxEntry>> {
    return await this.#marked(inboxOf(await this.#page(query, (page) => this.#lightWaits(page))), now);
  }

  /** The page of one open wait; empty when it is not open, or not among those asked for. */
  async wait(
    runId: string,
    waitId: string,
    { graphId, name }: Pick<WaitQuery, "graphId" | "name">,
    now: number,
  ): Promise<Page<InboxEntry>> {
    if (graphId !== undefined && !this.serves(graphId)) throw new HttpFault("GRAPH_NOT_SERVED");
    const { open } = await this.store.wait(runId, waitId);
    const isAsked = open !== null && this.serves(open.graphId) &&
      (graphId ?? open.graphId) === open.graphId &&
      (name ?? open.name) === open.name;
    return await this.#marked(inboxOf({ rows: isAsked ? [open] : [] }), now);
  }

  /** Waits with what becomes of their runs, and which of them cannot be answered here. */
  async #marked(page: Page<InboxEntry>, now: number): Promise<Page<InboxEntry>> {
    const has = (graphId: string, version: string) => this.#versions.get(graphId)?.has(version) === true;
    return await withAnswerable(this.store, await withActivity(this.store, page, now), has);
  }

  /** Waits that tell much make a short page: few are read at first, and no more when there is enough of them. */
  async #lightWaits(query: WaitQuery): Promise<Page<WaitRow>> {
    const { limit = 100 } = query;
    const rows: WaitRow[] = [];
    let bytes = 0;
    let next = query;
    for (let most = FIRST_WAITS;;) {
      const page = await this.store.waits({ ...next, limit: Math.min(most, limit - rows.length) });
      rows.push(...page.rows);
      bytes += page.rows.reduce((sum, { body }) => sum + body.byteLength, 0);
      const { cursor } = page;
      if (cursor === undefined) return { rows };
      if (rows.length >= limit || bytes >= PAGE_BYTES) return { rows, cursor };
      // As many as fit if they are like those so far, of which there should be some.
      const fit = Math.ceil((PAGE_BYTES - bytes) * rows.length / Math.max(1, bytes));
      most = Math.max(1, Math.min(5 * most, fit));
      next = { ...query, cursor };
    }
  }

  /** A page without the rows of graphs that are not served; it may be shorter for that, but is empty at the end only. */
  async #page<Q extends PageQuery & { readonly graphId?: string }, R extends { readonly graphId: string }>(
    query: Q,
    read: (query: Q) => Promise<Page<R>>,
  ): Promise<Page<R>> {
    if (query.graphId !== undefined && !this.serves(query.graphId)) throw new HttpFault("GRAPH_NOT_SERVED");
    // Where one graph is served alone, stores need not look at the rows of others.
    const [only, ...others] = this.#versions.keys();
    let next = others.length === 0 && only !== undefined ? { ...query, graphId: only } : query;
    for (;;) {
      const page = await this.#read(next, read);
      const rows = page.rows.filter((row) => this.serves(row.graphId));
      if (rows.length > 0 || page.cursor === undefined) return { ...page, rows };
      next = { ...next, cursor: page.cursor };
    }
  }

  /** A store that refuses a cursor says so as it says that it failed: without the cursor it is asked which of the two it is. */
  async #read<Q extends PageQuery, R>(query: Q, read: (query: Q) => Promise<Page<R>>): Promise<Page<R>> {
    try {
      return await read(query);
    } catch (error) {
      if (query.cursor === undefined || !isSuperstepError(error, "STORE")) throw error;
      const { cursor: _, ...first } = query;
      await read({ ...first, limit: 1 } as Q);
      throw new HttpFault("BAD_REQUEST", {
        issues: [{ path: "cursor", message: "it was not given by this listing" }],
      });
    }
  }
}

/** The versions of a graph, those of the highest user version last. */
function byAge(a: string, b: string): number {
  return userVersion(a) - userVersion(b) || compareIds(a, b);
}

function newestOf(versions: ReadonlyMap<string, HttpRunner>): HttpRunner {
  return versions.get([...versions.keys()].sort(byAge).at(-1)!)!;
}

/** A page of waits ends with those that come to more than this. */
const PAGE_BYTES = 2 * 1024 * 1024;
/** So many are read at first. */
const FIRST_WAITS = 5;

/** A run and the runner that can work on it. */
interface FoundRun {
  readonly run: RunRecord;
  readonly runner: HttpRunner;
}
