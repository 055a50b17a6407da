/**
 * A control plane on NATS JetStream, beside any store that several machines share.
 *
 * @module
 */
import { ArgumentError, ControlPlaneClosedError } from "../../errors.ts";
import { type Duration, toMs } from "../../model/durations.ts";
import { Alarm } from "../../runtime/alarm.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { systemRuntime } from "../../runtime/system.ts";
import type { CallOptions } from "../../store/store.ts";
import type { ControlPlane, Delivery, Dispatch, GraphKey } from "../control_plane.ts";
import { Consumption, type DeliveryOptions } from "./consumption.ts";
import { Link } from "./link.ts";

/** Options of {@link natsPlane}. */
export interface NatsPlaneOptions {
  /** The stream, and the first word of its subjects: letters, digits, `_` and `-`. @default "superstep" */
  readonly stream?: string;
  /**
   * How long the server waits for a sign of life of a consumer that holds a run before it hands it to another one; signs are
   * given three times as often.
   * @default "30s"
   */
  readonly ackWait?: Duration;
  /** The first pause before a run that could not be looked at is delivered again; it doubles up to 5 minutes. @default "1s" */
  readonly backoff?: Duration;
  /** The clock, timers and randomness. @default the system's */
  readonly runtime?: Runtime;
}

const LONGEST_BACKOFF_MS = 5 * 60_000;

/**
 * A control plane on a work queue of NATS JetStream, version 2.9 or newer.
 *
 * 1. A run is a subject, a version of a graph a durable consumer. At most two messages of a run are kept: one in hand, and one that
 *    came meanwhile. Further ones say nothing new and are dropped.
 * 2. A delivery that is in hand is marked as in progress until it is settled. `nack` has it come again after a pause that doubles.
 * 3. What is true of a run is in its store: a stream that is lost, deleted or away delays runs until workers find them in the
 *    wake index, and loses none. It is made anew when it is missing.
 *
 * Feed it by {@link dispatching} of `superstep/worker`.
 *
 * @param servers The server, or several of a cluster: `nats://host:4222`. Connecting is tried until it succeeds.
 *
 * @example
 * ```ts ignore
 * const plane = natsPlane("nats://nats.example:4222");
 * const store = dispatching(await postgres(url), plane);
 * await using worker = await serve({ store, plane, workflows: [Approval], handleSignals: true });
 * ```
 */
export function natsPlane(servers: string | readonly string[], options: NatsPlaneOptions = {}): ControlPlane {
  const { stream = "superstep", runtime = systemRuntime } = options;
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(stream)) {
    throw new ArgumentError("natsPlane", `stream is ${JSON.stringify(stream)}; use letters, digits, _ and -`);
  }
  const ackWaitMs = spanOf("ackWait", options.ackWait, 30_000);
  const firstMs = spanOf("backoff", options.backoff, 1_000);
  return new NatsPlane(new Link([servers].flat(), stream, ackWaitMs), {
    ackWaitMs,
    runtime,
    backoff: { firstMs, longestMs: Math.max(firstMs, LONGEST_BACKOFF_MS) },
  });
}

class NatsPlane implements ControlPlane {
  readonly #link: Link;
  readonly #options: DeliveryOptions;
  readonly #alarm: Alarm;
  /** Runs in hand here, whichever consumer has them. */
  readonly #inHand = new Set<string>();
  #closed: Promise<void> | undefined;

  constructor(link: Link, options: DeliveryOptions) {
    this.#link = link;
    this.#options = options;
    this.#alarm = new Alarm(options.runtime);
  }

  async submit(dispatch: Dispatch, { signal }: CallOptions = {}): Promise<void> {
    signal?.throwIfAborted();
    this.#checkOpen("submit");
    const { runId, graphId, graphVersion } = dispatch;
    await this.#link.publish({ runId, graphId, graphVersion });
  }

  async *consume(keys: readonly GraphKey[], signal?: AbortSignal): AsyncGenerator<Delivery, void, undefined> {
    signal?.throwIfAborted();
    this.#checkOpen("consume");
    const isOver = () => this.#closed !== undefined || signal?.aborted === true;
    const consumption = new Consumption(this.#link, keys, this.#options, this.#inHand, this.#alarm, isOver);
    const ring = () => this.#alarm.ring();
    signal?.addEventListener("abort", ring);
    try {
      for (;;) {
        const delivery = await consumption.next();
        if (delivery === undefined) return;
        yield delivery;
      }
    } finally {
      signal?.removeEventListener("abort", ring);
      consumption.end();
    }
  }

  async close(): Promise<void> {
    this.#closed ??= (async () => {
      // Consumers that end now hand back what they hold.
      await new Promise<void>((resolve) => this.#options.runtime.macrotask(resolve));
      await this.#link.close();
    })();
    this.#alarm.ring();
    await this.#closed;
  }

  #checkOpen(op: string): void {
    if (this.#closed !== undefined) throw new ControlPlaneClosedError(op);
  }
}

function spanOf(name: string, value: Duration | undefined, fallback: number): number {
  const ms = value === undefined ? fallback : toMs(value);
  if (ms !== undefined && ms > 0) return ms;
  throw new ArgumentError(
    "natsPlane",
    `${name} is ${String(value)}; give milliseconds or a text such as "30s"`,
  );
}
