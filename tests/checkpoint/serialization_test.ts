import { deepEqual, equal, notEqual, ok, throws } from "node:assert/strict";
import { test } from "node:test";
import { canonical } from "../../src/checkpoint/canonical.ts";
import { isMarked } from "../../src/checkpoint/canonical_tag.ts";
import { defaultCodec } from "../../src/checkpoint/codec.ts";
import { advance } from "../../src/checkpoint/delta.ts";
import { leafEdits } from "../../src/checkpoint/in_place_edits.ts";
import { SerializationError } from "../../src/errors.ts";
import { assertSame } from "./values.ts";

const WHAT = "the output of vertex draft";

const reload = (value: unknown): unknown => defaultCodec.decode(defaultCodec.encode(value));

const KEPT: Record<string, unknown> = {
  "a Date": new Date(1234567890123),
  "a Date before 1970": new Date(-1),
  "an invalid Date": new Date(NaN),
  "a Map with object keys": new Map<unknown, unknown>([[{ id: 1 }, new Map([[NaN, undefined]])], [null, 1n]]),
  "a Set": new Set<unknown>([1, "1", { a: 1 }, NaN]),
  "bigints": [0n, -1n, 2n ** 63n, -(2n ** 63n) - 1n, 2n ** 64n, 2n ** 3000n, -(2n ** 70000n)],
  "undefined as value, field and element": { a: undefined, b: [undefined, null] },
  "undefined itself": undefined,
  "falsy values": [0, "", false, null, 0n],
  "numbers that JSON loses": [NaN, Infinity, -Infinity, -0, { zero: -0 }, new Map([["zero", -0]])],
  "numbers at the edges of formats": [
    127,
    128,
    255,
    256,
    65535,
    65536,
    2 ** 32 - 1,
    2 ** 32,
    -32,
    -33,
    -128,
    -129,
    -32769,
  ],
  "typed arrays": [new Int8Array([-1]), new Float32Array([0.5, NaN]), new BigUint64Array([2n ** 64n - 1n])],
  "a view into larger memory": new Uint8Array(new ArrayBuffer(100), 40, 3).fill(7),
  "a string of 5 MiB": "é".repeat(2.5 * 1024 * 1024),
  "an emoji": "😀",
  "text that begins with a byte order mark": ["\ufeff", "\ufeff\ufeff" + "x".repeat(100), {
    ["\ufeff" + "k".repeat(90)]: 1,
  }],
  "one object referenced twice": ((shared) => ({ a: shared, b: [shared] }))({ n: 1 }),
  "a frozen object": Object.freeze({ a: Object.freeze([1]) }),
  "keys that other code gives a meaning": {
    constructor: 1,
    prototype: {},
    toJSON: "x",
    then: 1,
    hasOwnProperty: 2,
    __keys__: 3,
    valueOf: null,
    length: 9,
    size: 1,
  },
  "objects that imitate codec markers": [[{ name: "MessagePack 0xC1" }, 1], [0xc1, 0], { $date: 1 }, [
    "\xc1",
    1,
  ], {
    type: "Buffer",
    data: [1],
  }],
  "a record with 70 000 keys": Object.fromEntries(Array.from({ length: 70000 }, (_, i) => [`k${i}`, i])),
};

for (const [name, value] of Object.entries(KEPT)) {
  test(`${name} is the same live and reloaded (C3, FC-27)`, () => {
    const live = canonical(value, WHAT);
    assertSame(live, value);
    assertSame(canonical(reload(live), WHAT), live);
  });
}

test("an object without a prototype is kept as an ordinary object, a Buffer as bytes (C3, FC-27)", () => {
  const bare = Object.assign(Object.create(null), { a: 1 }) as object;
  const live = canonical({ bare, buffer: new TextEncoder().encode("hi") }, WHAT);
  assertSame(live, { bare: { a: 1 }, buffer: new Uint8Array([104, 105]) });
  const { Buffer } = globalThis as { Buffer?: { from(text: string): Uint8Array } };
  if (Buffer !== undefined) assertSame(canonical([Buffer.from("hi")], WHAT), [new Uint8Array([104, 105])]);
});

class Money {
  constructor(readonly amount: number) {}
}
class Registry extends Map<string, number> {}

function cycle(): unknown {
  const a: Record<string, unknown> = {};
  a["b"] = [a];
  return a;
}

function nested(levels: number): unknown {
  let value: unknown = 1;
  for (let i = 0; i < levels; i++) value = i % 2 === 0 ? { n: value } : [value];
  return value;
}

let calls = 0;
const called = (): number => ++calls;

const REFUSED: Record<string, { value: unknown; path: string; type: string }> = {
  "a RegExp": { value: /x/, path: "at.x", type: "an instance of RegExp" },
  "a URL": { value: new URL("http://x"), path: "at.x", type: "an instance of URL" },
  "an Error with a cause": {
    value: new Error("x", { cause: 1 }),
    path: "at.x",
    type: "an instance of Error",
  },
  "a Blob": { value: new Blob(["x"]), path: "at.x", type: "an instance of Blob" },
  "a stream": { value: new ReadableStream(), path: "at.x", type: "an instance of ReadableStream" },
  "a promise": { value: Promise.resolve(1), path: "at.x", type: "a promise" },
  "a function": { value: called, path: "at.x", type: "a function" },
  "a symbol": { value: Symbol("x"), path: "at.x", type: "a symbol" },
  "a class instance": { value: new Money(1), path: "at.x", type: "an instance of Money" },
  "a subclass of Map": { value: new Registry(), path: "at.x", type: "an instance of Registry" },
  "an object that only imitates a Map": {
    value: Object.create(Map.prototype),
    path: "at.x",
    type: "a value that cannot be read",
  },
  "an ArrayBuffer": { value: new ArrayBuffer(1), path: "at.x", type: "an instance of ArrayBuffer" },
  "a boxed number": { value: Object(1), path: "at.x", type: "an instance of Number" },
  "a symbol key": { value: { [Symbol("k")]: 1 }, path: "at.x[Symbol(k)]", type: "under a symbol key" },
  "a getter": {
    value: Object.defineProperty({}, "g", { get: called, enumerable: true }),
    path: "at.x.g",
    type: "a getter or setter",
  },
  "a getter in an array": {
    value: Object.defineProperty([1], 0, { get: called, enumerable: true }),
    path: "at.x[0]",
    type: "a getter or setter",
  },
  "a hidden property": {
    value: Object.defineProperty({}, "h", { value: 1 }),
    path: "at.x.h",
    type: "a hidden property",
  },
  "a toJSON method": { value: { toJSON: called }, path: "at.x.toJSON", type: "a function" },
  "a thenable": { value: { then: called }, path: "at.x.then", type: "a function" },
  "an iterable": {
    value: { [Symbol.iterator]: called },
    path: "at.x[Symbol(Symbol.iterator)]",
    type: "under a symbol key",
  },
  "a hole in an array": { value: [1, , 2], path: "at.x[1]", type: "a hole in an array" }, // deno-lint-ignore no-sparse-arrays
  "an array with a property": {
    value: Object.assign([1], { index: 0 }),
    path: "at.x",
    type: 'an array with the property "index"',
  },
  "a Map with a property": {
    value: Object.assign(new Map(), { note: 1 }),
    path: "at.x",
    type: "a collection with properties of its own",
  },
  "a lone surrogate": { value: "a\ud800", path: "at.x", type: "a string with a lone surrogate" },
  "a key with a lone surrogate": {
    value: { "\udc00": 1 },
    path: 'at.x["\\udc00"]',
    type: "under a key with a lone surrogate",
  },
  "the key __proto__": {
    value: JSON.parse('{"__proto__":{"admin":true}}'),
    path: "at.x.__proto__",
    type: "under the key __proto__",
  },
  "a cycle": { value: cycle(), path: "at.x.b[0]", type: "a cycle" },
  "a function in a Map in a Set": {
    value: new Set([1, new Map([["k", called]])]),
    path: 'at.x.values[1].get("k")',
    type: "a function",
  },
  "a bad Map key": { value: new Map([[called, 1]]), path: "at.x.keys[0]", type: "a function" },
  "a proxy that throws": {
    value: new Proxy({}, {
      ownKeys() {
        throw new Error("trap");
      },
    }),
    path: "at.x",
    type: "a value that cannot be read",
  },
  "a revoked proxy": {
    value: ((p) => (p.revoke(), p.proxy))(Proxy.revocable({}, {})),
    path: "at.x",
    type: "a value that cannot be read",
  },
};

for (const [name, { value, path, type }] of Object.entries(REFUSED)) {
  test(`${name} is refused with what, path and type, and no code of it runs (C3, FC-27, TSK-21)`, () => {
    const before = calls;
    const refusal = (error: unknown): boolean => {
      ok(error instanceof SerializationError, String(error));
      deepEqual([error.what, error.path, error.type], [WHAT, path, type]);
      ok(error.message.includes(WHAT) && error.message.includes(path));
      return true;
    };
    throws(() => canonical({ at: { x: value } }, WHAT), refusal);
    const prev = canonical({ at: { x: 1 } }, WHAT);
    throws(() => advance(prev, { at: { x: value } }, WHAT), refusal);
    equal(calls, before);
  });
}

test("10 000 levels of nesting are refused with a type, 256 are kept (C3, FC-27)", () => {
  for (const levels of [257, 10_000]) {
    throws(
      () => canonical(nested(levels), WHAT),
      (e) => e instanceof SerializationError && e.type === "nested too deeply" && e.message.length < 600,
    );
    throws(() => advance(canonical(1, WHAT), nested(levels), WHAT), SerializationError);
  }
  const live = canonical(nested(256), WHAT);
  assertSame(reload(live), live);
});

test("objects that multiply through repeated references are refused before they fill the memory (C3)", () => {
  let value: unknown = {};
  for (let i = 0; i < 40; i++) value = { a: value, b: value };
  throws(
    () => canonical(value, WHAT),
    (e) => e instanceof SerializationError && e.type === "one value too many",
  );
});

test("a canonical value is deeply frozen, its collections are read-only, and it stays an ordinary value (E2)", () => {
  const live = canonical({ list: [{ a: 1 }], map: new Map([["k", { v: 1 }]]), set: new Set([1]) }, WHAT) as {
    list: { a: number }[];
    map: Map<string, { v: number }>;
    set: Set<number>;
  };
  throws(() => live.list.push({ a: 2 }), TypeError);
  throws(() => (live.list[0]!.a = 2), TypeError);
  throws(() => live.map.set("x", { v: 2 }), /read-only/);
  throws(() => live.map.delete("k"), /read-only/);
  throws(() => live.map.clear(), /read-only/);
  throws(() => (live.map.get("k")!.v = 2), TypeError);
  throws(() => live.set.add(2), /read-only/);
  throws(() => live.set.delete(1), /read-only/);
  throws(() => live.set.clear(), /read-only/);
  deepEqual(live, { list: [{ a: 1 }], map: new Map([["k", { v: 1 }]]), set: new Set([1]) });
  deepEqual(structuredClone(live.map), new Map([["k", { v: 1 }]]));
});

test("a canonical value is a copy: nothing done to the original shows in it (E2, FC-26, TSK-20)", () => {
  const original = {
    list: [1],
    nested: { map: new Map([["k", [1]]]) },
    date: new Date(5),
    bytes: new Uint8Array([1]),
  };
  const live = canonical(original, WHAT);
  original.list.push(2);
  original.nested.map.get("k")!.push(2);
  original.nested.map.set("l", []);
  original.date.setTime(6);
  original.bytes[0] = 2;
  assertSame(live, {
    list: [1],
    nested: { map: new Map([["k", [1]]]) },
    date: new Date(5),
    bytes: new Uint8Array([1]),
  });
});

test("empty collections stay empty collections, and repeated references become copies, live too (TSK-20)", () => {
  const live = canonical({ map: new Map(), list: [], object: {}, set: new Set() }, WHAT);
  assertSame(reload(live), { map: new Map(), list: [], object: {}, set: new Set() });
  const shared = { n: 1 };
  const twice = canonical([shared, shared], WHAT) as { n: number }[];
  notEqual(twice[0], twice[1]);
  const again = canonical([twice[0], twice[0]], WHAT) as object[];
  notEqual(again[0], again[1]);
});

test("a canonical value is not copied again (C3)", () => {
  const live = canonical({ a: {} }, WHAT) as { a: object };
  equal(canonical(live, WHAT), live);
  equal(canonical(live.a, WHAT), live.a);
  ok(isMarked(live.a as object) && !isMarked({}));
});

test("an edit of a Date or of bytes is found by path and undone (E2)", () => {
  const live = canonical({
    a: [{ when: new Date(5) }],
    m: new Map([["b", new Uint8Array([1, 2])]]),
    n: { x: 1 },
  }, WHAT) as {
    a: { when: Date }[];
    m: Map<string, Uint8Array>;
    n: object;
  };
  equal(leafEdits(live), undefined);
  live.a[0]!.when.setTime(NaN);
  equal(leafEdits(live), "a[0].when");
  equal(leafEdits(live), undefined);
  equal(live.a[0]!.when.getTime(), 5);
  live.m.get("b")![1] = 9;
  equal(leafEdits(live), 'm.get("b")');
  deepEqual(live.m.get("b"), new Uint8Array([1, 2]));
  equal(leafEdits(live.n), undefined);
});
