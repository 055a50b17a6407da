// Runs on deno by default: checkpoints are plain data, the same everywhere; the codec has tests on all three.
import { deepEqual, equal, ok, throws } from "node:assert/strict";
import { test } from "node:test";
import { canonical } from "../../src/checkpoint/canonical.ts";
import { CodecError, defaultCodec as codec } from "../../src/checkpoint/codec.ts";
import { advance } from "../../src/checkpoint/delta.ts";
import { reduceDraft } from "../../src/checkpoint/draft.ts";
import { type Layout, partRefs, restore, snapshot } from "../../src/checkpoint/parts.ts";
import { assertSame, randomEdit, randomValue, seeded } from "./values.ts";

/** The parts of a run, and the snapshots that were taken of its state. */
class Shelf {
  readonly parts = new Map<string, Uint8Array>();
  layout: Layout | undefined;
  table: unknown;
  tableBytes = 0;
  newBytes = 0;
  revision = -1;

  take(value: unknown): void {
    this.revision++;
    const shot = snapshot(value, this.revision, this.layout, codec);
    shot.parts.forEach((part, i) => this.parts.set(`${this.revision}/${i}`, part));
    this.layout = shot.layout;
    const encoded = codec.encode(shot.table);
    this.table = codec.decode(encoded);
    this.tableBytes = encoded.length;
    this.newBytes = shot.newBytes;
  }

  load(): { value: unknown; layout: Layout } {
    const named = partRefs(this.table).map(({ revision, index }) => `${revision}/${index}`);
    const parts = new Map(named.map((name) => [name, this.parts.get(name)!]));
    return restore(this.table, parts, codec);
  }
}

const text = (random: () => number, bytes: number): string =>
  Array.from({ length: bytes / 8 }, () => random().toString(36).slice(2, 10).padEnd(8, "x")).join("");

function edit<S>(base: S, recipe: (draft: S) => void): S {
  return advance(base, reduceDraft(base, recipe, "a reducer"), "the state").value;
}

test("a snapshot of any value is restored equal, through chains of edits and reloads (C2)", () => {
  for (let seed = 1; seed <= 6; seed++) {
    const random = seeded(seed);
    const big = (): unknown => Array.from({ length: 60 }, () => [text(random, 160), randomValue(random, 2)]);
    let state = canonical({
      a: randomValue(random),
      list: big(),
      map: new Map(Array.from({ length: 50 }, (_, i) => [i, text(random, 400)])),
      set: new Set(Array.from({ length: 50 }, (_, i) => text(random, 400) + i)),
      record: Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`k${i}`, { t: text(random, 400) }])),
      nested: { deep: { inner: big(), text: text(random, 20000) } },
    }, "state");
    const shelf = new Shelf();
    for (let step = 0; step < 10; step++) {
      shelf.take(state);
      const loaded = shelf.load();
      assertSame(loaded.value, state, `seed ${seed}, step ${step}`);
      if (step % 3 === 2) {
        state = loaded.value;
        shelf.layout = loaded.layout;
      }
      for (let n = 0; n < 3; n++) state = edit(state, (s) => void randomEdit(random, s));
    }
  }
});

test("a counter beside a megabyte writes neither parts nor more than a small table, also after a reload (C2, N5)", () => {
  const random = seeded(1);
  let state = canonical({
    counter: 0,
    items: Array.from({ length: 1000 }, (_, id) => ({ id, body: text(random, 1000) })),
  }, "state") as { counter: number };
  const shelf = new Shelf();
  shelf.take(state);
  ok(shelf.newBytes > 1_000_000 && shelf.newBytes < 1_100_000, `${shelf.newBytes}`);
  for (let n = 0; n < 30; n++) {
    state = edit(state, (s) => void s.counter++);
    shelf.take(state);
    equal(shelf.newBytes, 0);
    ok(shelf.tableBytes < 1500, `${shelf.tableBytes}`);
    if (n !== 15) continue;
    const loaded = shelf.load();
    state = loaded.value as { counter: number };
    shelf.layout = loaded.layout;
  }
  assertSame(shelf.load().value, state);
});

test("a list that grows by a kilobyte a step rewrites only its last group (C2, N5)", () => {
  const random = seeded(2);
  let state = canonical({ list: [] }, "state") as { list: string[] };
  const shelf = new Shelf();
  let patches = 0;
  let snapshots = 0;
  for (let n = 0; n < 1000; n++) {
    const body = text(random, 1024);
    const { value, patch } = advance(state, reduceDraft(state, (s) => void s.list.push(body), "r"), "state");
    patches += codec.encode(patch).length;
    state = value;
    if (n % 8 !== 7) continue;
    shelf.take(state);
    ok(shelf.newBytes < 24 * 1024, `${shelf.newBytes} at ${n}`);
    snapshots += shelf.newBytes + shelf.tableBytes;
  }
  assertSame(shelf.load().value, state);
  ok(patches < 1.1e6, `patches ${patches}`);
  ok(patches + snapshots < 5e6, `in all ${patches + snapshots}`);
});

test("an edit inside a large collection rewrites the groups it touches and no others (C2)", () => {
  const random = seeded(3);
  const bodies = Array.from({ length: 400 }, (_, id) => ({ id, body: text(random, 1000) }));
  const cases: Record<string, unknown> = {
    list: bodies,
    map: new Map(bodies.map((b) => [b.id, b])),
    record: Object.fromEntries(bodies.map((b) => [`k${b.id}`, b])),
  };
  for (const [name, value] of Object.entries(cases)) {
    let state = canonical({ value }, "state");
    const shelf = new Shelf();
    shelf.take(state);
    state = edit(state, (draft) => {
      const { value } = draft as { value: unknown };
      for (const id of [3, 390]) {
        const body = value instanceof Map
          ? value.get(id) as { body: string }
          : (value as Record<string, { body: string }>)[name === "record" ? `k${id}` : id]!;
        body.body = "edited";
      }
    });
    state = edit(state, (draft) => {
      const { value } = draft as { value: unknown };
      if (Array.isArray(value)) value.splice(200, 1);
      else if (value instanceof Map) value.delete(200);
      else delete (value as Record<string, unknown>)["k200"];
    });
    shelf.take(state);
    ok(shelf.newBytes < 60_000, `${name}: ${shelf.newBytes}`);
    assertSame(shelf.load().value, state);
  }
});

test("parts are of a size that a store likes, and groups that shrank are filled up again (C2)", () => {
  const random = seeded(4);
  let state = canonical({ list: Array.from({ length: 800 }, () => text(random, 400)) }, "state") as {
    list: string[];
  };
  const shelf = new Shelf();
  shelf.take(state);
  const sizes = [...shelf.parts.values()].map((part) => part.length);
  ok(sizes.every((size) => size <= 16 * 1024) && sizes.slice(0, -1).every((size) => size >= 8 * 1024));
  for (let n = 0; n < 600; n++) {
    state = edit(state, (s) => void s.list.splice(Math.floor(random() * s.list.length), 1));
    if (n % 10 === 0) shelf.take(state);
  }
  shelf.take(state);
  equal(state.list.length, 200);
  assertSame(shelf.load().value, state);
  ok(partRefs(shelf.table).length < 40, `${partRefs(shelf.table).length} parts`);
});

test("damaged tables and parts are refused with a typed error, never with a crash (CKP-20, LOD-06)", () => {
  const random = seeded(5);
  const state = canonical({
    n: 1,
    list: Array.from({ length: 40 }, () => text(random, 800)),
    t: text(random, 9000),
  }, "s");
  const shelf = new Shelf();
  shelf.take(state);
  const part = partRefs(shelf.table)[0]!;
  const all = () => new Map(shelf.parts);
  const refused = (table: unknown, parts: ReadonlyMap<string, Uint8Array>): void =>
    throws(() => restore(table, parts, codec), CodecError);

  for (
    const table of [undefined, null, 1, "x", {}, [], [9], [2], [2, 3], [2, [[7]]], [1, -1, 0], [1, "0", 0], [
      2,
      [[0, [1]]],
    ]]
  ) {
    refused(table, all());
  }
  refused(shelf.table, new Map());
  refused([3, [[1, part.revision, part.index], [1, part.revision, part.index]]], all());
  refused([2, [[0, ["__proto__", 1]]]], all());
  refused([2, [[0, ["a", 1, "a", 2]]]], all());
  refused(shelf.table, all().set(`${part.revision}/${part.index}`, new Uint8Array([1, 0xc3])));
  deepEqual(({} as Record<string, unknown>)["admin"], undefined);
});
