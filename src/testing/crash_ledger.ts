import { CheckpointLog } from "../checkpoint/log.ts";
import { idempotencyKey } from "../engine/ids.ts";
import type { Duration } from "../model/durations.ts";
import type { Store } from "../store/store.ts";
import type { ClockFork, VirtualClock } from "./virtual_clock.ts";

/** What bodies under a crash test do to the world outside. */
export interface Effects {
  /** Notes that something happened under an idempotency key; nothing is noted any more once the engine is stopped. */
  happen(key: string, name?: string): void;
  /** Takes virtual time. Never ends in an engine that was stopped. */
  sleep(by: Duration): Promise<void>;
}

/** One effect, by one engine. */
interface EffectRow {
  readonly engine: number;
  readonly key: string;
  readonly name: string;
}

/** What happened in a round outside of the store, and which executions were over when an engine began. */
export class CrashLedger {
  readonly effects: EffectRow[] = [];
  readonly begun: { readonly engine: number; readonly key: string }[] = [];
  /** Keys of executions and of `once` calls with a recorded result, by the engine that began after them. */
  readonly settled = new Map<number, ReadonlySet<string>>();

  /** The effects of one engine's bodies, until it is stopped. */
  effectsOf(engine: number, runtime: ClockFork, isStopped: () => boolean): Effects {
    return {
      happen: (key, name = "") => {
        if (!isStopped()) this.effects.push({ engine, key, name });
      },
      sleep: (by) => runtime.sleep(by),
    };
  }

  /** Every distinct effect, sorted. */
  distinct(): readonly string[] {
    return [...new Set(this.effects.map(({ key, name }) => name === "" ? key : `${key} ${name}`))].sort();
  }

  /** What ran although its result was recorded before its engine began. */
  reruns(): readonly string[] {
    return [...this.begun, ...this.effects]
      .filter(({ engine, key }) => this.settled.get(engine)?.has(key))
      .map(({ key }) => key);
  }
}

/** The keys of every execution of a run that is over for good, and of every recorded `once`. */
export async function settledKeys(
  store: Store,
  clock: VirtualClock,
  graphId: string,
  runId: string,
): Promise<ReadonlySet<string>> {
  const log = new CheckpointLog<unknown>(store, clock);
  const keys = new Set<string>();
  let step = 0;
  for (let from = 0;; from += PAGE) {
    const records = await clock.hold(log.history(runId, from, PAGE));
    for (const event of records.flatMap((record) => record.events)) {
      if (event.type === "routed") step++;
      if (event.type !== "done" && event.type !== "failed" && event.type !== "once") continue;
      const key = idempotencyKey(graphId, runId, step, event.vertexId, event.item);
      if (event.type === "once") keys.add(`${key}/once=${event.name}`);
      else if (event.type === "done" || event.handler !== undefined) keys.add(key);
    }
    if (records.length < PAGE) return keys;
  }
}

const PAGE = 200;
