/** A broker in memory, as one made of messages is: it knows nothing of stores, and can be told to misbehave. */
import { ControlPlaneClosedError } from "../../src/errors.ts";
import { Alarm } from "../../src/runtime/alarm.ts";
import type { Runtime } from "../../src/runtime/runtime.ts";
import type { CallOptions } from "../../src/store/store.ts";
import type { ControlPlane, Delivery, Dispatch, GraphKey } from "../../src/worker/mod.ts";

interface Message {
  readonly dispatch: Dispatch;
  readonly at: number;
  readonly refusals: number;
}

export class Broker implements ControlPlane {
  /** What became of each delivery. */
  readonly settled: { readonly runId: string; readonly how: "ack" | "nack" }[] = [];
  /** What happens to a message that was sent: by default it is delivered once, at once. */
  copies: readonly number[] = [0];
  /** Thrown by every look for messages, while it is set. */
  fault: Error | undefined;
  readonly #runtime: Runtime;
  readonly #alarm: Alarm;
  readonly #inHand = new Map<string, object>();
  #messages: Message[] = [];
  #closed = false;

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
    this.#alarm = new Alarm(runtime);
  }

  // deno-lint-ignore require-await
  async submit(dispatch: Dispatch, { signal }: CallOptions = {}): Promise<void> {
    signal?.throwIfAborted();
    if (this.#closed) throw new ControlPlaneClosedError("submit");
    for (const delay of this.copies) {
      this.#send({ dispatch, at: this.#runtime.elapsed() + delay, refusals: 0 });
    }
  }

  async *consume(keys: readonly GraphKey[], signal?: AbortSignal): AsyncGenerator<Delivery, void, undefined> {
    signal?.throwIfAborted();
    if (this.#closed) throw new ControlPlaneClosedError("consume");
    const held = new Map<object, Message>();
    try {
      while (!this.#closed && signal?.aborted !== true) {
        if (this.fault !== undefined) throw this.fault;
        const { rings } = this.#alarm;
        const now = this.#runtime.elapsed();
        const message = this.#messages.find(({ at, dispatch }) =>
          at <= now && !this.#inHand.has(dispatch.runId) &&
          keys.some((k) => k.graphId === dispatch.graphId && k.graphVersion === dispatch.graphVersion)
        );
        if (message !== undefined) yield this.#deliver(message, held);
        else {
          const later = this.#messages.map(({ at }) => at - now).filter((wait) => wait > 0);
          await this.#alarm.sleep(Math.min(60_000, ...later), rings, signal);
        }
      }
    } finally {
      for (const [token, message] of held) {
        this.#free(message, token);
        this.#send(message);
      }
    }
  }

  // deno-lint-ignore require-await
  async close(): Promise<void> {
    this.#closed = true;
    this.#alarm.ring();
  }

  #send(message: Message): void {
    this.#messages.push(message);
    this.#alarm.ring();
  }

  #deliver(message: Message, held: Map<object, Message>): Delivery {
    const { dispatch, refusals } = message;
    const token = {};
    this.#messages = this.#messages.filter((other) => other !== message);
    this.#inHand.set(dispatch.runId, token);
    held.set(token, message);
    const settle = (how: "ack" | "nack") => {
      if (!held.delete(token)) return false;
      this.settled.push({ runId: dispatch.runId, how });
      this.#free(message, token);
      return true;
    };
    return {
      dispatch,
      // deno-lint-ignore require-await
      ack: async () => void settle("ack"),
      // deno-lint-ignore require-await
      nack: async () => {
        if (!settle("nack")) return;
        const delay = 500 * 2 ** refusals;
        this.#send({ dispatch, at: this.#runtime.elapsed() + delay, refusals: refusals + 1 });
      },
    };
  }

  #free({ dispatch }: Message, token: object): void {
    if (this.#inHand.get(dispatch.runId) === token) this.#inHand.delete(dispatch.runId);
    this.#alarm.ring();
  }
}
