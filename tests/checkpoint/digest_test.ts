// Runs on deno by default: checkpoints are plain data, the same everywhere; the codec has tests on all three.
import { equal, notEqual, throws } from "node:assert/strict";
import { test } from "node:test";
import { digest } from "../../src/checkpoint/digest.ts";
import { SerializationError } from "../../src/errors.ts";

test("equal inputs have one digest, whatever the order of their keys, on every runtime (E1)", () => {
  const a = { x: 1, y: [new Map<unknown, unknown>([["a", 1], ["b", new Set([1, 2])]])], d: new Date(5) };
  const b = { d: new Date(5), y: [new Map<unknown, unknown>([["b", new Set([2, 1])], ["a", 1]])], x: 1 };
  equal(digest(a), digest(b));
  equal(digest(a), "60e17ccafb219b4a66574dde4b160bc584d69b4d0367c89f8370c4e4c7564929");
});

test("values that differ only in type have different digests (E1)", () => {
  const values: unknown[] = [
    null,
    undefined,
    0,
    -0,
    0n,
    "0",
    false,
    NaN,
    "NaN",
    "",
    [],
    {},
    new Map(),
    new Set(),
    [undefined],
    [null],
    { a: undefined },
    { a: null },
    ["a,b"],
    ["a", "b"],
    [["a"], "b"],
    { "a:1": 1 },
    new Date(0),
    new Date(NaN),
    new Uint8Array(),
    new Int8Array(),
    new Uint8Array([0]),
    new Uint16Array([0]),
    "d0",
    "u",
    ["u"],
    '"',
    new Map([["a", null]]),
  ];
  const digests = new Set(values.map((value) => digest(value)));
  equal(digests.size, values.length);
  notEqual(digest([1, 2]), digest([2, 1]));
});

test("what cannot be stored has no digest (C3)", () => {
  throws(() => digest({ f: () => 1 }), SerializationError);
});
