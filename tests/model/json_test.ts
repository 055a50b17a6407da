// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fromJson, toJson } from "../../src/model/json.ts";
import { assertSame, randomValue, seeded } from "../checkpoint/values.ts";

function throughText(value: unknown): unknown {
  return fromJson(JSON.parse(JSON.stringify(toJson(value))), "the value");
}

test("every storable value comes back equal through its JSON text (W2)", () => {
  const random = seeded(7);
  for (let i = 0; i < 500; i++) {
    const value = randomValue(random);
    assertSame(throughText(value), value);
  }
});

test("values that imitate the tags, at any depth, come back as they were (W2)", () => {
  const imitations = [
    { $date: "2026-11-29T12:00:00.000Z" },
    { $plain: { $date: "x" } },
    { $plain: { $plain: { $map: [] } } },
    [{ $undefined: true }, { a: { $bytes: "AAAA" } }],
    new Map([[{ $set: [] }, { $number: "NaN" }]]),
    { $unknown: 1 },
    { $date: 1, other: 2 },
  ];
  for (const value of imitations) assert.deepEqual(throughText(value), value);
});

test("the JSON is the documented one (W2)", () => {
  const json = toJson({
    at: new Date(0),
    big: 12345678901234567890n,
    map: new Map([[1, undefined]]),
    set: new Set(["a"]),
    bytes: new Uint8Array([1, 2, 3]),
    floats: new Float32Array([1.5]),
    zero: -0,
    none: NaN,
  });
  assert.deepEqual(json, {
    at: { $date: "1970-01-01T00:00:00.000Z" },
    big: { $bigint: "12345678901234567890" },
    map: { $map: [[1, { $undefined: true }]] },
    set: { $set: ["a"] },
    bytes: { $bytes: "AQID" },
    floats: { $typed: ["Float32Array", "AADAPw=="] },
    zero: { $number: "-0" },
    none: { $number: "NaN" },
  });
});

test("an object with one unknown $ key, or several keys, is that object (W2)", () => {
  for (const json of [{ $ref: "#/x" }, { $date: "x", more: 1 }, { toString: 1 }, { $toString: 1 }]) {
    assert.deepEqual(fromJson(json, "the value"), json);
  }
});

test("a tag with what it cannot mean is refused with its place (W2)", () => {
  const cases: readonly (readonly [unknown, RegExp])[] = [
    [{ a: [{ at: { $date: "soon" } }] }, /a\[0\]\.at\.\$date is "soon"; it must be an ISO 8601 time/],
    [{ $bigint: 5 }, /\$bigint is 5/],
    [{ $bigint: "1e3" }, /\$bigint is "1e3"/],
    [{ $number: "1" }, /\$number is "1"/],
    [{ $undefined: false }, /\$undefined is false/],
    [{ $map: [["a"]] }, /\$map is \[\["a"\]\]/],
    [{ $map: [["a", { $set: 1 }]] }, /\$map\[0\]\[1\]\.\$set is 1/],
    [{ $set: { a: 1 } }, /\$set is/],
    [{ $bytes: "not base64!" }, /\$bytes is "not base64!"/],
    [{ $typed: ["Float64Array", "AAAA"] }, /\$typed is/],
    [{ $typed: ["Object", "AAAA"] }, /\$typed is/],
    [{ $plain: [] }, /\$plain is/],
  ];
  for (const [json, message] of cases) {
    assert.throws(() => fromJson(json, "the input"), (error: Error) => {
      assert.match(error.message, /^superstep: the input: /);
      assert.match(error.message, message);
      return true;
    });
  }
});

test("__proto__ and constructor keys stay plain own keys and change no prototype (FC-29)", () => {
  const json = JSON.parse(
    `{"__proto__":{"admin":true},"a":[{"__proto__":{"admin":true}}],"constructor":{"prototype":{"admin":true}}}`,
  );
  const value = fromJson(json, "the input") as Record<string, unknown>;
  assert.deepEqual(Object.keys(value), ["__proto__", "a", "constructor"]);
  assert.equal(Object.getPrototypeOf(value), Object.prototype);
  assert.equal(({} as { admin?: unknown }).admin, undefined);
  assert.equal((value as { admin?: unknown }).admin, undefined);
  assert.equal(JSON.stringify(toJson(value)), JSON.stringify(json));
});

test("JSON that nests too deep is refused, not a stack overflow (FC-29)", () => {
  let deep: unknown = 1;
  for (let i = 0; i < 100_000; i++) deep = [deep];
  assert.throws(() => fromJson(deep, "the input"), /nests deeper than/);
});
