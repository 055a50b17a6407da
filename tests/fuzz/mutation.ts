import assert from "node:assert/strict";
import { compile, isSuperstepError, type Store } from "../../mod.ts";
import { defaultCodec } from "../../src/checkpoint/codec.ts";
import { Chance } from "./chance.ts";
import { RUN, victim } from "./damage.ts";
import { SILENT } from "./world.ts";

/**
 * Changes one value somewhere in a stored record or mailbox to another well-formed one, as a faulty writer would, and
 * lets every call loose on it. It is refused with a typed error, or it is taken and the calls end: nothing else.
 */
export async function mutate(seed: number): Promise<void> {
  const { store, clock, graph } = await victim();
  const chance = new Chance("mutate", seed);
  let what = "nothing";
  const change = (bytes: Uint8Array): Uint8Array => {
    const value = defaultCodec.decode(bytes);
    what = replaced(value, new Chance("leaf", seed));
    return defaultCodec.encode(value);
  };
  const inMailbox = chance.percent(20);
  const chosen = chance.below(100);
  const mutated = <R extends { readonly bytes: Uint8Array }>(records: readonly R[]): readonly R[] =>
    records.map((r, i) => i === chosen % records.length && !inMailbox ? { ...r, bytes: change(r.bytes) } : r);
  const damaged: Store = {
    ...store,
    tail: async (...args) => {
      const tail = await store.tail(...args);
      if (tail === undefined) return tail;
      const { mailbox } = tail;
      const entry = mailbox?.entries[chosen % 4];
      return {
        ...tail,
        records: mutated(tail.records),
        mailbox: !mailbox || !inMailbox
          ? mailbox
          : entry === undefined
          ? { ...mailbox, value: change(mailbox.value) }
          : {
            ...mailbox,
            entries: mailbox.entries.map((e) => e === entry ? { ...e, value: change(e.value) } : e),
          },
      };
    },
    range: async (...args) => mutated(await store.range(...args)),
  };
  const runner = compile(graph, { store: damaged, runtime: clock, logger: SILENT });
  const calls = {
    get: () => runner.get(RUN),
    status: () => runner.status(RUN),
    history: () => runner.history(RUN),
    mermaid: () => runner.mermaid(RUN),
    answer: () => runner.answer(RUN, `w${"0".repeat(32)}`, { ok: true }),
    recover: async () => await Promise.all((await runner.recover()).map((h) => h.result())),
    resume: () => runner.resume(RUN),
  };
  for (const [name, call] of Object.entries(calls)) {
    const error = await clock.drive<unknown>(call()).then(() => undefined, (e: unknown) => e);
    if (error === undefined) continue;
    assert.ok(isSuperstepError(error), `seed ${seed}: ${name} after ${what}: ${(error as Error).stack}`);
  }
}

/** Replaces one value below `root`; tells which by what. */
function replaced(root: unknown, chance: Chance): string {
  const places: { readonly path: string; set(value: unknown): void; readonly old: unknown }[] = [];
  const walk = (value: unknown, path: string): void => {
    const visit = (child: unknown, key: string, set: (value: unknown) => void) => {
      places.push({ path: `${path}.${key}`, set, old: child });
      walk(child, `${path}.${key}`);
    };
    if (value instanceof Map) {
      for (const [k, v] of value) {
        visit(v, String(k), (x) => void (x === GONE ? value.delete(k) : value.set(k, x)));
      }
    } else if (Array.isArray(value)) {
      value.forEach((v, i) =>
        visit(v, String(i), (x) => void (x === GONE ? value.splice(i, 1) : value[i] = x))
      );
    } else if (
      typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype
    ) {
      for (const [k, v] of Object.entries(value)) visit(v, k, (x) => put(value, k, x));
    }
  };
  walk(root, "");
  const place = chance.pick(places);
  const value = other(place.old, chance);
  place.set(value);
  return `${place.path}: ${told(place.old)} -> ${value === GONE ? "gone" : told(value)}`;
}

function told(value: unknown): string {
  return JSON.stringify(value, (_, v) => typeof v === "bigint" || v instanceof Map ? String(v) : v)?.slice(
    0,
    80,
  ) ??
    String(value);
}

const GONE = Symbol("gone");

function put(object: object, key: string, value: unknown): void {
  if (value === GONE) delete (object as Record<string, unknown>)[key];
  else (object as Record<string, unknown>)[key] = value;
}

function other(old: unknown, chance: Chance): unknown {
  if (Array.isArray(old) && chance.percent(70)) {
    return chance.pick([[], [...old, ...old], old.slice(1), [...old].reverse()]);
  }
  if (old instanceof Map && chance.percent(70)) return new Map([...old].slice(1));
  if (typeof old === "number" && chance.percent(60)) {
    return chance.pick([old + 1, old - 1, 0, -1, 1.5, NaN, Infinity, 1e9, 2 ** 53]);
  }
  if (typeof old === "string" && chance.percent(60)) {
    return chance.pick([
      "",
      "nowhere",
      "ask",
      "map",
      "done",
      "failed",
      "pending",
      "suspended",
      "backoff",
      `${old}x`,
    ]);
  }
  return chance.pick([null, undefined, 0, "", true, [], {}, GONE]);
}
