import type { Consumer, JsMsg } from "@nats-io/jetstream";
import type { Alarm } from "../../runtime/alarm.ts";
import type { Runtime, Timer } from "../../runtime/runtime.ts";
import { pause } from "../backoff.ts";
import type { Delivery, Dispatch, GraphKey } from "../control_plane.ts";
import type { Link } from "./link.ts";

/** How long a pull waits at the server for a message, in milliseconds. */
const PULL_MS = 5_000;
const FAULTS = { firstMs: 250, longestMs: 10_000 };

/** How deliveries are treated. */
export interface DeliveryOptions {
  readonly ackWaitMs: number;
  readonly runtime: Runtime;
  readonly backoff: { readonly firstMs: number; readonly longestMs: number };
}

interface Held {
  readonly message: JsMsg;
  readonly dispatch: Dispatch;
  /** What keeps it alive at the server. */
  readonly signs: Timer;
  isSettled: boolean;
}

/**
 * One consumer of a plane. Nothing is pulled that nobody has asked for, so that no message lies here while others are idle; of
 * several versions one message each may be, and is kept alive until it is asked for.
 */
export class Consumption {
  readonly #link: Link;
  readonly #options: DeliveryOptions;
  readonly #inHand: Set<string>;
  readonly #alarm: Alarm;
  readonly #isOver: () => boolean;
  readonly #ready: Held[] = [];
  readonly #held = new Set<Held>();
  #wanted = false;
  #ended = false;

  constructor(
    link: Link,
    keys: readonly GraphKey[],
    options: DeliveryOptions,
    inHand: Set<string>,
    alarm: Alarm,
    isOver: () => boolean,
  ) {
    this.#link = link;
    this.#options = options;
    this.#inHand = inHand;
    this.#alarm = alarm;
    this.#isOver = () => this.#ended || isOver();
    for (const key of keys) void this.#pull(key);
  }

  /** The next delivery, or `undefined` once nothing more is consumed. */
  async next(): Promise<Delivery | undefined> {
    this.#wanted = true;
    this.#alarm.ring();
    try {
      for (;;) {
        const { rings } = this.#alarm;
        if (this.#isOver()) return undefined;
        const held = this.#ready.shift();
        if (held !== undefined) return this.#deliver(held);
        await this.#alarm.sleep(PULL_MS, rings);
      }
    } finally {
      this.#wanted = false;
    }
  }

  /** Hands back what is not settled, and whatever pulls on their way still bring. */
  end(): void {
    this.#ended = true;
    this.#alarm.ring();
    for (const held of [...this.#ready.splice(0), ...this.#held]) {
      if (this.#settle(held)) held.message.nak();
    }
  }

  /** Pulls messages of one version while they are wanted. */
  async #pull(key: GraphKey): Promise<void> {
    const { runtime } = this.#options;
    let consumer: Consumer | undefined;
    for (let faults = 0; !this.#isOver();) {
      const { rings } = this.#alarm;
      if (!this.#wanted || this.#ready.length > 0) {
        await this.#alarm.sleep(PULL_MS, rings);
        continue;
      }
      try {
        consumer ??= await this.#link.consumer(key);
        const message = await consumer.next({ expires: PULL_MS });
        faults = 0;
        if (message !== null) this.#take(message);
      } catch {
        // Gone with its stream, or its server is away: what is due is in the wake index meanwhile.
        consumer = undefined;
        await this.#alarm.sleep(pause(FAULTS, ++faults, runtime.random()), this.#alarm.rings);
      }
    }
  }

  #take(message: JsMsg): void {
    const dispatch = dispatchOf(message);
    // It was not sent by superstep, and nobody will ever make sense of it.
    if (dispatch === undefined) return message.term();
    const { firstMs } = this.#options.backoff;
    if (this.#isOver()) return message.nak();
    if (this.#inHand.has(dispatch.runId)) return message.nak(firstMs);
    this.#inHand.add(dispatch.runId);
    this.#ready.push({ message, dispatch, signs: this.#sign(message), isSettled: false });
    this.#alarm.ring();
  }

  /** Tells the server from time to time that the message is still in hand. */
  #sign(message: JsMsg): Timer {
    const { runtime, ackWaitMs } = this.#options;
    let timer: Timer;
    const arm = () => {
      timer = runtime.wakeIn(ackWaitMs / 3, () => {
        message.working();
        arm();
      }, { keepAlive: false });
    };
    arm();
    return { cancel: () => timer.cancel() };
  }

  #deliver(held: Held): Delivery {
    this.#held.add(held);
    const { message, dispatch } = held;
    return {
      dispatch,
      ack: async () => {
        if (!this.#settle(held)) return;
        // An acknowledgement that is lost has the run looked at once more.
        await message.ackAck().catch(() => {});
        this.#alarm.ring();
      },
      // deno-lint-ignore require-await
      nack: async () => {
        if (!this.#settle(held)) return;
        const { backoff, runtime } = this.#options;
        message.nak(Math.round(pause(backoff, message.info.deliveryCount, runtime.random())));
        this.#alarm.ring();
      },
    };
  }

  /** Whether it is the first to say what became of a message. */
  #settle(held: Held): boolean {
    if (held.isSettled) return false;
    held.isSettled = true;
    held.signs.cancel();
    this.#held.delete(held);
    return this.#inHand.delete(held.dispatch.runId);
  }
}

/** What a message says; `undefined` for one that says something else. */
function dispatchOf(message: JsMsg): Dispatch | undefined {
  try {
    const { runId, graphId, graphVersion } = message.json<Partial<Dispatch>>();
    if (typeof runId !== "string" || typeof graphId !== "string" || typeof graphVersion !== "string") {
      return undefined;
    }
    return { runId, graphId, graphVersion };
  } catch {
    return undefined;
  }
}
