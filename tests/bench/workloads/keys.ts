import { compile, type HistoryEntry } from "superstep";
import { expectStatus } from "../bench.ts";
import type { Commit } from "../file.ts";
import { askGraph, loopGraph, turns } from "../graphs.ts";
import { keyKind } from "../../support/kv_faults.ts";
import type { Workload } from "./mod.ts";

/** Which keys each operation writes, and which it deletes. */
export const keys: Workload = {
  id: "keys",
  name: "keys",
  modes: ["once"],
  prepare: (bench) => async () => {
    await bench.inFile(async ({ store, watch }) => {
      const taken = watch();
      const ask = compile(askGraph(), { store });
      const result = await ask.run({});
      if (result.status !== "interrupted") throw new Error(`the run is ${result.status}`);
      const { runId } = result.run;
      await ask.answer(runId, result.waits[0]!.waitId, "yes");
      expectStatus(await ask.resume(runId), "completed");
      const submitted = await ask.submit({});
      expectStatus(await ask.resume(submitted.runId), "interrupted");
      const loop = compile(loopGraph(0), { store });
      const looped = await loop.run(turns(2));
      const commits = taken();

      const events = new Map<string, HistoryEntry["events"]>();
      for (const [runner, id] of [[ask, runId], [ask, submitted.runId], [loop, looped.run.runId]] as const) {
        for (const entry of (await runner.history(id)).rows) {
          events.set(`${id} ${entry.revision}`, entry.events);
        }
      }
      const table = new Map<string, Commit>();
      for (const commit of commits) table.set(operationOf(commit, events), commit);
      for (const [name, commit] of table) {
        const value = commit.keys.length + commit.deletes.length;
        bench.report({ id: "keys", name, unit: "mutations", value, keys: kindsOf(commit) });
      }
    });
  },
};

/** What a commit is for, by what the record in it says. */
function operationOf({ kind, keys }: Commit, events: ReadonlyMap<string, HistoryEntry["events"]>): string {
  const head = keys.find((key) => keyKind(key) === "h");
  const record = keys.find((key) => key[1] === "r");
  if (kind === "post") return "answer";
  if (head === undefined || record === undefined) return kind === "owner" ? "register a process" : kind;
  const types = events.get(`${head[2]} ${record[3]}`)?.map(({ type }) => type) ?? [];
  if (types.includes("created")) return keys.some((key) => keyKind(key) === "works") ? "start" : "submit";
  if (types.includes("claimed")) return types.includes("resolved") ? "claim, with an answer" : "claim";
  if (types.includes("opened")) return "open a wait and pause";
  return types.includes("completed") ? "last step and end" : "step";
}

const KINDS: Readonly<Record<string, string>> = {
  h: "head",
  r: "record",
  m: "mailbox",
  c: "catalog",
  ci: "index",
  state: "index",
  works: "owned",
  w: "wait",
  o: "inbox",
  waits: "inbox",
  wakes: "wake",
  q: "poke",
};

function kindsOf({ keys, deletes }: Commit): Record<string, number> {
  const kinds: Record<string, number> = {};
  const count = (key: readonly unknown[], sign: string) => {
    const kind = `${sign}${KINDS[keyKind(key)] ?? keyKind(key)}`;
    kinds[kind] = (kinds[kind] ?? 0) + 1;
  };
  for (const key of keys) count(key, "");
  for (const key of deletes) count(key, "-");
  return kinds;
}
