import type { CheckpointLog } from "../../checkpoint/log.ts";
import { dueAtOnce, type Mailbox, type PostedGrant } from "../../checkpoint/mailbox.ts";
import type { RecordEvent } from "../../checkpoint/records.ts";
import { isSuperstepError } from "../../errors.ts";
import {
  classOf,
  type CompiledFlow,
  partsOf,
  placeOf,
  PRIORITIES,
  type Queued,
  SEPARATOR,
} from "../../model/flow.ts";
import type { RunRecord } from "../../model/run.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import type { Cell, CellChange, Store } from "../../store/store.ts";
import type { Ownership } from "../ownership.ts";
import { graphOfPermit, permitPrefix } from "./names.ts";
import {
  bytesOf,
  countIn,
  countName,
  freeing,
  granting,
  placeName,
  type SeenCount,
  throttleName,
  timesIn,
} from "./permits.ts";
import { turnsOf } from "./turns.ts";

/** What stands in the way of a run, or does not. */
export interface Admission {
  /** What its record says of permits, and that it is queued. */
  readonly events: readonly RecordEvent[];
  /** What the record demands and changes. */
  readonly cells: readonly CellChange[];
  /** What it has to wait for. */
  readonly queued?: Queued;
  /** The run that a start is answered with instead of a new one. */
  readonly live?: string;
  /** The singleton's permit whose holder is to be cancelled, and whoever waits before the new run. */
  readonly displaces?: string;
  /** Permits that others may get once the record is there. */
  readonly passOn: readonly string[];
}

/** A run as far as limits are concerned. */
export type LimitedRun = Pick<RunRecord, "runId" | "flow" | "permits" | "queued" | "startedAt">;

/** What the mailbox of a run says of its limits. */
export type FlowMail = Pick<Mailbox, "queue" | "granted">;

/** After so long in a queue a run counts one class higher. */
export const AGEING_MS = 60_000;

/**
 * The limits of a graph.
 *
 * 1. A permit is granted by the op that claims a run, or that has it woken when its turn has come; it is returned by the op
 *    that releases or ends the run. Each sets the count of the permit, which all of them demand as they saw it.
 * 2. A run is queued by an op that demands the count as it was seen, so that a permit that is returned meanwhile refuses it.
 *    Whoever returns one looks into the queue afterwards: one of the two sees the other.
 * 3. What a process did not come to do for the queue is done by the sweeper.
 */
export class Flow {
  readonly #graphId: string;
  readonly #store: Store;
  readonly #log: CheckpointLog<unknown>;
  readonly #runtime: Runtime;
  readonly #ownership: Ownership;

  constructor(
    graphId: string,
    readonly rules: CompiledFlow | undefined,
    store: Store,
    log: CheckpointLog<unknown>,
    runtime: Runtime,
    ownership: Ownership,
  ) {
    this.#graphId = graphId;
    this.#store = store;
    this.#log = log;
    this.#runtime = runtime;
    this.#ownership = ownership;
  }

  /** Waits until nobody else in this process changes what limits a run; what it answers ends that. */
  turn({ flow = {} }: LimitedRun): Promise<() => void> {
    const { concurrency, throttle, singleton } = flow;
    return turnsOf(this.#store).take([concurrency, throttle, singleton].filter((name) => name !== undefined));
  }

  /**
   * Finds what a run needs to be at work, or what it has to wait for.
   *
   * @param mail its place, and the permits that it was given
   * @param how `claimed`: it is at work afterwards, as one that is new and `begun`; a new one may also be `stored` for
   *   others, or for `later`: then it needs no more than a place of its own
   */
  async admit(
    run: LimitedRun,
    mail: FlowMail,
    now: number,
    how: "claimed" | "begun" | "stored" | "later",
  ): Promise<Admission> {
    const { rules = {} } = this;
    const { runId, flow = {} } = run;
    const events = takenIn(mail);
    const cells: CellChange[] = [];
    const held = heldBy(run, mail);
    const done = (patch: Partial<Admission> = {}): Admission => {
      const before = mail.queue;
      const after = patch.queued === undefined || patch.queued.until !== undefined
        ? undefined
        : placeOf(runId, flow, patch.queued);
      if (before !== undefined && before !== after) cells.push({ ...placeName(before), value: null });
      if (after !== undefined) cells.push({ ...placeName(after), value: bytesOf({}) });
      if (patch.queued !== undefined) events.push({ type: "queued", ...patch.queued });
      return { events, cells, passOn: [], ...patch };
    };
    const wait = (count: SeenCount, isBehind: boolean) => {
      const { permit, version } = count;
      cells.push({ ...countName(permit), version });
      const place = mail.queue === undefined ? undefined : partsOf(mail.queue);
      const since = place?.permit === permit ? place.since : Math.floor(now);
      return done({ queued: { permit, since }, passOn: isBehind ? [permit] : [] });
    };
    const grant = (count: SeenCount, limit: number) => {
      const made = granting(count, runId, limit, now);
      events.push({ type: "granted", ...made.grant });
      cells.push(...made.cells);
    };

    const { singleton, throttle, concurrency } = flow;
    if (singleton !== undefined && rules.singleton !== undefined && !held.includes(singleton)) {
      const { count, state } = await this.#look(singleton, 1, run, now);
      if (state !== "free") {
        const { onConflict } = rules.singleton;
        const { holder } = count;
        const isNew = how !== "claimed";
        if (isNew && onConflict === "skip" && holder !== undefined) return done({ live: holder });
        const admission = wait(count, state === "behind");
        return isNew && onConflict === "cancel" ? { ...admission, displaces: singleton } : admission;
      }
      grant(count, 1);
    }
    if (how === "later") return done();
    const begins = throttle !== undefined && rules.throttle !== undefined && run.startedAt === undefined
      ? await this.#begin(throttle, rules.throttle, run, how === "stored", now)
      : undefined;
    if (begins?.until !== undefined) {
      cells.push(begins.cell);
      const permit = throttle!;
      // Whoever waits by time lets others work meanwhile.
      const given = concurrency !== undefined && held.includes(concurrency) ? [concurrency] : [];
      for (const count of await this.#counts(given, now)) {
        const made = freeing(count, runId, now);
        events.push({ type: "freed", ...made.freed });
        cells.push(...made.cells);
      }
      const since = run.queued?.permit === permit ? run.queued.since : Math.floor(now);
      return done({ queued: { permit, since, until: begins.until }, passOn: given });
    }
    if (concurrency !== undefined && rules.concurrency !== undefined && !held.includes(concurrency)) {
      const { limit } = rules.concurrency;
      const { count, state } = await this.#look(concurrency, limit, run, now);
      if (state !== "free") return wait(count, state === "behind");
      grant(count, limit);
    }
    if (begins !== undefined) cells.push(begins.cell);
    return done();
  }

  /** What a record that releases or ends a run says of its permits, and changes. */
  async leave(
    run: LimitedRun,
    mail: FlowMail,
    status: "over" | "waiting" | "running",
    now: number,
  ): Promise<Admission> {
    const { runId, flow = {} } = run;
    const events = takenIn(mail);
    const cells: CellChange[] = [];
    const keeps = (permit: string) =>
      status !== "over" &&
      (permit === flow.singleton ||
        (status === "waiting" && this.rules?.concurrency?.holdWhileWaiting === true));
    const given = heldBy(run, mail).filter((each) => !keeps(each));
    for (const count of await this.#counts(given, now)) {
      const made = freeing(count, runId, now);
      events.push({ type: "freed", ...made.freed });
      cells.push(...made.cells);
    }
    if (mail.queue !== undefined) cells.push({ ...placeName(mail.queue), value: null });
    return { events, cells, passOn: given };
  }

  /** Gives what is free of these permits to those that wait for it, the first ones first. */
  async passOn(permits: readonly string[]): Promise<void> {
    for (const permit of permits) {
      for (let tries = 0; tries < MAX_TRIES; tries++) {
        const end = await turnsOf(this.#store).take([permit]);
        try {
          if (!await this.#give(permit)) break;
          tries = 0;
        } catch (error) {
          if (!isSuperstepError(error, "CELL_CONFLICT", "MAILBOX_CONFLICT")) throw error;
        } finally {
          end();
        }
      }
    }
  }

  /**
   * Takes a permit back from a run for which nobody has come since it was given, as where no worker has its code: it waits
   * again, behind the others.
   */
  async takeBack(permit: string, run: LimitedRun): Promise<void> {
    const { runId, flow = {} } = run;
    const now = Math.floor(this.#runtime.now());
    const [count] = await this.#counts([permit], now);
    const { head, mailbox } = await this.#store.inspect(runId, 0, undefined);
    if (head === null || mailbox === null) return;
    const { freed, cells } = freeing(count!, runId, now);
    const place = placeOf(runId, flow, { permit, since: now });
    try {
      await this.#log.post(runId, head.position.epoch, mailbox, ({ wake: _, ...content }) => {
        const isGiven = (grant: PostedGrant) => grant.permit === permit && grant.freed === undefined;
        if (content.owner !== undefined || !content.granted?.some(isGiven)) throw new NotQueued();
        const granted = content.granted.map((grant) => isGiven(grant) ? { ...grant, freed: freed.n } : grant);
        const wake = content.deadline === undefined ? {} : { wake: content.deadline };
        return {
          mailbox: { ...content, ...wake, granted, queue: place },
          closed: [],
          graphId: graphOfPermit(permit),
          cells: [...cells, { ...placeName(place), value: bytesOf({}) }],
        };
      });
    } catch (error) {
      const isMoved = error instanceof NotQueued ||
        isSuperstepError(error, "CELL_CONFLICT", "MAILBOX_CONFLICT");
      if (!isMoved) throw error;
    }
  }

  /** Takes a permit from a run that is no more. */
  async forget(permit: string, runId: string): Promise<void> {
    const now = this.#runtime.now();
    const [count] = await this.#counts([permit], now);
    if (count?.holder !== runId) return;
    const { cells } = freeing(count, runId, now);
    try {
      await this.#store.cells.write({ writeId: this.#runtime.uuid(), cells });
    } catch (error) {
      if (!isSuperstepError(error, "CELL_CONFLICT")) throw error;
    }
  }

  /** The most holders of a permit: as this code says, or, of another graph, as whoever counted last did. */
  limitOf({ permit, limit }: Pick<SeenCount, "permit" | "limit">): number {
    if (permit.startsWith("singleton/")) return 1;
    if (!permit.startsWith(permitPrefix("concurrency", this.#graphId))) return limit;
    return this.rules?.concurrency?.limit ?? Infinity;
  }

  /** Gives a permit to the first one that waits for it; false when there is none, or none is free. */
  async #give(permit: string): Promise<boolean> {
    const now = this.#runtime.now();
    const [count] = await this.#counts([permit], now);
    const limit = this.limitOf(count!);
    if (count!.held >= limit) return false;
    const first = await this.#first(permit, now);
    if (first === undefined) return false;
    const { runId } = partsOf(first.name);
    const { head, mailbox } = await this.#store.inspect(runId, 0, undefined);
    if (head === null || mailbox === null) return await this.#remove(first);
    const { grant, cells } = granting(count!, runId, Math.min(limit, MAX_LIMIT), now);
    try {
      await this.#log.post(runId, head.position.epoch, mailbox, ({ queue, ...content }) => {
        if (queue !== first.name) throw new NotQueued();
        return {
          mailbox: { ...content, granted: [...content.granted ?? [], grant], wake: dueAtOnce(now) },
          closed: [],
          graphId: graphOfPermit(permit),
          cells: [...cells, { ...placeName(first.name), version: first.version, value: null }],
        };
      });
    } catch (error) {
      if (error instanceof NotQueued) return await this.#remove(first);
      throw error;
    }
    this.#ownership.poke(runId);
    return true;
  }

  /** Removes a place that nobody has. */
  async #remove({ space, name, version }: Cell): Promise<true> {
    const cells = [{ space, name, version, value: null }];
    await this.#store.cells.write({ writeId: this.#runtime.uuid(), cells });
    return true;
  }

  /** The place whose turn comes first: by class, which time improves, and then by time. */
  async #first(permit: string, now: number): Promise<Cell | undefined> {
    const heads = await Promise.all(PRIORITIES.map(async (_, priority) => {
      const [cell] = await this.#store.cells.list("queue", { prefix: classOf(permit, priority), limit: 1 });
      return cell;
    }));
    const ranked = heads.flatMap((cell) => {
      if (cell === undefined) return [];
      const { priority, since } = partsOf(cell.name);
      const aged = Math.floor(Math.max(0, now - since) / AGEING_MS);
      return [{ cell, rank: Math.max(0, priority - aged), since }];
    });
    return ranked.sort((a, b) => a.rank - b.rank || a.since - b.since)[0]?.cell;
  }

  async #counts(permits: readonly string[], now: number): Promise<readonly SeenCount[]> {
    if (permits.length === 0) return [];
    const cells = await this.#store.cells.read(permits.map(countName));
    return permits.map((permit, i) => countIn(permit, cells[i]!, now));
  }

  /** Whether a permit can be had; `behind`: it is free, but others wait for it already. */
  async #look(
    permit: string,
    limit: number,
    run: LimitedRun,
    now: number,
  ): Promise<{ readonly count: SeenCount; readonly state: "free" | "full" | "behind" }> {
    const [count] = await this.#counts([permit], now);
    if (count!.held >= limit) return { count: count!, state: "full" };
    const waiting = await this.#store.cells.list("queue", { prefix: `${permit}${SEPARATOR}`, limit: 2 });
    const others = waiting.filter(({ name }) => partsOf(name).runId !== run.runId);
    return { count: count!, state: others.length === 0 ? "free" : "behind" };
  }

  /**
   * When a run may begin, and what the throttle holds then. One that has waited for its time goes before those that come
   * later: only what has begun is in its way.
   */
  async #begin(
    permit: string,
    { limit, perMs }: NonNullable<CompiledFlow["throttle"]>,
    { queued }: LimitedRun,
    isStored: boolean,
    now: number,
  ): Promise<{ readonly until?: number; readonly cell: CellChange }> {
    const [cell] = await this.#store.cells.read([throttleName(permit)]);
    const { begun, planned } = timesIn(cell!);
    const mine = queued?.permit === permit ? queued.until : undefined;
    const others = mine === undefined ? planned : without(planned, mine);
    const free = (times: readonly number[]) =>
      times.length < limit ? now : Math.max(now, Math.ceil(times.at(-limit)! + perMs));
    const all = [...begun, ...others].sort((a, b) => a - b);
    const isFree = !isStored && free(mine === undefined ? all : begun) <= now;
    const until = isFree ? undefined : Math.max(free(begun), free(all));
    const times = until === undefined
      ? { begun: [...begun, now].slice(-limit), planned: others }
      : { begun, planned: [...others, until].slice(-limit) };
    const value = bytesOf(times);
    return {
      ...(until === undefined ? {} : { until }),
      cell: { ...throttleName(permit), version: cell?.version ?? null, value },
    };
  }
}

function without(times: readonly number[], time: number): readonly number[] {
  const at = times.indexOf(time);
  return at < 0 ? times : times.toSpliced(at, 1);
}

/** The run that a place names does not wait there. */
class NotQueued extends Error {}

/** What the records do not say yet of the permits that a run was given. */
function takenIn({ granted = [] }: FlowMail): RecordEvent[] {
  return granted.flatMap(({ permit, n, freed }): RecordEvent[] => [
    { type: "granted", permit, n },
    ...(freed === undefined ? [] : [{ type: "freed" as const, permit, n: freed }]),
  ]);
}

/** The permits that a run holds. */
function heldBy({ permits = [] }: LimitedRun, { granted = [] }: FlowMail): string[] {
  return [...permits, ...granted.filter(({ freed }) => freed === undefined)].map(({ permit }) => permit);
}

const MAX_TRIES = 100;
/** What is stored of a limit that there is not. */
const MAX_LIMIT = 1_000_000;
