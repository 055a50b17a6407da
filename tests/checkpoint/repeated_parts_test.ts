// Runs on deno by default: checkpoints are plain data, the same everywhere; the codec has tests on all three.
import { deepEqual, ok } from "node:assert/strict";
import { test } from "node:test";
import { canonical } from "../../src/checkpoint/canonical.ts";
import { defaultCodec as codec } from "../../src/checkpoint/codec.ts";
import { advance } from "../../src/checkpoint/delta.ts";
import { reduceDraft } from "../../src/checkpoint/draft.ts";
import { type Layout, partRefs, restore, snapshot } from "../../src/checkpoint/parts.ts";
import { assertSame, seeded } from "./values.ts";

type State = { list: string[] };

/** Snapshots of one run, each restored from its parts alone. */
class Run {
  readonly #parts = new Map<string, Uint8Array>();
  #layout: Layout | undefined;
  #revision = -1;
  state: State;
  newBytes = 0;

  constructor(list: readonly string[]) {
    this.state = canonical({ list }, "state") as State;
    this.take("at the start");
  }

  edit(what: string, change: (list: string[]) => void): void {
    const next = reduceDraft(this.state, (s) => void change(s.list), "a reducer");
    this.state = advance(this.state, next, "the state").value;
    this.take(what);
  }

  take(what: string): void {
    const shot = snapshot(this.state, ++this.#revision, this.#layout, codec);
    shot.parts.forEach((part, i) => this.#parts.set(`${this.#revision}/${i}`, part));
    this.#layout = shot.layout;
    this.newBytes = shot.newBytes;
    const table = codec.decode(codec.encode(shot.table));
    const refs = partRefs(table).map(({ revision, index }) => `${revision}/${index}`);
    const parts = new Map(refs.map((name) => [name, this.#parts.get(name)!]));
    const { value } = restore(table, parts, codec);
    deepEqual((value as State).list, this.state.list, what);
    assertSame(value, this.state, what);
  }
}

/** 200 different texts of 100 bytes: a block of more than two groups. */
const BLOCK = Array.from({ length: 200 }, (_, i) => `${i}-`.padEnd(100, "x"));
const SAME = "y".repeat(100);

const EDITS: Readonly<Record<string, (list: string[]) => void>> = {
  "the first block leaves": (list) => void list.splice(0, 200),
  "the block in the middle leaves": (list) => void list.splice(200, 200),
  "the last block leaves": (list) => void list.splice(-200),
  "half a block leaves": (list) => void list.splice(100, 100),
  "a block comes at the front": (list) => void list.unshift(...BLOCK),
  "a block comes at the end": (list) => void list.push(...BLOCK),
  "one comes at the front": (list) => void list.unshift(SAME),
  "one comes in the middle": (list) => void list.splice(300, 0, BLOCK[5]!),
  "one is another": (list) => void (list[Math.min(250, list.length - 1)] = BLOCK[0]!),
  "two blocks change places": (list) => void list.push(...list.splice(0, 200)),
  "all is turned round": (list) => void list.reverse(),
};

const LISTS: Readonly<Record<string, readonly string[]>> = {
  "a block three times": [...BLOCK, ...BLOCK, ...BLOCK],
  "one text six hundred times": Array.from({ length: 600 }, () => SAME),
  "a block between equal texts": [
    ...Array.from({ length: 200 }, () => SAME),
    ...BLOCK,
    ...Array.from({ length: 200 }, () => SAME),
  ],
};

for (const [what, list] of Object.entries(LISTS)) {
  test(`a snapshot of ${what} is restored equal whatever comes and goes, as many of each as there are (FT-G12, C2)`, () => {
    for (const [edit, change] of Object.entries(EDITS)) {
      const run = new Run(list);
      run.edit(edit, change);
      run.edit(`one more after: ${edit}`, (l) => void l.push("end"));
    }
    const random = seeded(7);
    const run = new Run(list);
    const all = Object.entries(EDITS);
    for (let i = 0; i < 40; i++) {
      const [edit, change] = all[Math.floor(random() * all.length)]!;
      run.edit(`${i}: ${edit}`, change);
    }
  });
}

test("equal blocks that stay, whichever of them leaves, are not written again (FT-G12, C2)", () => {
  for (
    const edit of [
      "the first block leaves",
      "the block in the middle leaves",
      "the last block leaves",
      "one comes at the front",
    ]
  ) {
    const run = new Run(LISTS["a block three times"]!);
    const whole = run.newBytes;
    run.edit(edit, EDITS[edit]!);
    ok(run.newBytes <= whole / 6, `${edit}: ${run.newBytes} of ${whole} bytes`);
  }
  const run = new Run(LISTS["one text six hundred times"]!);
  const whole = run.newBytes;
  run.edit("one comes at the end", (list) => void list.push("end"));
  ok(run.newBytes <= whole / 6, `${run.newBytes} of ${whole} bytes`);
});

test("a list that ends in places without a value is restored at its length when it becomes shorter or longer (FT-G12, C2, C3)", () => {
  const run = new Run(Array.from({ length: 20_000 }, () => undefined) as never);
  for (const length of [19_900, 19_899, 16_384, 16_383, 8_192, 8_191, 12_000, 20_000, 5_000]) {
    run.edit(`to ${length}`, (list) => {
      while (list.length > length) list.pop();
      while (list.length < length) list.push(undefined as never);
    });
  }
});
