import type { Runtime } from "../../runtime/runtime.ts";
import type { StoreHint } from "../store.ts";
import type { PgConnection, PgPool } from "./driver.ts";
import { types } from "./driver.ts";

/** Notifications are sent at most so often, in milliseconds: each is a transaction, and one tells as much as many. */
const PAUSE_MS = 20;
const FIRST_RETRY_MS = 500;
const LONGEST_RETRY_MS = 30_000;
/** Says that runs may be due; anything else is the id of an owner that was poked. */
const DUE = "";

/** How hints are sent and heard. */
export interface HintsOptions {
  /** The channel: a name of lower-case letters, digits and _. */
  readonly channel: string;
  readonly runtime: Runtime;
  /** Opens the connection that listens; it is kept as long as anybody does. */
  readonly listen: () => Promise<PgConnection>;
}

/**
 * Hints by NOTIFY. They are sent after the transaction that they tell of, never in it: a transaction that notifies waits for
 * every other one that does. Whoever listens has a connection for that alone, and listens anew when it breaks.
 */
export class Hints {
  readonly #pool: PgPool;
  readonly #options: HintsOptions;
  readonly #listeners = new Set<(hint: StoreHint) => void>();
  readonly #unsent = new Set<string>();
  #sending = false;
  #connection: PgConnection | undefined;
  #retries = 0;
  #closed = false;

  constructor(pool: PgPool, options: HintsOptions) {
    this.#pool = pool;
    this.#options = options;
  }

  /** Says soon that runs may be due, or that an owner was poked. */
  send(ownerId: string = DUE): void {
    this.#unsent.add(ownerId);
    if (this.#sending) return;
    this.#sending = true;
    void this.#flush();
  }

  listen(listener: (hint: StoreHint) => void): () => void {
    this.#listeners.add(listener);
    if (this.#listeners.size === 1) void this.#connect();
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) this.#leave();
    };
  }

  close(): void {
    this.#closed = true;
    this.#listeners.clear();
    this.#leave();
  }

  async #flush(): Promise<void> {
    while (this.#unsent.size > 0 && !this.#closed) {
      const hints = [...this.#unsent];
      this.#unsent.clear();
      try {
        await this.#pool.query({
          text: "select pg_notify($1, x) from jsonb_array_elements_text($2::text::jsonb) x",
          values: [this.#options.channel, JSON.stringify(hints)],
          types,
        });
      } catch {
        // Whoever does not hear of it looks by itself.
      }
      await new Promise<void>((resolve) => void this.#options.runtime.pause(PAUSE_MS, resolve));
    }
    this.#sending = false;
  }

  async #connect(): Promise<void> {
    const { listen, channel } = this.#options;
    try {
      const connection = await listen();
      if (this.#listeners.size === 0) return connection.release(true);
      this.#connection = connection;
      connection.on("notification", ({ payload }) => this.#tell(payload));
      // Without a listener for it the end of a connection would be the end of the process.
      for (const event of ["error", "end"]) connection.on(event, () => this.#lost(connection));
      await connection.query(`listen ${channel}`);
      if (this.#retries > 0) this.#tell(DUE);
      this.#retries = 0;
    } catch {
      this.#lost(this.#connection);
    }
  }

  #tell(payload: string | undefined): void {
    const hint = payload === undefined || payload === DUE ? {} : { ownerId: payload };
    for (const listener of this.#listeners) listener(hint);
  }

  #lost(connection: PgConnection | undefined): void {
    if (connection !== this.#connection) return;
    this.#leave();
    if (this.#closed || this.#listeners.size === 0) return;
    const { runtime } = this.#options;
    const span = Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(this.#retries++, 10));
    runtime.wakeIn(span / 2 + runtime.random() * span / 2, () => {
      if (!this.#closed && this.#listeners.size > 0) void this.#connect();
    }, { keepAlive: false });
  }

  #leave(): void {
    const connection = this.#connection;
    this.#connection = undefined;
    connection?.release(true);
  }
}
