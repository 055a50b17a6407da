/** Seeded random values of everything that can be stored, and random edits of them. */

import { deepStrictEqual } from "node:assert/strict";

/** A generator of numbers in [0, 1) that gives the same numbers for the same seed on every runtime. */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

const TEXTS = [
  "",
  "a",
  "né",
  "日本語",
  "😀",
  "\ufeffmarked",
  "\u0000",
  "__keys__",
  "constructor",
  "toJSON",
  "x".repeat(70),
];
const KEYS = [
  "a",
  "b",
  "c",
  "d e",
  "7",
  "constructor",
  "toJSON",
  "__keys__",
  "hasOwnProperty",
  "then",
  "\ufeffk",
  "é",
];

/** A random storable value. */
export function randomValue(random: () => number, depth = 4): unknown {
  const pick = (n: number): number => Math.floor(random() * n);
  const some = <T>(make: () => T): T[] => Array.from({ length: pick(5) }, make);
  switch (pick(depth > 0 ? 21 : 15)) {
    case 0:
      return null;
    case 1:
      return undefined;
    case 2:
      return random() < 0.5;
    case 3:
      return pick(300) - 100;
    case 4:
      return (random() - 0.5) * 10 ** pick(20);
    case 5:
      return [
        NaN,
        Infinity,
        -Infinity,
        -0,
        0,
        2 ** 31,
        2 ** 32,
        -(2 ** 31) - 1,
        2 ** 53,
        65536,
        -32769,
      ][pick(11)];
    case 6:
      return BigInt(pick(1000) - 500) * 10n ** BigInt(pick(60));
    case 7:
    case 8:
      return TEXTS[pick(TEXTS.length)]! + pick(10);
    case 9:
      return TEXTS[pick(TEXTS.length)]!.repeat(pick(40));
    case 10:
      return new Date([NaN, 0, -1, 1000, 5e13 + 1, 8.64e15, -8.64e15, pick(2 ** 31) * 999][pick(8)]!);
    case 11:
      return Uint8Array.from({ length: pick(20) }, () => pick(256));
    case 12:
      return new Float64Array([random(), NaN, -0]);
    case 13:
      return new BigInt64Array([BigInt(pick(1000)), -1n]);
    case 14:
      return new Uint16Array(pick(400));
    case 15:
    case 16:
      return some(() => randomValue(random, depth - 1));
    case 17:
      return new Map(some(() => [randomValue(random, pick(2)), randomValue(random, depth - 1)]));
    case 18:
      return new Set(some(() => randomValue(random, depth - 1)));
    default:
      return Object.fromEntries(some(() => [KEYS[pick(KEYS.length)]!, randomValue(random, depth - 1)]));
  }
}

/** A random edit somewhere in a draft, or a value to take its place. */
export function randomEdit(random: () => number, draft: unknown): unknown {
  const pick = (n: number): number => Math.floor(random() * n);
  const fresh = (): unknown => randomValue(random, 2);
  if (Array.isArray(draft)) {
    switch (pick(8)) {
      case 0:
        draft.push(fresh());
        break;
      case 1:
        draft.shift();
        break;
      case 2:
        draft.splice(pick(draft.length + 1), pick(3), fresh(), fresh());
        break;
      case 3:
        draft.reverse();
        break;
      case 4:
        draft.unshift(fresh());
        break;
      case 5:
        draft.shift();
        draft.push(draft[0]);
        break;
      default:
        if (draft.length > 0) {
          const at = pick(draft.length);
          draft[at] = randomEdit(random, draft[at]);
        }
    }
    return draft;
  }
  if (draft instanceof Map) {
    const keys = [...draft.keys()];
    const key = keys[pick(keys.length)];
    const roll = pick(5);
    if (roll === 0) draft.set(TEXTS[pick(TEXTS.length)], fresh());
    else if (roll === 1) draft.delete(key);
    else if (roll === 2 && keys.length > 0) {
      const value: unknown = draft.get(key);
      draft.delete(key);
      draft.set(key, value);
    } else if (keys.length > 0) draft.set(key, randomEdit(random, draft.get(key)));
    return draft;
  }
  if (draft instanceof Set) {
    if (pick(2) === 0) draft.add(fresh());
    else draft.delete([...draft][pick(draft.size)]);
    return draft;
  }
  if (typeof draft === "object" && draft !== null && !(draft instanceof Date) && !ArrayBuffer.isView(draft)) {
    const record = draft as Record<string, unknown>;
    const keys = Object.keys(record);
    const key = keys[pick(keys.length)];
    const roll = pick(6);
    if (roll === 0) record[KEYS[pick(KEYS.length)]!] = fresh();
    else if (roll === 1 && key !== undefined) delete record[key];
    else if (roll === 2 && key !== undefined) record[KEYS[pick(KEYS.length)]!] = record[key];
    else if (roll === 3 && key !== undefined) {
      const value = record[key];
      delete record[key];
      record[key] = value;
    } else if (key !== undefined) record[key] = randomEdit(random, record[key]);
    return record;
  }
  return typeof draft === "string" && pick(2) === 0 ? `${draft} and more` : fresh();
}

/** Equal in values, prototypes, order of keys and everything else that can be seen. */
export function assertSame(actual: unknown, expected: unknown, message?: string): void {
  const [a, b] = [plain(actual), plain(expected)];
  // Comparing the texts is much faster; the comparison of the trees says where they differ.
  if (JSON.stringify(a) !== JSON.stringify(b)) deepStrictEqual(a, b, message);
}

/** Nested arrays that spell out every value with its type, so that comparing them hides nothing. */
function plain(value: unknown): unknown {
  if (typeof value === "number") return ["number", Object.is(value, -0) ? "-0" : String(value)];
  if (typeof value === "bigint") return ["bigint", String(value)];
  if (typeof value !== "object" || value === null) return [typeof value, value];
  const type = Object.getPrototypeOf(value)?.constructor?.name;
  if (Array.isArray(value)) return [type, value.map(plain)];
  if (value instanceof Date) return [type, String(value.getTime())];
  if (value instanceof Map) return [type, [...value].map(([k, v]) => [plain(k), plain(v)])];
  if (value instanceof Set) return [type, [...value].map(plain)];
  if (ArrayBuffer.isView(value)) return [type, Array.from(value as Uint8Array, (n) => plain(n))];
  return [type, Object.entries(value).map(([k, v]) => [k, plain(v)])];
}
