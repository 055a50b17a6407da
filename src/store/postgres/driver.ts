import { StoreError } from "../../errors.ts";

/** The few calls of a connection pool that the adapter makes; a `Pool` of the package `pg` has them. */
export interface PgPool {
  /** Sends one statement with its parameters; text alone may be several statements. */
  query(query: string | PgQuery): Promise<PgResult>;
  /** Takes a connection for itself. */
  connect(): Promise<PgConnection>;
  /** Told when a connection breaks that nobody uses. */
  on(event: "error", listener: (error: Error) => void): unknown;
  /** Closes every connection. */
  end(): Promise<void>;
}

/** One connection of a pool. */
export interface PgConnection {
  /** Sends statements. */
  query(query: string | PgQuery): Promise<PgResult>;
  /** Told of notifications, and of the end of the connection. */
  on(event: string, listener: (message: { readonly payload?: string | undefined } & Error) => void): unknown;
  /** Gives it back, or closes it. */
  release(destroy?: boolean): void;
}

/** A statement with its parameters, and how the columns of its rows are read. */
export interface PgQuery {
  /** The statement. */
  readonly text: string;
  /** Its parameters: texts, numbers, booleans, bytes or null. */
  readonly values: unknown[];
  /** How columns are read, by the id of their type. */
  readonly types: { getTypeParser(type: number): (text: string) => unknown };
}

/** What a statement answers. */
export interface PgResult {
  /** Its rows by the names of their columns. */
  readonly rows: readonly PgRow[];
}

/** A row by the names of its columns. */
export type PgRow = Readonly<Record<string, unknown>>;

/** How the pool is opened that the store keeps to itself. */
export interface PoolOptions {
  readonly connections: number;
  readonly queryTimeout: number;
}

/** Opens a pool by the package `pg`, which is loaded only here. */
export async function openPool(url: string, { connections, queryTimeout }: PoolOptions): Promise<PgPool> {
  let load: typeof import("pg");
  try {
    load = await import("pg");
  } catch (cause) {
    throw new StoreError("open", "the package pg cannot be loaded; install it: npm install pg", { cause });
  }
  try {
    return new load.default.Pool({
      connectionString: url,
      max: connections,
      connectionTimeoutMillis: queryTimeout,
      query_timeout: queryTimeout,
      idleTimeoutMillis: 30_000,
      keepAlive: true,
      allowExitOnIdle: true,
      application_name: "superstep",
    }) as unknown as PgPool;
  } catch (cause) {
    throw new StoreError("open", "the URL of the database cannot be read; see the cause", { cause });
  }
}

const BOOLEAN = 16;
const BYTES = 17;
const INT = 23;
const DOUBLE = 701;

/**
 * Reads columns of the few types that statements of the store answer, whatever parsers the process has set for others. Wide
 * integers and JSON are answered as texts.
 */
export const types: PgQuery["types"] = {
  getTypeParser: (type) =>
    type === BYTES
      ? readBytes
      : type === INT || type === DOUBLE
      ? Number
      : type === BOOLEAN
      ? isTrue
      : String,
};

const isTrue = (text: string) => text === "t";

function readBytes(text: string): Uint8Array {
  if (!text.startsWith("\\x")) {
    throw new StoreError("read", `the setting bytea_output of the database role is not hex; set it to hex`);
  }
  const bytes = new Uint8Array((text.length - 2) / 2);
  for (let i = 0; i < bytes.length; i++) {
    bytes[i] = digit(text.charCodeAt(2 * i + 2)) << 4 | digit(text.charCodeAt(2 * i + 3));
  }
  return bytes;
}

/** 0 to 9 and a to f. */
const digit = (code: number) => code < 58 ? code - 48 : code - 87;
