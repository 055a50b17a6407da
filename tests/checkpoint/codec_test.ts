import { deepEqual, equal, ok, throws } from "node:assert/strict";
import { test } from "node:test";
import { canonical } from "../../src/checkpoint/canonical.ts";
import { CodecError, defaultCodec as codec, FORMAT } from "../../src/checkpoint/codec.ts";
import { assertSame, randomValue, seeded } from "./values.ts";

const fromBase64 = (text: string): Uint8Array => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
const toBase64 = (bytes: Uint8Array): string => btoa(String.fromCharCode(...bytes));

const reasonOf = (bytes: Uint8Array): string => {
  try {
    codec.decode(bytes);
  } catch (error) {
    ok(error instanceof CodecError, String(error));
    return error.reason;
  }
  return "decoded";
};

const GOLDEN: readonly (readonly [unknown, string])[] = [
  [{
    a: [null, undefined, true, -0, NaN, 1.5, -33, 70000],
    b: "héllo 😀",
    c: new Date(1234567890123),
    d: new Date(NaN),
  }, "AYShYZjA1AAAw5LBAMt/+AAAAAAAAMs/+AAAAAAAANDfzgABEXChYqtow6lsbG8g8J+YgKFj1/8dU1MASZYC0qFk1P//"],
  [
    new Map<unknown, unknown>([["k", new Set([1, "two"])], [{ id: 1 }, 2n ** 100n]]),
    "AZbBAaFr1HMAkgGjdHdvgaJpZAHYQgAAABAAAAAAAAAAAAAAAAA=",
  ],
  [
    [
      new Uint8Array([1, 2, 3]),
      new Float64Array([0.5, -0]),
      new BigInt64Array([-1n]),
      new Uint16Array([513]),
    ],
    "AZTHBHQBAQIDxxF0CAAAAAAAAOA/AAAAAAAAAIDHCXQJ///////////HA3QEAQI=",
  ],
  [
    [
      "\ufeffmarked",
      { "\ufeffkey": { constructor: 1, __keys__: 2 } },
      -(2n ** 70n),
      new Date(-1),
      "x".repeat(40),
    ],
    "AZWTwQKmbWFya2VklMEDk8ECo2tleYKrY29uc3RydWN0b3IBqF9fa2V5c19fAthC/////////8AAAAAAAAAAAMcM/zuLh8D//////////9koeHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eA==",
  ],
];

test("bytes written on one runtime are read on the others, and every runtime writes the same (C3)", () => {
  for (const [value, base64] of GOLDEN) {
    assertSame(codec.decode(fromBase64(base64)), value);
    equal(toBase64(codec.encode(canonical(value, "golden"))), base64);
  }
});

test("the first byte is the version of the format; a newer one is refused, so is one that never was (C3)", () => {
  equal(codec.encode(1)[0], FORMAT);
  equal(reasonOf(new Uint8Array([FORMAT + 1, 1])), "newer");
  throws(() => codec.decode(new Uint8Array([FORMAT + 1, 1])), /version 2.*upgrade/);
  equal(reasonOf(new Uint8Array([0, 1])), "malformed");
  equal(reasonOf(new Uint8Array()), "malformed");
});

test("nobody writes to encoded bytes again, decoded values own their memory, and no Buffer comes out (C3)", () => {
  const value = { bytes: new Uint8Array([1, 2, 3]), floats: new Float32Array([1]) };
  const bytes = codec.encode(value);
  const before = [...bytes];
  for (let size = 1; size < 100_000; size *= 3) codec.encode({ bytes: new Uint8Array(size).fill(0xff) });
  deepEqual([...bytes], before);
  equal(Object.getPrototypeOf(bytes), Uint8Array.prototype);
  const { Buffer } = globalThis as { Buffer?: { from(bytes: Uint8Array): Uint8Array } };
  for (const source of Buffer === undefined ? [bytes] : [bytes, Buffer.from(bytes)]) {
    const decoded = codec.decode(source) as typeof value;
    equal(Object.getPrototypeOf(decoded.bytes), Uint8Array.prototype);
    source.fill(0xff, 1);
    deepEqual([...decoded.bytes, ...decoded.floats], [1, 2, 3, 1]);
    bytes.set(codec.encode(value));
  }
});

test("what cannot be encoded is refused, never left out (C3)", () => {
  for (const value of [() => 1, Symbol("x"), /x/, new Error("x"), new (class Foo {})()]) {
    throws(() => codec.encode({ a: [value] }), (e) => e instanceof CodecError && e.reason === "unsupported");
  }
});

test("arbitrary bytes are refused or decoded, never a crash, and what was decoded is stable from then on (CKP-20)", () => {
  const random = seeded(20);
  let decoded = 0;
  const feed = (bytes: Uint8Array): void => {
    let value: unknown;
    try {
      value = codec.decode(bytes);
    } catch (error) {
      ok(error instanceof CodecError, `${error}`);
      return;
    }
    decoded++;
    const normalised = codec.encode(value);
    deepEqual(codec.encode(codec.decode(normalised)), normalised);
  };
  for (let n = 0; n < 20_000; n++) {
    feed(
      Uint8Array.from(
        { length: 1 + Math.floor(random() * 40) },
        (_, i) => i === 0 ? FORMAT : Math.floor(random() * 256),
      ),
    );
  }
  for (let n = 0; n < 3_000; n++) {
    const bytes = codec.encode(canonical(randomValue(random), "value"));
    for (let edits = 0; edits < 3; edits++) {
      bytes[1 + Math.floor(random() * (bytes.length - 1))] = Math.floor(random() * 256);
    }
    feed(bytes);
    feed(bytes.subarray(0, Math.floor(random() * bytes.length)));
  }
  ok(decoded > 500, `only ${decoded} of the inputs were values`);
});

test("sizes and nesting are bounded before anything is decoded (STR-16)", () => {
  const cases: Record<string, number[]> = {
    "an array of 4 billion": [0xdd, 0xff, 0xff, 0xff, 0xff],
    "a map of 4 billion": [0xdf, 0xff, 0xff, 0xff, 0xff],
    "a string of 4 GB": [0xdb, 0xff, 0xff, 0xff, 0xff],
    "bytes of 4 GB": [0xc6, 0xff, 0xff, 0xff, 0xff],
    "an extension of 4 GB": [0xc9, 0xff, 0xff, 0xff, 0xff, 0x74],
    "100 000 nested arrays": [...new Array(100_000).fill(0x91), 1],
    "100 000 nested sets": [...new Array(100_000).fill([0xd4, 0x73, 0, 0x91]).flat(), 1],
    "a value too few": [0x92, 1],
    "a value too many": [1, 1],
  };
  for (const [name, bytes] of Object.entries(cases)) {
    equal(reasonOf(Uint8Array.from([FORMAT, ...bytes])), "malformed", name);
  }
});

test("nothing outside the serialization table comes out of forged bytes (C3)", () => {
  const text = [0xa1, 0x61];
  const cases: Record<string, number[]> = {
    "an Error": [0xd4, 0x65, 0, 0x93, ...text, ...text, 0xc0],
    "a RegExp": [0xd4, 0x78, 0, 0x92, ...text, ...text],
    "a record definition": [0xd4, 0x72, 0x40, 0x91, ...text, 1],
    "an ArrayBuffer": [0xc7, 2, 0x74, 16, 0],
    "a DataView": [0xc7, 2, 0x74, 17, 0],
    "a typed array of half an element": [0xc7, 2, 0x74, 8, 0],
    "a pointer": [0xd6, 0x70, 0, 0, 0, 1],
    "a Set of a text": [0xd4, 0x73, 0, ...text],
    "a bare marker": [0xc1],
    "a marker in an object": [0x81, ...text, 0xc1],
    "an unknown wrapping": [0x92, 0xc1, 0x20],
    "a Map with half an entry": [0x93, 0xc1, 1, 1],
    "an object with a number for a key": [0x94, 0xc1, 3, 1, 1],
  };
  for (const [name, bytes] of Object.entries(cases)) {
    equal(reasonOf(Uint8Array.from([FORMAT, ...bytes])), "malformed", name);
  }
});

test("a forged __proto__ key does not reach a prototype (FC-29)", () => {
  const key = [0xa9, ...new TextEncoder().encode("__proto__")];
  const admin = [0x81, 0xa5, ...new TextEncoder().encode("admin"), 0xc3];
  const plain = codec.decode(Uint8Array.from([FORMAT, 0x81, ...key, ...admin])) as object;
  const wrapped = codec.decode(Uint8Array.from([FORMAT, 0x94, 0xc1, 3, ...key, ...admin])) as object;
  for (const value of [plain, wrapped]) {
    equal(Object.getPrototypeOf(value), Object.prototype);
    equal((value as { admin?: boolean }).admin, undefined);
  }
  throws(() => canonical(wrapped, "a stored value"), /__proto__/);
  equal(({} as { admin?: boolean }).admin, undefined);
});
