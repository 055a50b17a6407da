/**
 * The PostgreSQL store, for more than one machine: the driver is the package `pg`, on Deno, Bun and Node.
 *
 * @module
 */
import { CheckpointNotFoundError, StoreError } from "../../errors.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { sha256Hex } from "../../runtime/hash.ts";
import { systemRuntime } from "../../runtime/system.ts";
import { checkCells } from "../cell_limits.ts";
import { checkAppend, checkCut, checkPost } from "../limits.ts";
import type { Store } from "../store.ts";
import { pgCells } from "./cells.ts";
import { openPool, type PgPool } from "./driver.ts";
import { pgEmits } from "./emits.ts";
import { numberOf } from "./encode.ts";
import { open } from "./layout.ts";
import { Hints } from "./hints.ts";
import { pgLeases } from "./leases.ts";
import { list, waits, wakes } from "./listing.ts";
import { namesAt, type PostgresPlace } from "./names.ts";
import { pgOwners } from "./owners.ts";
import { readers } from "./read.ts";
import { field } from "./rows.ts";
import { Session } from "./session.ts";
import { Writer } from "./write.ts";

export type { PgConnection, PgPool, PgQuery, PgResult, PgRow } from "./driver.ts";
export type { PostgresPlace } from "./names.ts";
export { postgresGrants, postgresSchema } from "./tables.ts";

/** How a PostgreSQL store is opened. */
export interface PostgresOptions extends PostgresPlace {
  /** Whether tables and functions are made or completed when they are not there. @default true */
  readonly migrate?: boolean;
  /**
   * Whether processes tell each other what is due, by NOTIFY and one connection that listens; false behind a pooler that gives no
   * process a connection of its own, such as PgBouncer in transaction mode. Without it they look every second.
   * @default true
   */
  readonly hints?: boolean;
  /** The most connections of the pool that the store opens for a URL, beside the one that listens; four are as fast as more. @default 4 */
  readonly connections?: number;
  /** How long a call waits, in milliseconds, while the database is away. @default 30000 */
  readonly deadline?: number;
  /** After how many milliseconds without an answer a connection is taken for broken. @default 10000 */
  readonly queryTimeout?: number;
  /** The clock, timers, ids and randomness. @default the system's */
  readonly runtime?: Runtime;
}

/**
 * Opens the store in a PostgreSQL database, version 13 or newer. Any number of processes and machines may use it at the same
 * time, also through PgBouncer in transaction mode.
 *
 * @param database A URL, such as `postgres://user:password@host/database?sslmode=verify-full`, or a pool of the package `pg`,
 *   which `close` leaves open.
 * @throws {StoreError} when the database cannot be reached, refuses the user, or was changed by a newer version of superstep
 *
 * @example
 * ```ts ignore
 * const store = await postgres("postgres://app@db.example/app", { schema: "workflows" });
 * const runner = compile(Approval, { store });
 * ```
 */
export async function postgres(database: string | PgPool, options: PostgresOptions = {}): Promise<Store> {
  const { runtime = systemRuntime, deadline = 30_000, queryTimeout = 10_000, connections = 4 } = options;
  const t = namesAt(options);
  for (const [name, value] of Object.entries({ deadline, queryTimeout, connections })) {
    if (!Number.isSafeInteger(value) || value < 1) {
      throw new StoreError("open", `${name} is ${value}; give a whole number from 1`);
    }
  }
  const ownsPool = typeof database === "string";
  const pool = ownsPool
    ? await openPool(checkUrl(database), { connections: connections + 1, queryTimeout })
    : database;
  const session = new Session(pool, { runtime, deadline, ownsPool });
  try {
    await open(session, options);
  } catch (error) {
    await session.close();
    throw error;
  }
  const hints = new Hints(pool, {
    // As long as the schema and prefix tell it apart, and no longer than a name may be.
    channel: `superstep_${sha256Hex(t("hints")).slice(0, 24)}`,
    runtime,
    listen: () => pool.connect(),
  });
  const writer = new Writer(session, t, hints);
  const read = readers(session, t);

  return {
    info: { name: "postgres", durable: true },
    owners: pgOwners(session, t),
    cells: pgCells(session, t),
    emits: pgEmits(session, t),
    leases: pgLeases(session, t),
    ...(options.hints === false ? {} : { hints: (listener) => hints.listen(listener) }),
    async append(runId, revision, entry, options) {
      const call = session.begin("append", runId, options);
      checkAppend(revision, entry);
      if (entry.cells !== undefined) checkCells("append", entry.cells);
      return await writer.append(call, runId, revision, entry);
    },
    async post(runId, entry, options) {
      const call = session.begin("post", runId, options);
      checkPost(entry);
      if (entry.cells !== undefined) checkCells("post", entry.cells);
      return await writer.post(call, runId, entry);
    },
    async tail(runId, options) {
      return await read.tail(session.begin("tail", runId, options), runId);
    },
    async range(runId, from, limit, options) {
      return await read.range(session.begin("range", runId, options), runId, from, limit);
    },
    async parts(runId, epoch, refs, options) {
      return await read.parts(session.begin("parts", runId, options), runId, epoch, refs);
    },
    async inspect(runId, revision, writer, options) {
      return await read.inspect(session.begin("inspect", runId, options), runId, revision, writer);
    },
    async wait(runId, waitId, options) {
      return await read.wait(session.begin("wait", runId, options), runId, waitId);
    },
    async list(query, options) {
      return await list(session, t, session.begin("list", undefined, options), query);
    },
    async waits(query, options) {
      return await waits(session, t, session.begin("waits", undefined, options), query);
    },
    async wakes(until, limit, options) {
      return await wakes(
        session,
        t,
        session.begin("wakes", undefined, options),
        until,
        limit,
        options?.after,
      );
    },
    async trim(runId, cut, options) {
      const call = session.begin("trim", runId, options);
      checkCut(cut);
      const keep = JSON.stringify(cut.keep.map(({ revision, index }) => [revision, index]));
      const row = await session.row(
        call,
        `select ${t("trim")}($1, $2::text::bigint, $3::int, $4::text::jsonb) as answer`,
        [runId, numberOf(cut.epoch), Math.min(cut.before, 2 ** 31 - 1), keep],
      );
      const answer = field(row, "answer");
      if (answer === "none") throw new CheckpointNotFoundError(runId);
      if (answer === "ok") return;
      throw session.fault(
        call,
        `the run is read from revision ${answer} on, records before ${cut.before} cannot be cut off`,
      );
    },
    async purge(runId, options) {
      const call = session.begin("purge", runId, options);
      await session.row(call, `select ${t("purge")}($1, $2)::text as done`, [runId, options?.epoch ?? null]);
    },
    async close() {
      hints.close();
      await session.close();
    },
  };
}

function checkUrl(url: string): string {
  if (/^postgres(ql)?:\/\//.test(url)) return url;
  throw new StoreError("open", "the URL of the database does not begin with postgres:// or postgresql://");
}
