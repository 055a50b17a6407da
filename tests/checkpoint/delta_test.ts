// Runs on deno by default: checkpoints are plain data, the same everywhere; the codec has tests on all three.
import { deepEqual, equal, ok, throws } from "node:assert/strict";
import { test } from "node:test";
import { canonical } from "../../src/checkpoint/canonical.ts";
import { sizeOf } from "../../src/checkpoint/canonical_tag.ts";
import { CodecError, defaultCodec as codec } from "../../src/checkpoint/codec.ts";
import { advance, applyPatch, type Patch } from "../../src/checkpoint/delta.ts";
import { reduceDraft } from "../../src/checkpoint/draft.ts";
import { SerializationError } from "../../src/errors.ts";
import { assertSame, seeded } from "./values.ts";

const body = "b".repeat(1000);
const row = (id: number): { id: number; body: string } => ({ id, body });
const rows = Array.from({ length: 300 }, (_, id) => row(id));

/** What a reducer's change takes in the store; the patch is checked to lead to the same value. */
function cost(value: unknown, change: (draft: never) => unknown): number {
  const prev = canonical({ value }, "state") as { value: unknown };
  const next = reduceDraft(prev, (s) => {
    const returned = change(s.value as never);
    if (returned !== undefined) s.value = returned;
  }, "a reducer");
  const { value: live, patch } = advance(prev, next, "state");
  assertSame(live, next);
  if (patch === undefined) return 0;
  const bytes = codec.encode(patch);
  assertSame(applyPatch(prev, codec.decode(bytes) as Patch), live);
  return bytes.length;
}

type Rows = { id: number; body: string }[];
type Rec = Record<string, { id: number; body: string }>;

const CHEAP: Record<string, [unknown, (draft: never) => unknown, number]> = {
  "an appended element": [rows, (s: Rows) => void s.push(row(1)), 1100],
  "an element changed in place": [rows, (s: Rows) => void (s[150]!.id = -1), 60],
  "two elements changed far apart": [rows, (s: Rows) => void (s[1]!.id = s[299]!.id = -1), 80],
  "a window that moved on": [rows, (s: Rows) => (s.shift(), void s.push(row(1))), 1100],
  "an element removed in the middle": [rows, (s: Rows) => void s.splice(100, 1), 60],
  "an element inserted in the middle": [rows, (s: Rows) => void s.splice(100, 0, row(1)), 1100],
  "an element put in front": [rows, (s: Rows) => void s.unshift(row(1)), 1100],
  "a list returned anew with one more": [rows, (s: Rows) => [...s, row(1)], 1100],
  "a Map entry changed": [
    new Map(rows.map((r) => [r.id, r])),
    (s: Map<number, { id: number }>) => void (s.get(9)!.id = 1),
    60,
  ],
  "a Map entry added and one deleted": [
    new Map(rows.map((r) => [r.id, r])),
    (s: Map<number, unknown>) => (s.delete(7), void s.set(900, row(1))),
    1100,
  ],
  "a Set element added and one deleted": [
    new Set(rows.map((r) => r.body + r.id)),
    (s: Set<string>) => (s.delete(body + 7), void s.add("new")),
    60,
  ],
  "a record entry changed, one added, one deleted": [
    Object.fromEntries(rows.map((r) => [`k${r.id}`, r])),
    (s: Rec) => ((s["k1"]!.id = 9), (s["n"] = row(1)), void delete s["k5"]),
    1150,
  ],
  "a text that became longer": [body, (s: string) => `${s} and more`, 60],
};

for (const [name, [value, change, max]] of Object.entries(CHEAP)) {
  test(`${name} is written as just that (C2)`, () => {
    const bytes = cost(value, change);
    ok(bytes > 0 && bytes <= max, `${bytes} bytes`);
  });
}

test("a reducer that changes nothing writes nothing and keeps the object (C2)", () => {
  const prev = canonical({ a: [1, { b: new Map([[1, new Date(1)]]) }], c: new Uint8Array([1]) }, "state");
  const rebuilt = { a: [1, { b: new Map([[1, new Date(1)]]) }], c: new Uint8Array([1]) };
  deepEqual(advance(prev, rebuilt, "state"), { value: prev, patch: undefined });
  equal(advance(prev, rebuilt, "state").value, prev);
});

test("a change of type, of sign of zero, or of the order of keys is a change (C2)", () => {
  const same = (a: unknown, b: unknown): boolean => advance(canonical(a, "s"), b, "s").patch === undefined;
  ok(!same({ a: 0 }, { a: -0 }));
  ok(!same({ a: 1 }, { a: 1n }));
  ok(!same({ a: undefined }, {}));
  ok(!same({ a: 1, b: 2 }, { b: 2, a: 1 }));
  ok(!same([new Uint8Array([1])], [new Int8Array([1])]));
  ok(!same(new Map([["a", 1]]), { a: 1 }));
  ok(!same([undefined], []));
  ok(same({ a: NaN }, { a: NaN }));
});

test("a hole or a getter in a long list is refused although the list is mostly the same (C3)", () => {
  const prev = canonical(rows, "state");
  const holed = [...prev as Rows];
  delete holed[200];
  throws(() => advance(prev, holed, "state"), (e) => e instanceof SerializationError && e.path === "[200]");
  const fake = Object.defineProperty([...prev as Rows], 5, { get: () => 1, enumerable: true });
  throws(() => advance(prev, fake, "state"), (e) => e instanceof SerializationError && e.path === "[5]");
});

test("a long record is weighed by what changed, and what cannot be stored in it is refused unread (C2, C3)", () => {
  const long = Object.fromEntries(
    Array.from({ length: 200 }, (_, i) => [`key-${i}`, { n: i, text: "x".repeat(i) }]),
  );
  const prev = canonical(long, "state") as Record<string, unknown>;
  const next: Record<string, unknown> = { ...prev, "key-7": { n: -1, text: "other" }, "key-150": undefined };
  const { value, patch } = advance(prev, next, "state");
  deepEqual(value, next);
  deepEqual(applyPatch(prev, patch!), next);
  equal(sizeOf(value), sizeOf(canonical(next, "state")));
  equal(advance(prev, { ...prev }, "state").value, prev);
  let calls = 0;
  const fake = Object.defineProperty({ ...prev }, "key-5", {
    get: () => ++calls && prev["key-5"],
    enumerable: true,
  });
  throws(
    () => advance(prev, fake, "state"),
    (e) => e instanceof SerializationError && e.path === `["key-5"]`,
  );
  const hidden = Object.defineProperty({ ...prev }, "secret", { value: 1 });
  throws(() => advance(prev, hidden, "state"), SerializationError);
  equal(calls, 0);
});

test("a forged patch reaches no prototype and no place that is not there (FC-29)", () => {
  const prev = canonical(
    { a: { b: 1 }, list: [1], map: new Map([[1, 2]]), set: new Set([1]), t: "x" },
    "state",
  );
  const forged: unknown[] = [
    null,
    [],
    [9],
    [1, ["__proto__"], [], []],
    [1, [], ["__proto__", [0, { admin: true }]], []],
    [1, [], ["constructor", [1, [], ["prototype", [0, 1]], []]], []],
    [1, [], [], ["__proto__", { admin: true }]],
    [1, [], [], ["\ud800", 1]],
    [1, [], [], ["a"]],
    [1, ["missing"], [], []],
    [2, 0, [], 0, 0, []],
    [1, [], ["list", [2, 5, [], 0, 0, []]], []],
    [1, [], ["list", [2, 0, [7, [0, 1]], 0, 0, []]], []],
    [1, [], ["list", [2, 0, [], 0, 1e9, []]], []],
    [1, [], ["list", [2, 0, [], -1, 0, []]], []],
    [1, [], ["map", [3, [4], [], []]], []],
    [1, [], ["map", [3, [], [0.5, [0, 1]], []]], []],
    [1, [], ["set", [4, ["0"], []]], []],
    [1, [], ["t", [5, 1]], []],
    [1, [], ["a", [5, "x"]], []],
  ];
  for (const patch of forged) {
    throws(() => applyPatch(prev, patch as Patch), (e) => e instanceof CodecError, JSON.stringify(patch));
  }
  throws(() => applyPatch(prev, [0, JSON.parse('{"__proto__":1}')]), SerializationError);
  equal(({} as { admin?: boolean }).admin, undefined);
});

test("damaged patches are refused or applied, never a crash (CKP-20)", () => {
  const random = seeded(7);
  const prev = canonical({ list: [1, { a: 1 }], map: new Map([["k", 1]]), text: "t".repeat(99) }, "state");
  const next = { list: [2, { a: 2 }, 3], map: new Map([["k", 2], ["l", 3]]), text: `${"t".repeat(99)}u` };
  const bytes = codec.encode(advance(prev, next, "state").patch);
  for (let n = 0; n < 5000; n++) {
    const damaged = bytes.slice();
    damaged[1 + Math.floor(random() * (bytes.length - 1))] = Math.floor(random() * 256);
    try {
      applyPatch<unknown>(prev, codec.decode(damaged) as Patch);
    } catch (error) {
      ok(error instanceof CodecError || error instanceof SerializationError, String(error));
    }
  }
});
