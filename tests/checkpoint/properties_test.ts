// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import { equal, ok } from "node:assert/strict";
import { test } from "node:test";
import { canonical } from "../../src/checkpoint/canonical.ts";
import { defaultCodec } from "../../src/checkpoint/codec.ts";
import { advance, applyPatch, type Patch } from "../../src/checkpoint/delta.ts";
import { reduceDraft } from "../../src/checkpoint/draft.ts";
import { sizeOf } from "../../src/checkpoint/canonical_tag.ts";
import { assertSame, randomEdit, randomValue, seeded } from "./values.ts";

const reload = (value: unknown): unknown => defaultCodec.decode(defaultCodec.encode(value));

test("any value of the table is the same live, encoded and decoded (C3, CKP-18, CKP-19)", () => {
  for (let seed = 1; seed <= 1000; seed++) {
    const value = randomValue(seeded(seed));
    const live = canonical(value, `value ${seed}`);
    assertSame(live, value, `seed ${seed}`);
    assertSame(reload(live), live, `seed ${seed}`);
  }
});

test("the size that is kept is exactly the size that is written (C5)", () => {
  for (let seed = 1; seed <= 1000; seed++) {
    const live = canonical(randomValue(seeded(seed)), `value ${seed}`);
    equal(sizeOf(live) + 1, defaultCodec.encode(live).length, `seed ${seed}`);
  }
});

test("a chain of edits and its stored patches lead to the same values, and untouched parts stay the same objects (C2)", () => {
  for (let seed = 1; seed <= 120; seed++) {
    const random = seeded(seed);
    let live = canonical({ a: randomValue(random), b: randomValue(random), c: [1] }, "state") as Record<
      string,
      unknown
    >;
    let loaded = canonical(reload(live), "state") as Record<string, unknown>;
    for (let step = 0; step < 12; step++) {
      const next = reduceDraft(live, (s) => void randomEdit(random, s), "a reducer");
      const { value, patch } = advance(live, next, "state");
      assertSame(value, next, `seed ${seed}, step ${step}`);
      ok(Object.isFrozen(value));
      if (patch !== undefined) loaded = applyPatch(loaded, reload(patch) as Patch);
      assertSame(loaded, value, `seed ${seed}, step ${step}`);
      equal(sizeOf(value) + 1, defaultCodec.encode(value).length, `seed ${seed}, step ${step}`);
      equal(sizeOf(loaded), sizeOf(value));
      assertNothingShared(value);
      live = value;
    }
  }
});

function assertNothingShared(value: unknown): void {
  const seen = new Set<unknown>();
  const visit = (v: unknown): void => {
    if (typeof v !== "object" || v === null) return;
    ok(!seen.has(v), "an object is referenced twice");
    seen.add(v);
    if (v instanceof Map) v.forEach((e, k) => (visit(k), visit(e)));
    else if (v instanceof Set) v.forEach(visit);
    else if (!ArrayBuffer.isView(v)) Object.values(v).forEach(visit);
  };
  visit(value);
}
