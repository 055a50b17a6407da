// Runs on deno by default: what a server does when it breaks is the same for every runtime; the suite of stores runs on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import pg from "pg";
import {
  type PgPool,
  type PgQuery,
  postgres,
  postgresGrants,
  postgresSchema,
} from "../../src/store/postgres/mod.ts";
import type { Position, Store } from "../../src/store/store.ts";
import { bytes, entryAt, historyOf, push, rejects } from "../../src/testing/store_suite/support.ts";
import {
  freePort,
  NO_POSTGRES,
  openPostgres,
  POSTGRES_BIN,
  PostgresServer,
  sharedServer,
} from "../support/postgres.ts";

/** Appends 40 records to each of 12 runs, one after another in each run. */
async function growAll(store: Store, names: string): Promise<readonly string[]> {
  const runs = Array.from({ length: 12 }, (_, i) => `${names}-${i}`);
  await Promise.all(runs.map(async (runId) => {
    for (let at: Position | null = null, i = 0; i < 40; i++) at = await push(store, runId, at);
  }));
  return runs;
}

async function assertGrown(store: Store, runs: readonly string[]): Promise<void> {
  const expected = Array.from({ length: 40 }, (_, i) => `record ${i}`);
  for (const runId of runs) assert.deepEqual(await historyOf(store, runId), expected, runId);
}

/** A pool that notes what goes through it. */
function counting(pool: PgPool): { readonly pool: PgPool; readonly sent: string[] } {
  const sent: string[] = [];
  const query: PgPool["query"] = (statement: string | PgQuery) => {
    sent.push(typeof statement === "string" ? statement : statement.text);
    return pool.query(statement);
  };
  return { sent, pool: { query, connect: () => pool.connect(), on: () => {}, end: () => pool.end() } };
}

const poolOn = (url: string) => new pg.Pool({ connectionString: url, max: 4 }) as unknown as PgPool;

if (POSTGRES_BIN === undefined) test(NO_POSTGRES, () => {});
else {
  test("an append, a post, a tail and a wait are one round trip each, and 200 appends at once are few (S5)", async () => {
    const { url } = await sharedServer();
    const opened = await openPostgres();
    const { pool, sent } = counting(poolOn(url));
    const store = await postgres(pool, { schema: opened.schema, migrate: false });
    const trips = async (call: () => Promise<unknown>) => {
      sent.length = 0;
      await call();
      // Hints are sent on their own, and nobody waits for them.
      return sent.filter((text) => !text.includes("pg_notify")).length;
    };
    await store.owners.register("me");
    let at = await push(store, "run", null);
    const own = {
      writer: "me",
      owner: "me",
      parts: [bytes("p")],
      mailbox: { version: null, value: bytes("m") },
    };
    assert.equal(await trips(async () => at = await push(store, "run", at, own)), 1);
    assert.equal(await trips(() => store.tail("run")), 1);
    assert.equal(await trips(() => store.wait("run", "w")), 1);
    const version = (await store.tail("run"))!.mailbox!.version;
    const mailbox = { version, value: bytes("n") };
    const { epoch } = at;
    assert.equal(await trips(() => store.post("run", { postId: "p", epoch, mailbox, poke: "me" })), 1);
    const many = await trips(() =>
      Promise.all(Array.from({ length: 200 }, (_, i) => push(store, `m${i}`, null)))
    );
    assert.ok(many <= 8, `200 appends took ${many} transactions`);
    await store.close();
    await pool.end();
    await opened.cleanup();
  });

  test("a member that the database refuses fails alone (S5, STORE-10)", async () => {
    const { store, cleanup } = await openPostgres();
    // No JSON of the database can hold a NUL, and no check of ours looks at the reason of a closed wait.
    const closed = [{ runId: "bad", waitId: "w", openedAt: 1, reason: "\0", revision: 0 }];
    const results = await Promise.allSettled([
      ...Array.from({ length: 20 }, (_, i) => push(store, `a${i}`, null)),
      store.append("bad", 0, entryAt(null, { index: { closed } })),
      ...Array.from({ length: 20 }, (_, i) => push(store, `b${i}`, null)),
    ]);
    const failed = results.filter((result) => result.status === "rejected");
    assert.equal(failed.length, 1);
    assert.equal(failed[0]!.reason.code, "STORE");
    await cleanup();
  });

  test("connections that the server cuts again and again lose and double no append (STORE-2, S7, DT8)", async () => {
    const opened = await openPostgres();
    const store = await postgres(opened.url, { schema: opened.schema });
    let isOver = false;
    const cutting = (async () => {
      while (!isOver) {
        await opened.query(
          `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'superstep'`,
        );
        await pause(120);
      }
    })();
    const runs = await growAll(store, "cut").finally(() => isOver = true);
    await cutting;
    await assertGrown(store, runs);
    await store.close();
    await opened.cleanup();
  });

  test("a server that is killed and started again in the middle of appends has all that it acknowledged, once (STORE-2, DT8)", async () => {
    const server = await PostgresServer.start();
    try {
      const store = await postgres(server.url);
      const growing = growAll(store, "kill");
      for (let kills = 0; kills < 2; kills++) {
        await pause(60);
        await server.kill();
        await server.restart();
      }
      await assertGrown(store, await growing);
      await store.close();
    } finally {
      await server.stop();
    }
  });

  test("a database that is away for longer than the deadline is a StoreError that says so (STORE-7)", async () => {
    const port = await freePort();
    const url = `postgres://superstep@127.0.0.1:${port}/postgres`;
    const error = await rejects(postgres(url, { deadline: 200 }), "STORE", { op: "open" });
    assert.match(error.message, /nobody listens at the address of the database, for 200 ms and \d+ tries/);
  });

  test("what the database refuses is told in words with what to do, and tried once (STORE-7, SPEC 13)", async () => {
    const opened = await openPostgres();
    const { url, schema, query } = opened;
    const refusals: readonly [call: () => Promise<unknown>, message: RegExp][] = [
      [() => postgres(url.replace(/postgres$/, "nothing")), /no database of that name; create it/],
      [
        () => postgres(url.replace("superstep@", "stranger@")),
        /refuses this user or password; check the URL/,
      ],
      [() => postgres(url, { schema: "never_made", migrate: false }), /run what `superstep schema --print`/],
      [() => postgres(url, { schema: 'a"; drop schema x' }), /the schema is .* use at most 63 of a to z/],
      [() => postgres(url, { prefix: "P" }), /the prefix is "P"/],
      [() => postgres("mysql://x"), /does not begin with postgres:\/\//],
      [() => postgres(url, { connections: 0 }), /connections is 0/],
      [() => postgres(`${url}?sslmode=verify-full`), /the server has no TLS/],
    ];
    for (const [call, message] of refusals) assert.match((await rejects(call(), "STORE")).message, message);

    await query(
      `drop role if exists worker; create role worker login; ${postgresGrants("worker", { schema })}`,
    );
    const worker = url.replace("superstep@", "worker@");
    const least = await postgres(worker, { schema, migrate: false });
    await least.owners.register("me");
    await push(least, "run", null, { writer: "me", owner: "me" });
    await query(`revoke insert on all tables in schema ${schema} from worker`);
    const denied = await rejects(least.append("other", 0, entryAt(null)), "STORE", {
      op: "append",
      runId: "other",
    });
    assert.match(denied.message, /the role lacks a right; grant it what/);
    assert.match((await rejects(postgres(worker, { schema: "its_own" }), "STORE")).message, /lacks a right/);
    await least.close();
    await query(`drop owned by worker; drop role worker`);
    await opened.cleanup();
  });

  test("a store whose tables are dropped while it is used is over for this process (STORE-7)", async () => {
    const { url, query } = await openPostgres();
    await query(postgresSchema({ schema: "dropped" }));
    const store = await postgres(url, { schema: "dropped", migrate: false });
    await push(store, "run", null);
    await query(`drop schema dropped cascade`);
    await rejects(store.tail("run"), "STORE", { op: "tail", lost: true });
    await rejects(store.list({}), "STORE", { op: "list", lost: true });
    await store.close();
  });

  test("processes that open a database for the first time at once make its tables once (S7)", async () => {
    const { url, query, cleanup } = await openPostgres();
    const place = { schema: "together", prefix: "app_" };
    const stores = await Promise.all(Array.from({ length: 6 }, () => postgres(url, place)));
    await push(stores[0]!, "run", null);
    for (const store of stores) assert.equal((await store.tail("run"))?.position.revision, 0);
    for (const store of stores) await store.close();
    await query(`drop schema together cascade`);
    await cleanup();
  });
}
