import type { Logger } from "../engine/events.ts";
import { isSuperstepError, reasonOf } from "../errors.ts";
import type { CompiledSchedule } from "../model/definition.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { Alarm } from "../runtime/alarm.ts";
import { pause } from "./backoff.ts";
import type { ServedRunner } from "./worker.ts";

/**
 * Starts the runs of one schedule.
 *
 * 1. The run of a tick has an id made of graph, schedule and tick: whoever submits it first has started it, and for
 *    everybody else there is nothing left to do.
 * 2. Which ticks have been started is told by the runs in the store, never by what this process remembers of itself.
 * 3. A tick is missed when nobody started it within a minute; `onMissed` says what becomes of those.
 * 4. Without any run of the schedule in the store nothing is missed: it begins with this worker.
 */
export class Scheduler {
  readonly #runner: ServedRunner;
  readonly #schedule: CompiledSchedule;
  readonly #runtime: Runtime;
  readonly #logger: Logger;
  readonly #alarm: Alarm;

  constructor(runner: ServedRunner, schedule: CompiledSchedule, runtime: Runtime, logger: Logger) {
    this.#runner = runner;
    this.#schedule = schedule;
    this.#runtime = runtime;
    this.#logger = logger;
    this.#alarm = new Alarm(runtime);
  }

  async run(signal: AbortSignal): Promise<void> {
    const begun = this.#runtime.now();
    let past: number | undefined;
    let faults = 0;
    while (!signal.aborted) {
      let wait: number;
      try {
        past = this.#capped(past ?? await this.#newest() ?? begun);
        for (const tick of this.#due(past)) {
          if (signal.aborted) return;
          await this.#start(tick);
          past = tick;
        }
        faults = 0;
        const next = this.#schedule.next(Math.max(past, this.#runtime.now()));
        if (next === undefined) return;
        // The clock may be set while this sleeps.
        wait = Math.min(next - this.#runtime.now(), LONGEST_SLEEP_MS);
      } catch (error) {
        wait = pause({ firstMs: 500, longestMs: 30_000 }, ++faults, this.#runtime.random());
        this.#warn("cannot be followed, and is tried again", error);
      }
      await this.#alarm.sleep(Math.max(1, wait), this.#alarm.rings, signal);
    }
  }

  /** A tick that lies ahead was started when the clock was wrong; those up to it are started again, each once. */
  #capped(past: number): number {
    const now = this.#runtime.now();
    if (past - now > LATE_MS) {
      this.#warn(
        "goes on at once",
        `its newest tick, ${new Date(past).toISOString()}, lies ahead of the clock`,
      );
    }
    return Math.min(past, now);
  }

  /** The ticks to start now, in order. */
  #due(past: number): readonly number[] {
    const { between, onMissed } = this.#schedule;
    const now = this.#runtime.now();
    const late = now - LATE_MS;
    const fresh = between(Math.max(past, late), now, MOST);
    if (onMissed === "skip" || past >= late) return fresh;
    return [...between(past, late, onMissed === "all" ? MOST : 1), ...fresh];
  }

  /** The newest tick that has a run in the store. */
  async #newest(): Promise<number | undefined> {
    const { graph, store } = this.#runner;
    const { rows } = await store.list({ graphId: graph.id, tag: scheduleTag(this.#schedule), limit: 10 });
    const ticks = rows.flatMap(({ tags }) => tags.map(tickOfTag)).filter((tick) => tick !== undefined);
    return ticks.length === 0 ? undefined : Math.max(...ticks);
  }

  async #start(tick: number): Promise<void> {
    const schedule = this.#schedule;
    const at = new Date(tick);
    try {
      await this.#runner.submit(schedule.input(at), {
        idempotencyKey: `schedule/${schedule.id}/${at.toISOString()}`,
        tags: [scheduleTag(schedule), `tick:${at.toISOString()}`],
      });
    } catch (error) {
      if (isSuperstepError(error, "STORE")) throw error;
      // Somebody has started it with another input; or no input of it can be accepted, and never will be.
      if (!isSuperstepError(error, "RUN_EXISTS")) this.#warn(`starts no run at ${at.toISOString()}`, error);
    }
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
    if (known === undefined || numberOf(runner) > numberOf(known)) newest.set(runner.graph.id, runner);
  }
  return [...newest.values()].flatMap((runner) =>
    (runner.graph.schedules ?? []).map((schedule) => ({ runner, schedule }))
  );
}

function numberOf({ graph }: ServedRunner): number {
  return Number(graph.version.slice(graph.version.lastIndexOf(":") + 1));
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
/** The most ticks that are caught up at once. */
const MOST = 100;
const LONGEST_SLEEP_MS = 60_000;
