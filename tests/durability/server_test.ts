// Runs on deno by default: its processes show the same on all runtimes, and tests of a few start them on all three.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { denoKv } from "../../src/store/deno_kv/mod.ts";
import { fastClock } from "../soak/fast_clock.ts";
import { HOST } from "../support/runtimes.ts";
import { temporaryFolder } from "../support/stores.ts";
import { Child } from "./child.ts";
import { deedRunner } from "./deeds.ts";
import type { ServerOrders } from "./server.ts";

/** Leases of 3 s. */
const SPEED = 5;

/** Servers on one file, and a process that only looks. */
async function stage({ speed = SPEED, ...orders }: Partial<ServerOrders> = {}) {
  const folder = await temporaryFolder();
  const [db, ledger] = [join(folder.path, "store.db"), join(folder.path, "ledger.txt")];
  writeFileSync(ledger, "");
  const start = Date.now();
  const runtime = fastClock(start, speed);
  const store = await denoKv(db);
  const runner = deedRunner(store, runtime, () => {}, () => Promise.resolve());
  const children: Child[] = [];
  const until = async (runId: string, what: (run: Awaited<ReturnType<typeof runner.status>>) => boolean) => {
    for (;;) {
      const run = await runner.status(runId);
      if (what(run)) return run;
      await pause(20);
    }
  };
  return {
    runner,
    store,
    until,
    begin(): Child {
      const child = new Child(
        HOST,
        { db, ledger, start, speed, ...orders } satisfies ServerOrders,
        "tests/durability/server.ts",
      );
      children.push(child);
      return child;
    },
    last: () => children.at(-1)!,
    bodies: () => readFileSync(ledger, "utf8").split("\n").slice(0, -1),
    now: () => runtime.now(),
    async dispose() {
      for (const child of children) await child.dispose();
      await store.close();
      await folder.remove();
    },
  };
}

test(
  "a run whose process is killed is resumed by a worker that is started later, which watches for one lease, untouched by anybody (FC-03, O2)",
  {
    timeout: 120_000,
  },
  async () => {
    const { runner, begin, bodies, until, now, dispose } = await stage();
    try {
      const victim = begin();
      await victim.until("ready");
      await runner.submit({}, { runId: "held" });
      await victim.until("held");
      victim.kill("SIGKILL");
      await victim.ended;
      const heir = begin();
      await heir.until("ready");
      const from = now();
      await heir.until("held");
      assert.ok(now() - from < 25_000, `taken over after ${now() - from} ms of its clock`);
      heir.go();
      const { recoveries } = await until("held", (run) => run.status === "completed");
      assert.equal(recoveries, 0, "it has got on since");
      assert.deepEqual(bodies(), ["held/first", "held/deed", "held/deed", "held/last"]);
    } finally {
      await dispose();
    }
  },
);

test(
  "a worker that is frozen past its lease loses its run to another, reports so when it is thawed, starts nothing of it, and serves on (O1, O2)",
  {
    timeout: 120_000,
  },
  async () => {
    const { runner, begin, bodies, until, dispose } = await stage();
    try {
      const frozen = begin();
      await frozen.until("ready");
      await runner.submit({}, { runId: "held" });
      await frozen.until("held");
      frozen.kill("SIGSTOP");
      const heir = begin();
      await heir.until("held");
      heir.go();
      await until("held", (run) => run.status === "completed");
      const before = bodies();
      assert.deepEqual(before, ["held/first", "held/deed", "held/deed", "held/last"]);
      frozen.kill("SIGCONT");
      assert.equal((await frozen.until("aborted")).code, "OWNERSHIP_LOST");
      heir.kill("SIGTERM");
      await heir.until("end");
      await runner.submit({}, { runId: "next" });
      await until("next", (run) => run.status === "completed");
      assert.deepEqual(bodies().slice(before.length), ["next/first", "next/deed", "next/last"]);
    } finally {
      await dispose();
    }
  },
);

test(
  "on SIGTERM a worker aborts its bodies and lets its runs go, which another one takes up at once and without a recovery (W1, E11)",
  {
    timeout: 120_000,
  },
  async () => {
    const { runner, begin, store, until, now, dispose } = await stage();
    try {
      const leaving = begin();
      const staying = begin();
      await Promise.all([leaving.until("ready"), staying.until("ready")]);
      await runner.submit({}, { runId: "held" });
      const [owner, other] = await Promise.race([
        leaving.until("held").then(() => [leaving, staying] as const),
        staying.until("held").then(() => [staying, leaving] as const),
      ]);
      const asked = now();
      owner.kill("SIGTERM");
      assert.deepEqual((await owner.until("end")).aborts, ["RUN_ABORTED"]);
      await other.until("held");
      assert.ok(now() - asked < 15_000, "no lease had to run out");
      const { recoveries, owner: heir } = await runner.status("held");
      assert.equal(recoveries, 0);
      const owners = (await store.owners.list()).map((row) => row.ownerId);
      assert.ok(owners.includes(heir!));
      other.go();
      await until("held", (run) => run.status === "completed");
    } finally {
      await dispose();
    }
  },
);

test(
  "a run that ends its process each time is halted after so many recoveries, listed, and others that shared the process are served (FC-03, O2)",
  {
    timeout: 120_000,
  },
  async () => {
    const { runner, begin, last, bodies, until, dispose } = await stage({ maxRecoveries: 5, speed: 6 });
    try {
      let over = false;
      const looping = (async () => {
        while (!over) await begin().ended;
      })();
      await runner.submit({}, { runId: "poison" });
      for (let i = 0; i < 5; i++) await runner.submit({}, { runId: `slow-${i}` });
      const halted = await until("poison", (run) => run.reason === "halted");
      for (let i = 0; i < 5; i++) {
        const ended = await until(
          `slow-${i}`,
          (run) => run.status === "completed" || run.reason === "halted",
        );
        assert.equal(
          ended.status,
          "completed",
          `slow-${i} was at work in ${ended.recoveries} processes that ended`,
        );
      }
      over = true;
      last().kill("SIGTERM");
      await looping;
      const view = await runner.get("poison");
      assert.equal(view.status === "interrupted" && view.halt?.kind, "max_recoveries");
      assert.deepEqual((await runner.list({ reason: "halted" })).rows.map((row) => row.runId), ["poison"]);
      assert.equal(halted.owner, undefined);
      assert.equal(
        bodies().filter((line) => line === "poison/deed").length,
        6,
        "the first time and five recoveries",
      );
      assert.equal(bodies().filter((line) => line === "poison/first").length, 1);
    } finally {
      await dispose();
    }
  },
);
