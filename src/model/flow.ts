import type { Duration } from "./durations.ts";

/** How urgent a run is among those that wait for the same permit. */
export type Priority = "high" | "normal" | "low";

/** At most so many runs at work. `X` is what the key is computed of: the input as the schema has completed it. */
export interface ConcurrencyOptions<X = unknown> {
  /** The most runs at work with one key, over all workers of the store. A whole number from 1. */
  readonly limit: number;
  /** What runs are counted by; computed once, when a run is started. @default all runs of the workflow together */
  readonly key?: (input: X) => string;
  /** Whether a run keeps its permit while it only waits for people or long timers. @default false */
  readonly holdWhileWaiting?: boolean;
}

/** So many runs begin per period. `X` is what the key is computed of: the input as the schema has completed it. */
export interface ThrottleOptions<X = unknown> {
  /** The most runs that begin in any period of that length. A whole number from 1 to 500. */
  readonly limit: number;
  /** The length of the period. */
  readonly per: Duration;
  /** What runs are counted by; computed once, when a run is started. @default all runs of the workflow together */
  readonly key?: (input: X) => string;
}

/** One live run per key. `X` is what the key is computed of: the input as the schema has completed it. */
export interface SingletonOptions<X = unknown> {
  /** What tells runs apart; computed once, when a run is started. @default all runs of the workflow are the same */
  readonly key?: (input: X) => string;
  /**
   * What becomes of a start while a run of its key is not over: `skip` answers that run, `queue` has the new one wait until
   * it is over, `cancel` cancels it, and those that wait before the new one.
   */
  readonly onConflict: "skip" | "queue" | "cancel";
}

/** What limits the runs of a graph. `X` is what keys are computed of: the input as the schema has completed it. */
export interface FlowOptions<X = unknown> {
  /** At most so many runs at work. @default any number */
  readonly concurrency?: ConcurrencyOptions<X>;
  /** So many runs begin per period. @default any number */
  readonly throttle?: ThrottleOptions<X>;
  /** One live run per key. @default any number */
  readonly singleton?: SingletonOptions<X>;
}

/** The limits of a {@link CompiledGraph}; no part of its version. */
export interface CompiledFlow {
  /** At most so many runs at work. */
  readonly concurrency?: {
    /** The most runs of one key at work. */
    readonly limit: number;
    /** The key of a run, from its input. */
    readonly key: (input: unknown) => string;
    /** Whether a run that only waits keeps its permit. */
    readonly holdWhileWaiting: boolean;
  };
  /** So many runs begin per period. */
  readonly throttle?: {
    /** The most runs of one key that begin in a period. */
    readonly limit: number;
    /** The length of the period in milliseconds. */
    readonly perMs: number;
    /** The key of a run, from its input. */
    readonly key: (input: unknown) => string;
  };
  /** One live run per key. */
  readonly singleton?: {
    /** The key of a run, from its input. */
    readonly key: (input: unknown) => string;
    /** What becomes of a start while another run of its key is live. */
    readonly onConflict: "skip" | "queue" | "cancel";
  };
}

/** What limits a run: the permits that it needs, by name, as they were computed at its start. */
export interface RunFlow {
  /** How urgent it is. @default "normal" */
  readonly priority?: Priority;
  /** What it needs to be at work. */
  readonly concurrency?: string;
  /** What says when it may begin. */
  readonly throttle?: string;
  /** What it needs from its start to its end. */
  readonly singleton?: string;
}

/** A permit that was granted. The numbers of a permit's grants and returns are in the order in which they happened. */
export interface Grant {
  /** The name of the permit: kind, graph id and key, such as `concurrency/orders/tenant-7`. */
  readonly permit: string;
  /** The number of the grant. */
  readonly n: number;
}

/** What a queued run waits for. */
export interface Queued {
  /** The name of the permit: kind, graph id and key, such as `concurrency/orders/tenant-7`. */
  readonly permit: string;
  /** Since when, in milliseconds since the epoch. */
  readonly since: number;
  /** Until when, where it waits by time, in milliseconds since the epoch. */
  readonly until?: number;
}

/** The classes of queues, the most urgent first. */
export const PRIORITIES: readonly Priority[] = ["high", "normal", "low"];

/** Ends the name of a permit where more follows; no name holds it. */
export const SEPARATOR = "\u0001";

/** The name of a run's place in the queue that it waits in: by permit, class, and time. */
export function placeOf(runId: string, { priority = "normal" }: RunFlow, { permit, since }: Queued): string {
  return `${classOf(permit, PRIORITIES.indexOf(priority))}${String(since).padStart(14, "0")}${runId}`;
}

/** What the names of all places of one class begin with. */
export function classOf(permit: string, priority: number): string {
  return `${permit}${SEPARATOR}${priority}`;
}

/** What a place tells. */
export function partsOf(place: string): {
  readonly permit: string;
  readonly priority: number;
  readonly since: number;
  readonly runId: string;
} {
  const at = place.indexOf(SEPARATOR);
  return {
    permit: place.slice(0, at),
    priority: Number(place[at + 1]),
    since: Number(place.slice(at + 2, at + 16)),
    runId: place.slice(at + 16),
  };
}

/** The name under which grants of a pool are recorded. */
export const poolPermit = (pool: string): string => `pool/${pool}`;

/** Whether a permit is of a pool: bodies hold those, and not the run. */
export const isOfPool = (permit: string): boolean => permit.startsWith("pool/");
