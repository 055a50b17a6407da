import { CheckpointLog } from "../../src/checkpoint/log.ts";
import { survey } from "../../src/engine/change/survey.ts";
import { userVersion } from "../../src/engine/workers.ts";
import { systemRuntime } from "../../src/runtime/system.ts";
import { openDriver } from "../../src/store/deno_kv/driver.ts";
import { unframe } from "../../src/store/deno_kv/frame.ts";
import type { CatalogRow, Store, WakeRow } from "../../src/store/store.ts";
import { allEntries, keyKind } from "../support/kv_faults.ts";
import { effectsIn, effectsOf, kindOf, type SoakRunner } from "./workflow.ts";

/** Every row of the catalog. */
export async function catalogOf(store: Store): Promise<readonly CatalogRow[]> {
  const all: CatalogRow[] = [];
  let cursor: string | undefined;
  for (;;) {
    const { rows, cursor: next } = await store.list({
      limit: 1_000,
      ...(cursor === undefined ? {} : { cursor }),
    });
    all.push(...rows);
    if (next === undefined) return all;
    cursor = next;
  }
}

async function wakesOf(store: Store): Promise<readonly WakeRow[]> {
  const all: WakeRow[] = [];
  for (;;) {
    const after = all.at(-1);
    const rows = await store.wakes(Number.MAX_SAFE_INTEGER, 1_000, after === undefined ? {} : { after });
    all.push(...rows);
    if (rows.length < 1_000) return all;
  }
}

/** Whether a run is where nothing more can happen to it by itself. */
export function isSettled({ status, reason, runId }: CatalogRow): boolean {
  if (status === "completed") return kindOf(runId) !== "patient";
  if (status === "cancelled") return kindOf(runId) === "doomed";
  return status === "interrupted" && reason === "awaiting" && kindOf(runId) === "patient";
}

/** Whatever in a store contradicts itself. Nobody may be at work on it. */
export async function contradictions(store: Store, runner: SoakRunner): Promise<readonly string[]> {
  const found: string[] = [];
  const rows = await catalogOf(store);
  const wakes = await wakesOf(store);
  const wakeOf = new Map(wakes.map((wake) => [wake.runId, wake]));
  if (wakeOf.size !== wakes.length) found.push("a run has two wakes");
  const known = new Set(rows.map(({ runId }) => runId));
  if (known.size !== rows.length) found.push("a run is listed twice");
  for (const { runId } of wakes) if (!known.has(runId)) found.push(`${runId}: a wake without a run`);
  for (const row of rows) {
    const { runId } = row;
    const complain = (problem: string) => found.push(`${runId}: ${problem}`);
    const view = await runner.get(runId);
    const { run } = view;
    if (run.status !== row.status || run.reason !== row.reason) {
      complain(`it is ${run.status} ${run.reason}, listed as ${row.status} ${row.reason}`);
    }
    const stored = await store.range(runId, 0, run.revision + 10);
    if (stored.some(({ revision }, i) => revision !== i) || stored.length !== run.revision + 1) {
      complain(`it has ${stored.length} records and is at revision ${run.revision}`);
    }
    const open = view.status === "interrupted"
      ? view.waits.filter((wait) => wait.kind !== "timer").map((wait) => wait.waitId)
      : [];
    const listed = (await store.waits({ runId })).rows.map((wait) => wait.waitId);
    if (open.sort().join() !== listed.sort().join()) complain(`open waits ${open}, listed ${listed}`);
    const wake = wakeOf.get(runId);
    const over = run.status === "completed" || run.status === "cancelled";
    if (wake !== undefined && (over || run.owner !== undefined)) {
      complain("a wake although it is over or owned");
    }
    if (run.status === "running" && run.owner === undefined && wake === undefined) {
      complain("nobody will wake it");
    }
    if (run.reason === "sleeping" && wake === undefined) complain("it sleeps for ever");
  }
  return found;
}

/** Moves every open run to the newest version, as `superstep migrate --apply` does; those that it refuses, with why. */
export async function movedOn(store: Store, runner: SoakRunner): Promise<readonly string[]> {
  const refused: string[] = [];
  for await (const { row, verdict } of survey(store, [runner], systemRuntime.now())) {
    if (verdict.verdict === "refused") refused.push(`${row.runId}: ${verdict.problem}`);
    else if (verdict.verdict !== "loads" && !await runner.adopt(row.runId)) {
      refused.push(`${row.runId} stays`);
    }
  }
  return refused;
}

/** How often runs moved to another version of their workflow, and those that did so backwards. */
export async function movesOf(store: Store, rows: readonly CatalogRow[]) {
  const log = new CheckpointLog(store, systemRuntime);
  let moved = 0;
  const back: string[] = [];
  for (const { runId } of rows) {
    for (const { events } of await log.history(runId, 0, 10_000)) {
      for (const event of events) {
        if (event.type !== "adopted" && event.type !== "migrated") continue;
        moved++;
        if (userVersion(event.to) <= userVersion(event.from)) back.push(runId);
      }
    }
  }
  return { moved, back };
}

/** The runs that anybody still owns. */
export async function ownedRuns(store: Store): Promise<readonly string[]> {
  const owned: string[] = [];
  for (const { ownerId } of await store.owners.list()) {
    owned.push(...await store.owners.ownedBy(ownerId, 1_000));
  }
  return owned;
}

/** Keys of a Deno KV file that belong to nothing. Nobody may have it open. */
export async function strayKeys(path: string): Promise<readonly string[]> {
  const { kv } = await openDriver(path);
  const keys = new Map<string, (readonly unknown[])[]>();
  const epochs = new Set<unknown>();
  for (const { key, value } of await allEntries(kv)) {
    const kind = keyKind(key);
    keys.set(kind, [...keys.get(kind) ?? [], key]);
    if (kind === "h") epochs.add(unframe(value, "a head").meta[0]);
  }
  kv.close();
  const of = (kind: string) => keys.get(kind) ?? [];
  const runs = new Set(of("h").map((key) => key[2]));
  const stray = [
    ...["r", "p", "b"].flatMap((kind) => of(kind).filter((key) => !epochs.has(key[2]))),
    ...["m", "c", "w", "o"].flatMap((kind) => of(kind).filter((key) => !runs.has(key[2]))),
    ...["ci", "state", "wakes", "works"].flatMap((kind) => of(kind).filter((key) => !runs.has(key.at(-1)))),
    ...["waits"].flatMap((kind) => of(kind).filter((key) => !runs.has(key.at(-2)))),
    ...["t", "g", "s", "d"].flatMap(of),
  ];
  const woken = new Set(of("wakes").map((key) => key.at(-1)));
  if (of("wakes").length !== woken.size) stray.push(["wakes", of("wakes").length, woken.size]);
  if (of("waits").length !== of("o").length) stray.push(["waits", of("waits").length, of("o").length]);
  return stray.map((key) => JSON.stringify(key));
}

/** What the ledger says against the runs: effects that are missing, and things done under two keys. */
export function effectProblems(path: string, rows: readonly CatalogRow[]) {
  const keys = new Map<string, Set<string>>();
  const effects = effectsIn(path);
  for (const { about, key } of effects) keys.set(about, (keys.get(about) ?? new Set()).add(key));
  const missing = rows.filter(({ status }) => status === "completed")
    .flatMap(({ runId }) => effectsOf(runId, kindOf(runId))).filter((about) => !keys.has(about));
  const underTwoKeys = [...keys].filter(([, of]) => of.size > 1).map(([about]) => about);
  const all = [...keys.values()].reduce((sum, of) => sum + of.size, 0);
  return { effects: effects.length, repeated: effects.length - all, missing, underTwoKeys };
}
