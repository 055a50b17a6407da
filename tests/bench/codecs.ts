/**
 * The comparison behind the choice of the codec, as JSON lines. `deno run -A --no-lock tests/bench/codecs.ts`
 *
 * Each line: the median milliseconds to encode and to decode 69 KB of small objects, the bytes, and for every value
 * of the serialization table what became of it: nothing is listed when it came back equal, `changed` lists what came
 * back different without a word, `refused` what was refused.
 */

import process from "node:process";
import v8 from "node:v8";
import { Packr } from "msgpackr/pack";
import { canonical } from "../../src/checkpoint/canonical.ts";
import { defaultCodec } from "../../src/checkpoint/codec.ts";

interface Candidate {
  readonly name: string;
  encode(value: unknown): Uint8Array | string;
  decode(encoded: never): unknown;
}

const HARD: Record<string, unknown> = {
  "undefined field": { a: undefined },
  "undefined element": [undefined],
  "NaN": NaN,
  "Infinity": -Infinity,
  "−0": -0,
  "bigint": 2n ** 70n,
  "Date": new Date(1234567890123),
  "invalid Date": new Date(NaN),
  "Map": new Map([["a", 1]]),
  "Map with object keys": new Map([[{ a: 1 }, 1]]),
  "Set": new Set([1, { a: 1 }]),
  "bytes": new Uint8Array([1, 2, 3]),
  "Float64Array": new Float64Array([1.5]),
  "array hole": [1, , 3], // deno-lint-ignore no-sparse-arrays
  "key __proto__": JSON.parse('{"__proto__":{"a":1}}'),
  "lone surrogate": "a\ud800b",
  "text with a byte order mark": "\ufeff" + "x".repeat(80),
  "key __keys__": [{ __keys__: 1 }, {}],
  "key toJSON": { constructor: 1, toJSON: 1 },
  "class instance": new (class Money {
    constructor(readonly amount = 1) {}
  })(),
  "function": { f: () => 1 },
};

const objects = Array.from({ length: 1000 }, (_, id) => ({
  id,
  name: `name ${id}`,
  active: id % 2 === 0,
  score: id * 1.5,
  tags: ["a", "b"],
}));

const packr = (name: string, options: ConstructorParameters<typeof Packr>[0]): Candidate => {
  const instance = new Packr(options);
  return {
    name,
    encode: (value) => new Uint8Array(instance.encode(value)),
    decode: (bytes: Uint8Array) => instance.decode(bytes),
  };
};

const candidates: Candidate[] = [
  {
    name: "superstep (msgpackr behind the validating walk)",
    encode: (value) => defaultCodec.encode(canonical(value, "a value")),
    decode: (bytes: Uint8Array) => defaultCodec.decode(bytes),
  },
  {
    name: "superstep, value already canonical",
    encode: (value) => defaultCodec.encode(value),
    decode: (bytes: Uint8Array) => defaultCodec.decode(bytes),
  },
  packr("msgpackr structuredClone, records", { structuredClone: true, moreTypes: true }),
  packr("msgpackr without records", { useRecords: false, variableMapSize: true, moreTypes: true }),
  {
    name: "JSON",
    encode: (value) => JSON.stringify(value) ?? "",
    decode: (text: string) => JSON.parse(text),
  },
  {
    name: "node:v8",
    encode: (value) => v8.serialize(value),
    decode: (bytes: Uint8Array) => v8.deserialize(bytes),
  },
  ...await optional("cbor-x", (m) => {
    const { Encoder } = m as {
      Encoder: new (options: object) => { encode(v: unknown): Uint8Array; decode(b: Uint8Array): unknown };
    };
    const encoder = new Encoder({ structuredClone: true });
    return { encode: (v) => new Uint8Array(encoder.encode(v)), decode: (b: Uint8Array) => encoder.decode(b) };
  }),
  ...await optional("devalue", (m) => {
    const { stringify, parse } = m as { stringify(v: unknown): string; parse(t: string): unknown };
    return { encode: stringify, decode: parse as (t: never) => unknown };
  }),
  ...await optional("superjson", (m) => {
    const { default: superjson } = m as {
      default: { stringify(v: unknown): string; parse(t: string): unknown };
    };
    return { encode: (v) => superjson.stringify(v), decode: (t: string) => superjson.parse(t) };
  }),
  ...await optional("seroval", (m) => {
    const { toJSON, fromJSON } = m as { toJSON(v: unknown): unknown; fromJSON(v: unknown): unknown };
    return { encode: (v) => JSON.stringify(toJSON(v)), decode: (t: string) => fromJSON(JSON.parse(t)) };
  }),
];

/** A candidate that is measured where it is at hand: from npm under Deno, elsewhere when it is installed. */
async function optional(
  name: string,
  make: (module: unknown) => Omit<Candidate, "name">,
): Promise<Candidate[]> {
  const specifier = "Deno" in globalThis ? `npm:${name}` : name;
  try {
    return [{ name, ...make(await import(specifier)) }];
  } catch (error) {
    const skipped = error instanceof Error ? error.message.split("\n")[0] : String(error);
    console.log(JSON.stringify({ codec: name, skipped }));
    return [];
  }
}

function median(run: () => void): number {
  const times: number[] = [];
  for (let i = 0; i < 60; i++) {
    const begin = performance.now();
    run();
    times.push(performance.now() - begin);
  }
  times.sort((a, b) => a - b);
  return Number(times[30]!.toFixed(3));
}

/** A value as a text that shows every type and every difference. */
function spell(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value);
  if (typeof value !== "object" || value === null) {
    return `${typeof value} ${Object.is(value, -0) ? "-0" : String(value)}`;
  }
  const type = (Object.getPrototypeOf(value) as object | null)?.constructor?.name;
  if (value instanceof Date) return `Date ${value.getTime()}`;
  if (value instanceof Map) return `Map {${[...value].map(([k, v]) => `${spell(k)}:${spell(v)}`).join()}}`;
  if (value instanceof Set) return `Set {${[...value].map(spell).join()}}`;
  const keys = Object.keys(value).map((k) =>
    `${JSON.stringify(k)}:${spell((value as Record<string, unknown>)[k])}`
  );
  return `${type} ${Array.isArray(value) ? value.length : ""} {${keys.join()}}`;
}

const input = canonical(objects, "objects");
const runtime = "Deno" in globalThis ? "deno" : "bun" in process.versions ? "bun" : "node";
for (const { name, encode, decode } of candidates) {
  const encoded = encode(input);
  const changed: string[] = [];
  const refused: string[] = [];
  for (const [what, value] of Object.entries(HARD)) {
    try {
      if (spell(decode(encode(value) as never)) !== spell(value)) changed.push(what);
    } catch {
      refused.push(what);
    }
  }
  const line = {
    codec: name,
    runtime,
    encodeMs: median(() => encode(name.endsWith("walk)") ? objects : input)),
    decodeMs: median(() => decode(encoded as never)),
    bytes: typeof encoded === "string" ? new TextEncoder().encode(encoded).length : encoded.byteLength,
    changed,
    refused,
  };
  console.log(JSON.stringify(line));
}
