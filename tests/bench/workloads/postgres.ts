import pg from "pg";
import { compile, type Store } from "superstep";
import { type PgPool, postgres } from "superstep/store/postgres";
import { POSTGRES_BIN, PostgresServer } from "../../support/postgres.ts";
import { type Bench, expectStatus, timed } from "../bench.ts";
import { loopGraph, PADDING, turns } from "../graphs.ts";
import type { Workload } from "./mod.ts";

/** The connections that transactions in flight are measured on, merged and unmerged. */
const CONNECTIONS = 2;

/**
 * A chain and many chains on a PostgreSQL server that syncs, started for that: the chain beside bare transactions of the same
 * content, many chains beside the same without merging. Without PostgreSQL nothing is measured.
 */
export const onPostgres: Workload = {
  id: "PG",
  name: "postgres",
  modes: ["warm"],
  async prepare(bench) {
    if (POSTGRES_BIN === undefined) return async () => {};
    const server = await PostgresServer.start([]);
    const pool = new pg.Pool({ connectionString: server.url, max: CONNECTIONS });
    bench.defer(async () => {
      await pool.end();
      await server.stop();
    });
    await pool.query("create table heads (id int primary key, n int) with (fillfactor = 50)");
    await pool.query("create table bodies (n int, bytes bytea)");
    await pool.query("insert into heads values (1, 0)");
    const open = () => postgres(pool as unknown as PgPool, { hints: false });
    const store = await open();
    return async () => {
      await chainOf(bench, store, pool);
      await manyOf(bench, store, open);
    };
  },
};

async function chainOf(bench: Bench, store: Store, pool: pg.Pool): Promise<void> {
  let bodies: number[] = [];
  const runner = compile(loopGraph(PADDING, () => void bodies.push(performance.now())), { store });
  const steps = bench.size(200, 10);
  bodies = [];
  expectStatus(await runner.run(turns(steps + 1)), "completed");
  const bytes = new Uint8Array(1_024);
  const bare = await timed(async () => {
    for (let i = 0; i < steps; i++) {
      await pool.query(
        "with head as (update heads set n = n + 1 where id = 1 returning n) insert into bodies select n, $1 from head",
        [bytes],
      );
    }
  });
  bench.report({
    id: "PG",
    name: `chain of ${steps} on PostgreSQL, a step`,
    unit: "ms",
    value: (bodies[steps]! - bodies[0]!) / steps,
    bound: bare / steps,
    target: { of: "ratio", max: 1.5 },
  });
}

async function manyOf(bench: Bench, store: Store, open: () => Promise<Store>): Promise<void> {
  const [runs, steps] = [bench.size(200, 5), bench.size(10, 5)];
  const graph = loopGraph(PADDING);
  const rate = async (stores: readonly Store[]) => {
    const runners = stores.map((store) => compile(graph, { store }));
    const ms = await timed(async () => {
      const all = Array.from({ length: runs }, (_, i) => runners[i % runners.length]!.run(turns(steps)));
      for (const result of await Promise.all(all)) expectStatus(result, "completed");
    });
    return runs * steps / ms * 1_000;
  };
  // Each run has a store of its own, which has nothing to merge it with.
  const apart = await Promise.all(Array.from({ length: runs }, open));
  const bound = await rate(apart);
  bench.report({
    id: "PG",
    name: `${runs} runs of ${steps} steps at once on PostgreSQL`,
    unit: "steps/s",
    value: await rate([store]),
    bound,
    target: { of: "ratio", min: 4 },
  });
}
