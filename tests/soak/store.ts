import { setTimeout as pause } from "node:timers/promises";
import pg from "pg";
import { denoKv, type DenoKvStore } from "../../src/store/deno_kv/mod.ts";
import { postgres } from "../../src/store/postgres/mod.ts";
import type { Store } from "../../src/store/store.ts";
import type { PostgresServer } from "../support/postgres.ts";
import type { Chance } from "../fuzz/chance.ts";

/** Opens the file or the database that a soak is on. */
export async function openSoakStore(db: string): Promise<Store & Partial<Pick<DenoKvStore, "sweep">>> {
  return db.startsWith("postgres://") ? await postgres(db) : await denoKv(db);
}

/** What became of a database under fire. */
export interface DatabaseFire {
  kills: number;
  cuts: number;
}

/** Kills and restarts a server every so often, and cuts all its connections at random in between, until it is told to end. */
export async function fireAtDatabase(
  server: PostgresServer,
  chance: Chance,
  everyMs: number,
  isOver: () => boolean,
): Promise<DatabaseFire> {
  const done = { kills: 0, cuts: 0 };
  const cutter = new pg.Pool({ connectionString: server.url, max: 1, application_name: "cutter" });
  cutter.on("error", () => {});
  for (let since = 0; !isOver();) {
    const span = 500 + chance.below(Math.max(1, Math.round(everyMs / 4)));
    await pause(span);
    since += span;
    if (since < everyMs) {
      await cutter.query(
        "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'superstep'",
      ).then(() => done.cuts++, () => {});
      continue;
    }
    since = 0;
    await server.kill();
    done.kills++;
    await pause(chance.below(3_000));
    await server.restart();
  }
  await cutter.end();
  return done;
}
