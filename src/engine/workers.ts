import { BEAT_MS, LEASE_MS } from "./owner_watch.ts";
import type { Cell, CellName, Store } from "../store/store.ts";

/**
 * A worker that serves a store, as it has last said itself.
 *
 * @example
 * ```ts ignore
 * for (const { name, active, places, isAlive } of await runner.workers()) {
 *   console.log(name, `${active} of ${places}`, isAlive ? "" : "silent");
 * }
 * ```
 */
export interface WorkerRow {
  /** What it gave itself. */
  readonly workerId: string;
  /** What its `serve` was given, or host and process id. */
  readonly name: string;
  /** The machine. */
  readonly host: string;
  /** The process on that machine. */
  readonly pid: number;
  /** When it started, in milliseconds since the epoch. */
  readonly startedAt: number;
  /** When it last gave a sign of life, by its own clock; it does so every 5 s. */
  readonly seenAt: number;
  /** Whether that is less than 15 s ago by the clock of the reader. */
  readonly isAlive: boolean;
  /** The versions of graphs whose runs it works on. */
  readonly serves: readonly { readonly graphId: string; readonly graphVersion: string }[];
  /** How many runs it works on at once at the most. */
  readonly places: number;
  /** How many places were taken when it gave that sign of life. */
  readonly active: number;
}

const SPACE = "workers";

/** The cell of a worker. Whoever lives writes it anew with each beat; that of a dead one is removed by those who live. */
export function workerCell(workerId: string): CellName {
  return { space: SPACE, name: workerId };
}

/** What the cell of a worker holds. */
export function encodeWorker({ workerId: _, isAlive: __, ...row }: WorkerRow): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(row));
}

/** All cells of workers. */
export async function workerCells(store: Store, signal?: AbortSignal): Promise<readonly Cell[]> {
  const cells: Cell[] = [];
  for (;;) {
    const after = cells.at(-1)?.name;
    const query = after === undefined ? { limit: PAGE } : { after, limit: PAGE };
    const page = await store.cells.list(SPACE, query, signal === undefined ? {} : { signal });
    cells.push(...page);
    if (page.length < PAGE) return cells;
  }
}

const PAGE = 1_000;

/** What a cell says; undefined where it is not one that this version wrote. */
export function workerOf({ name: workerId, value }: Cell, now: number): WorkerRow | undefined {
  try {
    const row = JSON.parse(new TextDecoder().decode(value)) as Omit<WorkerRow, "workerId" | "isAlive">;
    if (!Array.isArray(row.serves)) return undefined;
    return { ...row, workerId, isAlive: Math.abs(now - row.seenAt) < LEASE_MS };
  } catch {
    return undefined;
  }
}

/** The workers of a store, the oldest first; a dead one until others that live have removed it. */
export async function workersOf(store: Store, now: number): Promise<readonly WorkerRow[]> {
  const rows = (await workerCells(store)).map((cell) => workerOf(cell, now));
  return rows.filter((row) => row !== undefined).sort((a, b) => a.startedAt - b.startedAt);
}

/**
 * Who is watched: a worker whose cell has not changed for a lease is dead. As with owners, no clock of another proves
 * anything, and silence counts only while the store answers and this process moves.
 */
export class WorkerWatch {
  #seen = new Map<string, { readonly version: string; silentMs: number }>();
  #lookedAt: number | undefined;

  /** Those that are dead by what was seen up to now. `elapsed`: when the cells were asked for, and when they came. */
  look(cells: readonly Cell[], from: number, to: number): readonly Cell[] {
    const slow = to - from >= BEAT_MS;
    const gap = slow ? 0 : Math.min(1.5 * BEAT_MS, from - (this.#lookedAt ?? from));
    this.#lookedAt = from;
    const before = slow ? new Map() : this.#seen;
    this.#seen = new Map(cells.map(({ name, version }) => {
      const known = before.get(name);
      const silentMs = known?.version === version ? known.silentMs + gap : 0;
      return [name, { version, silentMs }];
    }));
    return cells.filter(({ name }) => this.#seen.get(name)!.silentMs >= LEASE_MS);
  }

  /** Nothing that was watched counts. */
  forget(): void {
    this.#seen.clear();
  }
}

/** Who lives, and which versions of graphs they serve. */
export class Fleet {
  readonly #graphs = new Map<string, Set<string>>();

  constructor(workers: readonly WorkerRow[]) {
    for (const { graphId, graphVersion } of workers.flatMap(({ serves }) => serves)) {
      this.#graphs.set(graphId, (this.#graphs.get(graphId) ?? new Set()).add(graphVersion));
    }
  }

  /** Whether anybody lives at all. */
  get isEmpty(): boolean {
    return this.#graphs.size === 0;
  }

  serves(graphId: string, graphVersion: string): boolean {
    return this.#graphs.get(graphId)?.has(graphVersion) === true;
  }

  /** The versions of a graph that somebody serves. */
  versionsOf(graphId: string): readonly string[] {
    return [...this.#graphs.get(graphId) ?? []];
  }

  /** Whether a run of one version that has begun no body moves to another one. */
  mayMove(graphId: string, from: string, to: string): boolean {
    const [old, next] = [userVersion(from), userVersion(to)];
    return next > old || (next === old && from !== to && !this.serves(graphId, from));
  }
}

/** The living workers of a store, by the clocks of both. */
export async function fleetOf(store: Store, now: number): Promise<Fleet> {
  return new Fleet((await workersOf(store, now)).filter(({ isAlive }) => isAlive));
}

/** The number that a workflow gives itself, which its graph version ends with. */
export function userVersion(graphVersion: string): number {
  return Number(graphVersion.slice(graphVersion.lastIndexOf(":") + 1));
}
