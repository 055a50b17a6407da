import { isSuperstepError, UNREADABLE } from "../../errors.ts";
import { partsOf, SEPARATOR } from "../../model/flow.ts";
import type { RunnerDeps } from "../runner_deps.ts";
import { displace } from "./displace.ts";
import { permitPrefix } from "./names.ts";
import { bytesOf, countIn, countName, holderName, type PermitCount } from "./permits.ts";

/**
 * Rights what processes that ended did not come to do: a free permit beside a queue is given on, a run whose place was taken
 * is cancelled, a holder that is no more counts no more, and counts that nobody uses are removed.
 */
export class Sweeper<S> {
  readonly #deps: RunnerDeps<S>;
  /** The version that each count of a queue had when it was seen first. */
  #seen = new Map<string, Seen>();
  #after: string | undefined;

  constructor(deps: RunnerDeps<S>) {
    this.#deps = deps;
  }

  async sweep(): Promise<void> {
    const { flow: { rules }, graph } = this.#deps;
    if (rules === undefined) return;
    const seen = new Map<string, Seen>();
    for (const kind of ["singleton", "concurrency"] as const) {
      const prefix = permitPrefix(kind, graph.id);
      let after: string | undefined;
      for (;;) {
        const [first] = await this.#deps.store.cells.list("queue", {
          prefix,
          limit: 1,
          ...(after === undefined ? {} : { after }),
        });
        if (first === undefined) break;
        const { permit } = partsOf(first.name);
        await this.#right(permit, seen);
        after = `${permit}${SEPARATOR}${LAST_CLASS}`;
      }
    }
    this.#seen = seen;
    await this.#removeUnused();
  }

  async #right(permit: string, seen: Map<string, Seen>): Promise<void> {
    const { flow, store, runtime } = this.#deps;
    await flow.passOn([permit]);
    if (permit.startsWith("singleton/") && flow.rules?.singleton?.onConflict === "cancel") {
      const places = await store.cells.list("queue", { prefix: `${permit}${SEPARATOR}`, limit: 1_000 });
      const newest = places.map(({ name }) => partsOf(name)).sort((a, b) =>
        a.since - b.since || (a.runId < b.runId ? -1 : 1)
      ).at(-1);
      if (newest !== undefined) await displace(this.#deps, permit, newest);
    }
    const [cell] = await store.cells.read([countName(permit)]);
    const version = cell?.version ?? null;
    const before = this.#seen.get(permit);
    const now = runtime.elapsed();
    const since = before?.version === version ? before.since : now;
    seen.set(permit, { version, since });
    if (now - since < STUCK_MS) return;
    await this.#recount(permit);
    await flow.passOn([permit]);
  }

  /** Counts the holders of a permit that has not moved for long: some may be no more, or for nobody to come for. */
  async #recount(permit: string): Promise<void> {
    const { store, log, runtime, flow } = this.#deps;
    const [cell] = await store.cells.read([countName(permit)]);
    const { version, ...count } = countIn(permit, cell!, runtime.now());
    const prefix = `${permit}${SEPARATOR}`;
    const holders = (await store.cells.list("holder", { prefix, limit: 1_000 })).map(({ name }) =>
      name.slice(prefix.length)
    );
    const gone: string[] = [];
    for (const runId of holders) {
      try {
        const cursor = await log.load(runId, { state: false });
        const { run } = cursor?.checkpoint ?? {};
        const given = cursor?.mailbox.content.granted?.some((g) =>
          g.permit === permit && g.freed === undefined
        );
        if (given === true && run?.owner === undefined) await flow.takeBack(permit, run!);
        else if (given !== true && !run?.permits?.some((grant) => grant.permit === permit)) gone.push(runId);
      } catch (error) {
        // What cannot be read may be held.
        if (!isSuperstepError(error, ...UNREADABLE)) throw error;
      }
    }
    if (gone.length === 0 || holders.length === 1_000) return;
    const removed = gone.slice(0, MAX_AT_ONCE);
    const { limit, n } = count;
    const next: PermitCount = { limit, n: n + 1, held: holders.length - removed.length, at: runtime.now() };
    try {
      await store.cells.write({
        writeId: runtime.uuid(),
        cells: [
          { ...countName(permit), version, value: bytesOf(next) },
          ...removed.map((runId) => ({ ...holderName(permit, runId), value: null })),
        ],
      });
    } catch (error) {
      if (!isSuperstepError(error, "CELL_CONFLICT")) throw error;
    }
  }

  /** Removes some of the counts of which nobody has held anything for long. */
  async #removeUnused(): Promise<void> {
    const { store, runtime, graph } = this.#deps;
    const until = runtime.now() - UNUSED_MS;
    for (const kind of ["singleton", "concurrency"] as const) {
      const prefix = permitPrefix(kind, graph.id);
      const after = this.#after?.startsWith(prefix) ? { after: this.#after } : {};
      const cells = await store.cells.list("permit", { prefix, limit: BATCH, ...after });
      for (const cell of cells) {
        const { held, at } = countIn(cell.name, cell, until);
        if (held > 0 || at > until) continue;
        const { space, name, version } = cell;
        const remove = { writeId: runtime.uuid(), cells: [{ space, name, version, value: null }] };
        await store.cells.write(remove).catch((error) => {
          if (!isSuperstepError(error, "CELL_CONFLICT")) throw error;
        });
      }
      this.#after = cells.length === BATCH ? cells.at(-1)!.name : undefined;
      if (this.#after !== undefined) return;
    }
  }
}

interface Seen {
  readonly version: string | null;
  readonly since: number;
}

/** Behind the last class of a queue. */
const LAST_CLASS = "9";
/** How long a permit that others wait for may be as it is before its holders are looked at. */
const STUCK_MS = 60_000;
const UNUSED_MS = 3_600_000;
const BATCH = 100;
const MAX_AT_ONCE = 15;
