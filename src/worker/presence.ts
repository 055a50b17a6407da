import type { Logger } from "../engine/events.ts";
import { listRuns } from "../engine/activity.ts";
import { BEAT_MS } from "../engine/owner_watch.ts";
import {
  encodeWorker,
  Fleet,
  workerCell,
  workerCells,
  workerOf,
  type WorkerRow,
  WorkerWatch,
} from "../engine/workers.ts";
import { isSuperstepError, reasonOf } from "../errors.ts";
import { defined } from "../model/defined.ts";
import { processName } from "../runtime/host.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { Cell, CellName, CellsEntry, Store } from "../store/store.ts";
import { Alarm } from "../runtime/alarm.ts";
import type { GraphKey } from "./control_plane.ts";

/** What a worker says of itself. */
export interface PresenceOf {
  readonly name: string | undefined;
  readonly serves: readonly GraphKey[];
  readonly places: number;
}

/**
 * Tells others that a worker lives and what it serves, and learns it of them.
 *
 * 1. Its cell is written anew with every beat, and removed when the worker begins to stop.
 * 2. That of a worker which was watched and has been silent for a lease is removed: whoever has a cell lives, or nobody
 *    has looked yet. One that was frozen writes its own again.
 * 3. Open runs that nobody serves are named in the log, soon after the start and every hour.
 */
export class Presence {
  readonly #store: Store;
  readonly #runtime: Runtime;
  readonly #logger: Logger;
  readonly #of: PresenceOf;
  readonly #watch = new WorkerWatch();
  readonly #alarm: Alarm;
  readonly #startedAt: number;
  readonly #cell: CellName;
  #fleet: Fleet | undefined;
  #showed!: () => void;
  /** Resolves when others can see that this worker lives, or when it has stopped. */
  readonly isSeen: Promise<void> = new Promise((resolve) => this.#showed = resolve);

  constructor(store: Store, runtime: Runtime, logger: Logger, of: PresenceOf) {
    this.#store = store;
    this.#runtime = runtime;
    this.#logger = logger;
    this.#of = of;
    this.#alarm = new Alarm(runtime);
    this.#startedAt = runtime.now();
    this.#cell = workerCell(runtime.uuid());
  }

  /** Who lives, this worker included, by the newest beat; undefined before the first one that succeeded. */
  get fleet(): Fleet | undefined {
    return this.#fleet;
  }

  async run(signal: AbortSignal, worker: { readonly active: number }): Promise<void> {
    let report = this.#runtime.elapsed() + 2 * BEAT_MS;
    while (!signal.aborted) {
      try {
        await this.#beat(worker.active);
        if (this.#runtime.elapsed() >= report) {
          report = this.#runtime.elapsed() + HOUR_MS;
          await this.#report(signal);
        }
      } catch (error) {
        // What was watched counts no more, and nobody is taken for dead, while the store fails.
        this.#watch.forget();
        if (!isSuperstepError(error, "STORE")) {
          this.#logger.warn(`superstep: the worker cannot show that it lives: ${reasonOf(error)}`, {});
        }
      }
      await this.#alarm.sleep(BEAT_MS, this.#alarm.rings, signal);
    }
    this.#showed();
    await this.#change([{ ...this.#cell, value: null }]).catch(() => {});
  }

  async #beat(active: number): Promise<void> {
    const now = this.#runtime.now();
    const { host, pid } = processName();
    const { name = `${host}:${pid}`, serves, places } = this.#of;
    const row = {
      name,
      host,
      pid,
      startedAt: this.#startedAt,
      seenAt: now,
      serves,
      places,
      active,
    };
    const value = encodeWorker({ workerId: this.#cell.name, isAlive: true, ...row });
    await this.#change([{ ...this.#cell, value }]);
    const from = this.#runtime.elapsed();
    const cells = await workerCells(this.#store);
    const dead = new Set(this.#watch.look(cells, from, this.#runtime.elapsed()));
    for (const cell of dead) await this.#remove(cell);
    const living = cells.filter((cell) => !dead.has(cell)).map((cell) => workerOf(cell, now));
    this.#showed();
    this.#fleet = new Fleet(living.filter((row): row is WorkerRow => row !== undefined));
  }

  async #change(cells: CellsEntry["cells"]): Promise<void> {
    await this.#store.cells.write({ writeId: this.#runtime.uuid(), cells });
  }

  async #remove({ space, name, version }: Cell): Promise<void> {
    try {
      await this.#change([{ space, name, version, value: null }]);
    } catch (error) {
      if (!isSuperstepError(error, "CELL_CONFLICT")) throw error;
    }
  }

  /** Names the open runs that nobody serves, a line for each version. */
  async #report(signal: AbortSignal): Promise<void> {
    const stranded = new Map<string, { graphId: string; graphVersion: string; runs: string[] }>();
    let cursor: string | undefined;
    do {
      if (signal.aborted) return;
      const query = { activity: "stranded", limit: PAGE, ...defined({ cursor }) } as const;
      const page = await listRuns(this.#store, query, this.#runtime.now());
      for (const { runId, graphId, graphVersion } of page.rows) {
        const key = `${graphId}\n${graphVersion}`;
        const of = stranded.get(key) ?? { graphId, graphVersion, runs: [] };
        stranded.set(key, of);
        of.runs.push(runId);
      }
      ({ cursor } = page);
    } while (cursor !== undefined);
    for (const { graphId, graphVersion, runs } of stranded.values()) {
      this.#logger.warn(
        `superstep: no living worker serves version ${graphVersion} of graph ${graphId}, of which ${runs.length} ` +
          `${runs.length === 1 ? "run is" : "runs are"} open, such as ${runs.slice(0, 3).join(", ")}; ` +
          `start a worker with that code, bring them to another version with superstep migrate, or cancel them`,
        { graphId, graphVersion, runs: runs.length },
      );
    }
  }
}

const HOUR_MS = 3_600_000;
const PAGE = 1_000;
