import type { Logger } from "../engine/events.ts";
import { BEAT_MS } from "../engine/owner_watch.ts";
import { userVersion } from "../engine/workers.ts";
import { reasonOf } from "../errors.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { Store, WakeRow } from "../store/store.ts";
import { Alarm } from "../runtime/alarm.ts";
import type { Dispatch } from "./control_plane.ts";
import type { Presence } from "./presence.ts";
import type { ServedRunner } from "./worker.ts";

/**
 * Moves runs that are due, or that dead processes left, to the versions that this worker serves; its plane delivers them then.
 *
 * 1. Whether a run moves is for `runner.adopt` to tell. One that did not is not asked about again while it stands still.
 * 2. To another structure of the same user version it moves only after this worker has watched for who serves its own.
 */
export class Adoptions {
  readonly #store: Store;
  readonly #runtime: Runtime;
  readonly #logger: Logger;
  readonly #presence: Presence;
  /** The served runners of each graph, those of the highest user version first. */
  readonly #runners = new Map<string, ServedRunner[]>();
  readonly #versions = new Set<string>();
  /** How those stood that did not move. */
  readonly #refused = new Map<string, string>();

  constructor(
    store: Store,
    runtime: Runtime,
    logger: Logger,
    presence: Presence,
    runners: Iterable<ServedRunner>,
  ) {
    this.#store = store;
    this.#runtime = runtime;
    this.#logger = logger;
    this.#presence = presence;
    for (const runner of runners) {
      const { id, version } = runner.graph;
      this.#versions.add(version);
      if (runner.adopt === undefined) continue;
      const all = [...this.#runners.get(id) ?? [], runner];
      this.#runners.set(id, all.sort((a, b) => userVersion(b.graph.version) - userVersion(a.graph.version)));
    }
  }

  async run(signal: AbortSignal): Promise<void> {
    const alarm = new Alarm(this.#runtime);
    while (!signal.aborted) {
      try {
        await this.#look(signal);
      } catch (error) {
        if (signal.aborted) return;
        this.#logger.warn(`superstep: runs of other versions cannot be taken over: ${reasonOf(error)}`, {});
      }
      await alarm.sleep(BEAT_MS, alarm.rings, signal);
    }
  }

  async #look(signal: AbortSignal): Promise<void> {
    const until = this.#runtime.now() + BEAT_MS;
    let after: WakeRow | undefined;
    do {
      const rows = await this.#store.wakes(until, PAGE, {
        signal,
        ...(after === undefined ? {} : { after }),
      });
      for (const row of rows) {
        if (signal.aborted) return;
        if (!this.#versions.has(row.graphVersion)) await this.consider(row, `due ${row.due}`);
      }
      after = rows.length < PAGE ? undefined : rows.at(-1);
    } while (after !== undefined);
  }

  /**
   * Moves a run to a version that this worker serves, the highest that takes it; false when it stays.
   *
   * @param standing What is another when the run has moved on
   */
  async consider({ runId, graphId, graphVersion }: Dispatch, standing: string): Promise<boolean> {
    const { fleet } = this.#presence;
    if (fleet === undefined || this.#refused.get(runId) === standing) return false;
    const heirs = this.#runners.get(graphId)?.filter(({ graph }) =>
      fleet.mayMove(graphId, graphVersion, graph.version)
    );
    for (const heir of heirs ?? []) {
      if (await heir.adopt!(runId)) return true;
    }
    if (heirs === undefined || heirs.length === 0) return false;
    if (this.#refused.size >= MANY) this.#refused.clear();
    this.#refused.set(runId, standing);
    return false;
  }
}

const PAGE = 1_000;
/** So many are remembered. */
const MANY = 10_000;
