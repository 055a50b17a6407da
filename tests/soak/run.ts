import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { Child, type Said } from "../durability/child.ts";
import { Chance } from "../fuzz/chance.ts";
import type { RuntimeName } from "../support/runtimes.ts";
import type { PostgresServer } from "../support/postgres.ts";
import { temporaryFolder } from "../support/stores.ts";
import {
  catalogOf,
  contradictions,
  effectProblems,
  isSettled,
  movedOn,
  movesOf,
  ownedRuns,
  strayKeys,
} from "./check.ts";
import { fastClock } from "./fast_clock.ts";
import type { SoakOrders } from "./process.ts";
import { type DatabaseFire, fireAtDatabase, openSoakStore } from "./store.ts";
import { soakRunner } from "./workflow.ts";

/** How long and how hard a soak is. */
export interface SoakPlan {
  /** What processes run on, in turn. */
  readonly runtimes: readonly RuntimeName[];
  /** The server that the runs are kept by. @default a file */
  readonly server?: PostgresServer;
  /** How often that server is killed, in real milliseconds; its connections are cut in between. @default never */
  readonly crashEveryMs?: number;
  /** Whether workers are also frozen for longer than their lease. @default false */
  readonly freezes?: boolean;
  readonly workers: number;
  readonly runs: number;
  /** How long workers are killed, in real milliseconds. */
  readonly forMs: number;
  /** How long the runs may take to settle after that, in real milliseconds. */
  readonly settleMs: number;
  /** How much faster than real time the clock of the processes runs. */
  readonly speed: number;
  /** How often the clock of every second worker is set by an hour, back and right again, in real milliseconds. @default never */
  readonly stepsEveryMs?: number;
  /** The longest sleep of a run, in milliseconds of that clock. */
  readonly longestNapMs: number;
  readonly seed: number;
  /** How many versions of the workflow workers come with, one after another. @default 1 */
  readonly versions?: number;
}

/** One figure of a soak, and whether it is as it must be. */
export interface Figure {
  readonly name: string;
  readonly ok: boolean;
  readonly value: unknown;
}

/** Serves many runs with workers that are killed all the time, and tells what is left of it. */
export async function soak(plan: SoakPlan): Promise<readonly Figure[]> {
  const folder = await temporaryFolder();
  const db = plan.server?.url ?? join(folder.path, "soak.db");
  const ledger = join(folder.path, "ledger.jsonl");
  const { runs, forMs, speed, seed, server, crashEveryMs, runtimes } = plan;
  const start = Date.now();
  const chance = new Chance("soak", seed);
  const children: Child[] = [];
  const spawn = (task: SoakOrders["task"]) => {
    const process = children.length;
    const { stepsEveryMs } = plan;
    const steps = task.kind === "work" && process % 2 === 0 && stepsEveryMs !== undefined
      ? { stepsEveryMs }
      : {};
    const orders: SoakOrders = { db, ledger, process, start, speed, task, ...steps };
    const child = new Child(runtimes[process % runtimes.length]!, orders, "tests/soak/process.ts");
    children.push(child);
    return child;
  };
  appendFileSync(ledger, "");
  const store = await openSoakStore(db);
  try {
    const people = spawn({ kind: "people", runs, seed, forMs, longestNapMs: plan.longestNapMs });
    await people.until("ready");
    let over = false;
    const fire = server === undefined || crashEveryMs === undefined
      ? undefined
      : fireAtDatabase(server, new Chance("database", seed), crashEveryMs, () => over);
    const kills = await underFire(
      plan,
      chance,
      (version) => spawn({ kind: "work", concurrency: 16, version }),
    );
    over = true;
    const database = await fire;
    const settled = async () => {
      const rows = await catalogOf(store);
      return rows.length === runs && rows.every(isSettled);
    };
    const until = Date.now() + plan.settleMs;
    while (Date.now() < until && !await settled()) await pause(200);
    people.go();
    const said = await people.until("end");
    const ends = await stopped(kills.alive);
    return await figures({
      plan,
      db,
      ledger,
      store,
      said,
      ends,
      kills: kills.killed,
      frozen: kills.frozen,
      database,
    });
  } finally {
    for (const child of children) await child.dispose();
    await store.close();
    await folder.remove();
  }

  async function stopped(alive: readonly Child[]): Promise<readonly Said[]> {
    for (const child of alive) child.kill("SIGTERM");
    return await Promise.all(alive.map((child) => child.until("end")));
  }

  async function figures(
    { plan, db, ledger, store, said, ends, kills, frozen, database }: {
      plan: SoakPlan;
      db: string;
      ledger: string;
      store: Awaited<ReturnType<typeof openSoakStore>>;
      said: Said;
      ends: readonly Said[];
      kills: number;
      frozen: number;
      database: DatabaseFire | undefined;
    },
  ): Promise<readonly Figure[]> {
    const rows = await catalogOf(store);
    const unsettled = rows.filter((row) => !isSettled(row)).map((row) =>
      `${row.runId} ${row.status} ${row.reason}`
    );
    const { effects, repeated, missing, underTwoKeys } = effectProblems(ledger, rows);
    const statuses: Record<string, number> = {};
    for (const { status } of rows) statuses[status] = (statuses[status] ?? 0) + 1;
    const owned = await ownedRuns(store);
    const newest = plan.versions ?? 1;
    const code = soakRunner(store, fastClock(start, speed), ledger, -1, newest);
    const refused = await movedOn(store, code);
    const wrong = await contradictions(store, code);
    const moves = await movesOf(store, rows);
    await store.sweep?.({ olderThan: 0 });
    await store.close();
    const none = (name: string, value: readonly string[]) => ({
      name,
      ok: value.length === 0,
      value: value.slice(0, 20),
    });
    return [
      { name: "runs", ok: rows.length === plan.runs, value: rows.length },
      { name: "runs by status", ok: true, value: statuses },
      { name: "workers killed", ok: kills > 0, value: kills },
      { name: "workers frozen", ok: true, value: frozen },
      ...(database === undefined
        ? []
        : [{ name: "database killed, its connections cut", ok: database.kills > 0, value: database }]),
      {
        name: "answered, cancelled, too late",
        ok: true,
        value: [said.answered, said.cancelled, said.tooLate],
      },
      { name: "effects", ok: effects > 0, value: effects },
      { name: "effects done again under their key", ok: true, value: repeated },
      none("runs neither over nor legitimately waiting", unsettled),
      none("effects missing", missing),
      none("effects under two idempotency keys", underTwoKeys),
      { name: "runs moved to another version", ok: moves.moved > 0 || newest === 1, value: moves.moved },
      none("open runs that the newest version refuses", refused),
      none("runs taken back to an older version", moves.back),
      none("runs that asked again under another id", said.otherIds as string[]),
      none("runs owned by the dead", owned),
      none("contradictions in the store", wrong),
      none(
        "warnings of workers at the end",
        ends.flatMap((end) => end.warnings as string[])
          // Of those that wait for ever, and so move only when they are told to.
          .filter((text) => newest === 1 || !/^superstep: no living worker serves version/.test(text)),
      ),
      ...(plan.server === undefined
        ? [none("keys in the file that belong to nothing", await strayKeys(db))]
        : []),
    ];
  }
}

/**
 * Kills workers at random and puts others in their place, for as long as the plan says: those come with the next version as
 * time goes by, so that older ones stay beside newer ones for a while. At the end those that are left of older versions are
 * stopped, and replaced.
 */
async function underFire(
  { workers, forMs, versions = 1, freezes = false }: SoakPlan,
  chance: Chance,
  start: (version: number) => Child,
): Promise<{ readonly alive: readonly Child[]; readonly killed: number; readonly frozen: number }> {
  const alive: Child[] = [];
  const begun = Date.now();
  const older = new Map<Child, number>();
  const begin = () => {
    const version = Math.min(versions, 1 + Math.floor(versions * (Date.now() - begun) / forMs));
    const child = start(version);
    older.set(child, version);
    return child;
  };
  for (let i = 0; i < workers; i++) alive.push(begin());
  await Promise.all(alive.map((child) => child.until("ready")));
  let killed = 0;
  let frozen = 0;
  const until = Date.now() + forMs;
  while (Date.now() < until) {
    await pause(
      Math.min(200 + chance.below(Math.max(1, Math.round(forMs / 30))), Math.max(1, until - Date.now())),
    );
    const i = chance.below(workers);
    if (freezes && chance.percent(20)) {
      const child = alive[i]!;
      child.kill("SIGSTOP");
      frozen++;
      // Longer than a lease, so that others bury it.
      void pause(16_000 + chance.below(8_000)).then(() => child.kill("SIGCONT"));
      continue;
    }
    alive[i]!.kill("SIGKILL");
    await alive[i]!.ended;
    killed++;
    alive[i] = begin();
  }
  for (let i = 0; i < workers; i++) {
    if (older.get(alive[i]!) === versions) continue;
    await alive[i]!.until("ready");
    alive[i]!.kill("SIGTERM");
    await alive[i]!.ended;
    alive[i] = start(versions);
  }
  await Promise.all(alive.map((child) => child.until("ready")));
  return { alive, killed, frozen };
}
