import type { Logger } from "../engine/events.ts";
import { runIdOf } from "../engine/ids.ts";
import { BEAT_MS } from "../engine/owner_watch.ts";
import {
  type FoundMark,
  markChange,
  readMark,
  type ScheduleMark,
  type TickFate,
} from "../engine/schedule_marks.ts";
import { WITH_CELLS } from "../engine/starts.ts";
import { fleetOf, userVersion } from "../engine/workers.ts";
import { ArgumentError, isSuperstepError, reasonOf } from "../errors.ts";
import type { CompiledSchedule } from "../model/definition.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { systemRuntime } from "../runtime/system.ts";
import { Alarm } from "../runtime/alarm.ts";
import { pause } from "./backoff.ts";
import type { Presence } from "./presence.ts";
import type { ServedRunner } from "./worker.ts";

/**
 * Starts the runs of one schedule.
 *
 * 1. A mark in the store says up to which tick every one has its fate. The record that begins the run of a tick sets the
 *    mark in its own atomic step, and demands that nobody else has set it: no tick is started twice or forgotten, whatever
 *    is purged, restarted or late.
 * 2. A tick is missed when nobody dealt with it within a minute; `onMissed` says what becomes of those.
 * 3. Without a mark nothing is missed: the schedule begins with this worker, or behind the newest run that it finds.
 * 4. While a worker lives that serves the user version of the mark, one of a lower version starts nothing.
 * 5. A mark that lies more than a day ahead was set by a clock that was wrong: it is lowered, the one case in which a tick
 *    may be started again.
 */
export class Scheduler {
  readonly #runner: ServedRunner;
  readonly #schedule: CompiledSchedule;
  readonly #runtime: Runtime;
  readonly #logger: Logger;
  readonly #presence: Pick<Presence, "isSeen">;
  readonly #alarm: Alarm;
  readonly #version: number;
  readonly #begun: number;

  constructor(
    runner: ServedRunner,
    schedule: CompiledSchedule,
    runtime: Runtime,
    logger: Logger,
    presence: Pick<Presence, "isSeen">,
  ) {
    this.#runner = runner;
    this.#schedule = schedule;
    this.#runtime = runtime;
    this.#logger = logger;
    this.#presence = presence;
    this.#alarm = new Alarm(runtime);
    this.#version = userVersion(runner.graph.version);
    this.#begun = runtime.now();
  }

  async run(signal: AbortSignal): Promise<void> {
    let faults = 0;
    // Those that live must know of this one before it takes a schedule over from them.
    await this.#presence.isSeen;
    while (!signal.aborted) {
      let wait: number;
      try {
        wait = await this.#step();
        faults = 0;
      } catch (error) {
        if (isSuperstepError(error, "CELL_CONFLICT")) continue; // Another worker has dealt with it.
        wait = pause({ firstMs: 500, longestMs: 30_000 }, ++faults, this.#runtime.random());
        this.#warn("cannot be followed, and is tried again", error);
      }
      // The clock may be set while this sleeps.
      if (wait > 0) await this.#alarm.sleep(Math.min(wait, LONGEST_SLEEP_MS), this.#alarm.rings, signal);
    }
  }

  /** Deals with one tick, or a row of missed ones; answers for how long nothing else is due. */
  async #step(): Promise<number> {
    const { graph, store } = this.#runner;
    const found = await readMark(store, graph.id, this.#schedule.id);
    const { mark } = found;
    if (mark !== undefined && mark.version > this.#version && await this.#isServed(mark.version)) {
      return BEAT_MS;
    }
    const taken = await this.#takenOver(mark);
    if (taken !== undefined) return await this.#write(found, taken);
    const current = mark!;
    const now = this.#runtime.now();
    const { left, due } = this.#due(current.tick, now);
    if (left.length > 0) return await this.#write(found, withFates(current, left, "missed"));
    if (due !== undefined) return await this.#deal({ ...found, mark: current }, due);
    const [queued] = current.queue;
    if (queued !== undefined && !current.paused && !await this.#isLive(current)) {
      const { queue, ...rest } = current;
      return await this.#start({ ...found, mark: { ...rest, queue: queue.slice(1) } }, queued, current.tick);
    }
    const next = this.#schedule.next(Math.max(current.tick, now));
    return Math.min(queued === undefined ? Infinity : QUEUE_MS, Math.max(1, (next ?? Infinity) - now));
  }

  /** The mark as this worker takes it over; undefined when it follows it already. */
  async #takenOver(mark: ScheduleMark | undefined): Promise<ScheduleMark | undefined> {
    const { id: scheduleId, expression, timezone } = this.#schedule;
    const now = this.#runtime.now();
    const own = { graphId: this.#runner.graph.id, scheduleId, expression, timezone, version: this.#version };
    if (mark === undefined) {
      const tick = Math.min(await this.#newest() ?? this.#begun, now);
      return { ...own, tick, paused: false, queue: [], fates: [] };
    }
    if (mark.tick - now > DAY_MS) {
      this.#warn(
        "goes on at once",
        `its newest tick, ${new Date(mark.tick).toISOString()}, lies ahead of the clock`,
      );
      return { ...mark, ...own, tick: now };
    }
    const follows = mark.version === own.version && mark.expression === expression &&
      mark.timezone === timezone;
    return follows ? undefined : { ...mark, ...own };
  }

  async #isServed(version: number): Promise<boolean> {
    const { graph, store } = this.#runner;
    const fleet = await fleetOf(store, this.#runtime.now());
    return fleet.versionsOf(graph.id).some((served) => userVersion(served) === version);
  }

  /** The ticks that are left out now, and the next one to be dealt with. */
  #due(past: number, now: number): { readonly left: readonly number[]; readonly due: number | undefined } {
    const { between, onMissed } = this.#schedule;
    const late = now - LATE_MS;
    const missed = past < late ? between(past, late, MOST) : [];
    const wanted = onMissed === "all" ? missed : onMissed === "one" ? missed.slice(-1) : [];
    const left = missed.slice(0, missed.length - wanted.length);
    return { left, due: wanted[0] ?? between(Math.max(past, late), now, MOST)[0] };
  }

  /** Starts the run of a tick, or records why there is none. */
  async #deal(found: FoundMark & { readonly mark: ScheduleMark }, tick: number): Promise<number> {
    const { mark } = found;
    const { overlap } = this.#schedule;
    if (mark.paused) return await this.#write(found, withFates(mark, [tick], "paused"));
    if (overlap === "allow") return await this.#start(found, tick);
    const isBehind = mark.queue.length > 0;
    if (!isBehind && !await this.#isLive(mark)) return await this.#start(found, tick);
    if (overlap === "cancel") {
      await this.#runner.cancel?.(mark.runId!, "the schedule starts its next run");
      return await this.#start(found, tick);
    }
    const most = overlap === "queue" ? MOST : overlap === "queueOne" ? 1 : 0;
    if (mark.queue.length >= most) return await this.#write(found, withFates(mark, [tick], "skipped"));
    return await this.#write(found, { ...withFates(mark, [tick], "queued"), queue: [...mark.queue, tick] });
  }

  /** Whether the run that was started last is there and not over. */
  async #isLive({ runId }: ScheduleMark): Promise<boolean> {
    if (runId === undefined) return false;
    try {
      const { status } = await this.#runner.status(runId);
      return status !== "completed" && status !== "cancelled";
    } catch (error) {
      if (isSuperstepError(error, "CHECKPOINT_NOT_FOUND")) return false;
      throw error;
    }
  }

  async #start(
    found: FoundMark & { readonly mark: ScheduleMark },
    tick: number,
    upTo: number = tick,
  ): Promise<number> {
    const { id, input } = this.#schedule;
    const at = new Date(tick).toISOString();
    const idempotencyKey = `schedule/${id}/${at}`;
    const runId = runIdOf(this.#runner.graph.id, idempotencyKey);
    const started = { ...withFates({ ...found.mark, runId }, [tick], "started", runId), tick: upTo };
    try {
      const submitted: { readonly runId: string; readonly created?: boolean; readonly skipped?: true } =
        await this.#runner
          .submit(input(new Date(tick)), {
            idempotencyKey,
            tags: [scheduleTag(this.#schedule), `tick:${at}`],
            ...{ [WITH_CELLS]: [markChange(found, started)] },
          });
      if (submitted.skipped === true) {
        return await this.#write(found, { ...withFates(found.mark, [tick], "skipped"), tick: upTo });
      }
      // It was there before: begun without a mark, or under one that was lowered.
      return submitted.created === false ? await this.#write(found, started) : 0;
    } catch (error) {
      if (isSuperstepError(error, "STORE") || isSuperstepError(error, "CELL_CONFLICT")) throw error;
      // Somebody has started it with another input; or no input of it can be accepted, and never will be.
      if (isSuperstepError(error, "RUN_EXISTS")) return await this.#write(found, started);
      this.#warn(`starts no run at ${at}`, error);
      return await this.#write(found, { ...withFates(found.mark, [tick], "refused"), tick: upTo });
    }
  }

  async #write(found: FoundMark, mark: ScheduleMark): Promise<number> {
    await this.#runner.store.cells.write({ writeId: this.#runtime.uuid(), cells: [markChange(found, mark)] });
    return 0;
  }

  /** The newest tick that has a run in the store: of a schedule that was followed before there were marks. */
  async #newest(): Promise<number | undefined> {
    const { graph, store } = this.#runner;
    const { rows } = await store.list({ graphId: graph.id, tag: scheduleTag(this.#schedule), limit: 10 });
    const ticks = rows.flatMap(({ tags }) => tags.map(tickOfTag)).filter((tick) => tick !== undefined);
    return ticks.length === 0 ? undefined : Math.max(...ticks);
  }

  #warn(what: string, error: unknown): void {
    const { id, expression } = this.#schedule;
    const graphId = this.#runner.graph.id;
    this.#logger.warn(`superstep: schedule ${expression} of graph ${graphId} ${what}: ${reasonOf(error)}`, {
      graphId,
      schedule: id,
    });
  }
}

/** The mark once these ticks have that fate. */
function withFates(
  mark: ScheduleMark,
  ticks: readonly number[],
  fate: TickFate["fate"],
  runId?: string,
): ScheduleMark {
  const fates = ticks.map((tick): TickFate => ({ tick, fate, ...(runId === undefined ? {} : { runId }) }));
  return { ...mark, tick: Math.max(mark.tick, ...ticks), fates: [...fates.reverse(), ...mark.fates] };
}

/**
 * Starts a run of a schedule now, whatever its ticks. With `overlap` other than `allow` the next tick minds it.
 *
 * @throws {ArgumentError} the workflow has no such schedule
 *
 * @example
 * ```ts ignore
 * const { runId } = await runSchedule(compile(Report, { store }), "mornings");
 * ```
 */
export async function runSchedule(
  runner: ServedRunner,
  scheduleId: string,
  runtime: Runtime = systemRuntime,
): Promise<{ readonly runId: string }> {
  const { graph, store } = runner;
  const schedule = (graph.schedules ?? []).find(({ id }) => id === scheduleId);
  if (schedule === undefined) {
    const known = (graph.schedules ?? []).map(({ id }) => id).join(", ");
    const hint = known === "" ? "it has none" : `it has ${known}`;
    throw new ArgumentError("runSchedule", `graph ${graph.id} has no schedule ${scheduleId}; ${hint}`);
  }
  const now = runtime.now();
  const runId = runtime.uuid();
  for (;;) {
    const found = await readMark(store, graph.id, scheduleId);
    const fates = [{ tick: now, fate: "started", runId } as const, ...found.mark?.fates ?? []];
    const cells = found.mark === undefined ? [] : [markChange(found, { ...found.mark, runId, fates })];
    try {
      const options = {
        runId,
        tags: [scheduleTag(schedule)],
        ...(cells.length === 0 ? {} : { [WITH_CELLS]: cells }),
      };
      return { runId: (await runner.submit(schedule.input(new Date(now)), options)).runId };
    } catch (error) {
      if (!isSuperstepError(error, "CELL_CONFLICT")) throw error;
    }
  }
}

/**
 * The schedules to follow: of a graph that is served in several versions those of the newest, by the number that its
 * workflow gives itself.
 */
export function schedulesOf(
  runners: Iterable<ServedRunner>,
): readonly { readonly runner: ServedRunner; readonly schedule: CompiledSchedule }[] {
  const newest = new Map<string, ServedRunner>();
  for (const runner of runners) {
    const known = newest.get(runner.graph.id);
    const isNewer = known === undefined ||
      userVersion(runner.graph.version) > userVersion(known.graph.version);
    if (isNewer) newest.set(runner.graph.id, runner);
  }
  return [...newest.values()].flatMap((runner) =>
    (runner.graph.schedules ?? []).map((schedule) => ({ runner, schedule }))
  );
}

/** The tag of every run of a schedule. */
function scheduleTag({ id }: CompiledSchedule): string {
  return `schedule:${id}`;
}

function tickOfTag(tag: string): number | undefined {
  const tick = tag.startsWith("tick:") ? Date.parse(tag.slice("tick:".length)) : NaN;
  return Number.isNaN(tick) ? undefined : tick;
}

/** A tick that is older was missed. */
const LATE_MS = 60_000;
/** The most ticks that are caught up, or queued, at once. */
const MOST = 100;
const LONGEST_SLEEP_MS = 60_000;
const DAY_MS = 86_400_000;
/** How often a run is looked at that ticks are queued behind. */
const QUEUE_MS = 1_000;
