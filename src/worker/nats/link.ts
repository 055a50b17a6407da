import type { Consumer, JetStreamClient, JetStreamManager } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/transport-node";
import { ControlPlaneError, messageOf } from "../../errors.ts";
import { sha256Hex } from "../../runtime/hash.ts";
import type { Dispatch, GraphKey } from "../control_plane.ts";

/** Messages of a run that are kept: one in hand, and one that came meanwhile. */
const MESSAGES_PER_RUN = 2;
/** The code of a server whose subject is full. */
const SUBJECT_IS_FULL = 10077;
const MANY_IN_HAND = 100_000;
const CONNECT_TIMEOUT_MS = 5_000;

interface Connected {
  readonly connection: NatsConnection;
  readonly client: JetStreamClient;
  readonly manager: JetStreamManager;
}

/** The connection to NATS: connects when it is first needed, and makes stream and consumers where they are missing. */
export class Link {
  readonly #servers: readonly string[];
  readonly #stream: string;
  readonly #ackWaitMs: number;
  #connected: Promise<Connected> | undefined;
  #isMade = false;

  constructor(servers: readonly string[], stream: string, ackWaitMs: number) {
    this.#servers = servers;
    this.#stream = stream;
    this.#ackWaitMs = ackWaitMs;
  }

  /** Puts a dispatch into the queue; one more of a run that has two says nothing new. */
  async publish(dispatch: Dispatch): Promise<void> {
    for (let tries = 0;; tries++) {
      try {
        const { client } = await this.#ready();
        const subject = `${this.#stream}.${nameOf(dispatch)}.${sha256Hex(dispatch.runId).slice(0, 32)}`;
        await client.publish(subject, JSON.stringify(dispatch));
        return;
      } catch (error) {
        if (isFull(error)) return;
        this.#isMade = false;
        if (tries > 0) throw fault("submit", error);
      }
    }
  }

  /** The consumer of a version, made where it is missing. */
  async consumer(key: GraphKey): Promise<Consumer> {
    try {
      const { client, manager } = await this.#ready();
      const name = nameOf(key);
      const { AckPolicy } = await import("@nats-io/jetstream");
      await manager.consumers.add(this.#stream, {
        durable_name: name,
        filter_subject: `${this.#stream}.${name}.*`,
        ack_policy: AckPolicy.Explicit,
        ack_wait: this.#ackWaitMs * 1e6,
        max_deliver: -1,
        max_ack_pending: MANY_IN_HAND,
      });
      return await client.consumers.get(this.#stream, name);
    } catch (error) {
      this.#isMade = false;
      throw fault("consume", error);
    }
  }

  async close(): Promise<void> {
    const connected = await this.#connected?.catch(() => undefined);
    // What was said last is on its way before the connection ends.
    await connected?.connection.drain().catch(() => {});
    await connected?.connection.close().catch(() => {});
  }

  async #ready(): Promise<Connected> {
    if (this.#connected === undefined) {
      const connecting = this.#connect();
      this.#connected = connecting;
      connecting.catch(() => this.#connected = undefined);
    }
    const connected = await this.#connected;
    if (!this.#isMade) await this.#make(connected.manager);
    this.#isMade = true;
    return connected;
  }

  async #connect(): Promise<Connected> {
    const [transport, { jetstream, jetstreamManager }] = await Promise.all([
      import("@nats-io/transport-node"),
      import("@nats-io/jetstream"),
    ]).catch((cause) => {
      throw new ControlPlaneError(
        "connect",
        "the packages @nats-io/transport-node and @nats-io/jetstream cannot be loaded; install both",
        { cause },
      );
    });
    const connection = await transport.connect({
      servers: [...this.#servers],
      name: "superstep",
      maxReconnectAttempts: -1,
      timeout: CONNECT_TIMEOUT_MS,
    });
    try {
      return { connection, client: jetstream(connection), manager: await jetstreamManager(connection) };
    } catch (error) {
      await connection.close();
      throw error;
    }
  }

  async #make(manager: JetStreamManager): Promise<void> {
    const { DiscardPolicy, RetentionPolicy, StorageType } = await import("@nats-io/jetstream");
    await manager.streams.add({
      name: this.#stream,
      subjects: [`${this.#stream}.*.*`],
      retention: RetentionPolicy.Workqueue,
      storage: StorageType.File,
      max_msgs_per_subject: MESSAGES_PER_RUN,
      discard: DiscardPolicy.New,
      discard_new_per_subject: true,
    });
  }
}

/** The name of the consumer of a version, and the second word of its subjects. */
function nameOf({ graphId, graphVersion }: GraphKey): string {
  return sha256Hex(`${graphId}\n${graphVersion}`).slice(0, 32);
}

function isFull(error: unknown): boolean {
  const { code } = error as { readonly code?: unknown };
  return code === SUBJECT_IS_FULL || /maximum messages per subject/.test(messageOf(error));
}

function fault(op: string, error: unknown): ControlPlaneError {
  if (error instanceof ControlPlaneError) return error;
  return new ControlPlaneError(op, `NATS does not do it: ${messageOf(error)}`, { cause: error });
}
