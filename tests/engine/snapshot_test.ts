// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { TaskContext } from "../../src/model/context.ts";
import {
  completed,
  engine,
  gate,
  graphOf,
  interrupted,
  type Notes,
  notes,
  type VertexOf,
} from "../support/graphs.ts";

const boom = new Error("boom");
const rich = () =>
  notes({
    items: ["b", "a"],
    deep: { list: [{ n: 1 }], key: 1 },
    map: new Map<unknown, unknown>([["k", { n: 1 }]]),
    set: new Set<unknown>([1, { n: 1 }]),
    date: new Date(1_000),
    bytes: new Uint8Array([1, 2, 3]),
  });
type Rich = ReturnType<typeof rich> & {
  items: string[];
  deep: { list: { n: number }[]; key?: number };
  map: Map<unknown, unknown>;
  set: Set<unknown>;
  date: Date;
  bytes: Uint8Array;
};

const EDITS: Readonly<Record<string, (s: Rich) => unknown>> = {
  "assigns a field": (s) => s.items = [],
  "adds a field": (s) => s.extra = 1,
  "deletes a field": (s) => delete s.deep.key,
  "pushes to an array": (s) => s.items.push("x"),
  "sorts an array": (s) => s.items.sort(),
  "shortens an array": (s) => s.items.length = 0,
  "assigns deep inside": (s) => s.deep.list[0]!.n = 2,
  "sets in a Map": (s) => s.map.set("k", 2),
  "deletes from a Map": (s) => s.map.delete("k"),
  "clears a Map": (s) => s.map.clear(),
  "edits a value of a Map": (s) => (s.map.get("k") as { n: number }).n = 2,
  "adds to a Set": (s) => s.set.add(2),
  "deletes from a Set": (s) => s.set.delete(1),
};

for (const [what, edit] of Object.entries(EDITS)) {
  test(`a body that ${what} of its snapshot changes nothing, for nobody (E2, FC-26)`, async () => {
    const seen: unknown[] = [];
    const e = engine(graphOf<Notes>({
      vertices: {
        start: { to: ["b", "c"], reduce: () => {} },
        b: {
          select: (s) => s,
          retry: { maxAttempts: 2 },
          run: (input, ctx) => {
            if (ctx.attempt === 1) {
              edit(input as Rich);
              throw boom;
            }
            seen.push(input);
          },
          reduce: () => {},
        },
        c: { select: (s) => s, run: (input) => void seen.push(input), reduce: () => {} },
      },
    }));
    const result = completed(await e.run(rich()));
    for (const snapshot of seen) assert.deepEqual(plain(snapshot), plain(rich()));
    assert.equal(seen.length, 2);
    assert.deepEqual(plain(result.state), plain(rich()));
    assert.deepEqual(plain((await e.restart().runner.get(result.run.runId)).state), plain(rich()));
  });
}

/** Views and their originals compare equal as plain collections. */
function plain(value: unknown): unknown {
  const s = value as Rich;
  return { ...s, map: [...s.map], set: [...s.set], bytes: [...s.bytes], date: s.date.getTime() };
}

test("selectors, each and pick see a snapshot they cannot change either, and the fault is their vertex's (E2)", async () => {
  const spoil = (s: Readonly<Notes>) => {
    (s.items as string[]).push("x");
    return "fin";
  };
  const selecting = engine(graphOf<Notes>({ vertices: { v: { select: spoil } } }));
  const one = interrupted(await selecting.run(rich()), "errored");
  assert.deepEqual([one.failures[0]!.failure.phase, plain(one.state)], ["select", plain(rich())]);
  const picking = engine(
    graphOf<Notes>({ vertices: { v: { targets: ["fin"], pick: spoil, reduce: () => {} }, fin: {} } }),
  );
  const two = interrupted(await picking.run(rich()), "halted");
  assert.deepEqual([two.halt?.kind, plain(two.state)], ["condition", plain(rich())]);
});

const LEAVES: Readonly<Record<string, readonly [edit: (s: Rich) => void, path: RegExp]>> = {
  "a Date": [(s) => s.date.setTime(5), /date/],
  "bytes": [(s) => s.bytes[0] = 9, /bytes/],
};

for (const [what, [edit, path]] of Object.entries(LEAVES)) {
  test(`a body that edits ${what} in place fails, the path is named, and what it held is put back (E2)`, async () => {
    const e = engine(
      graphOf<Notes>({ vertices: { v: { select: (s) => s, run: (input) => edit(input as Rich) } } }),
    );
    const result = interrupted(await e.run(rich()), "errored");
    assert.equal(result.failures[0]!.vertexId, "v");
    assert.match(result.failures[0]!.error.message, path);
    assert.deepEqual(plain(result.state), plain(rich()));
  });

  test(`a reducer that edits ${what} in place fails, the path is named, and the state stands (E2)`, async () => {
    const e = engine(graphOf<Notes>({ vertices: { v: { reduce: (s) => edit(s as Rich) } } }));
    const result = interrupted(await e.run(rich()), "errored");
    assert.equal(result.failures[0]!.failure.phase, "reduce");
    assert.match(result.failures[0]!.error.message, path);
    assert.deepEqual(plain(result.state), plain(rich()));
  });
}

test("a reducer that edits the Date of an item's output in place fails, and every output is as it was (E2, D5)", async () => {
  let edits = true;
  const e = engine(graphOf<Notes>({
    vertices: {
      v: {
        each: () => [1, 2],
        run: (item) => ({ at: new Date(item as number) }),
        reduce: (s, outputs) => {
          const [first] = outputs as { at: Date }[];
          if (edits) first!.at.setTime(9);
          s.first = first!.at.getTime();
        },
      },
    },
  }));
  const result = interrupted(await e.run(notes()), "errored");
  assert.match(result.failures[0]!.error.message, /\[0\]\.at of its output/);
  edits = false;
  assert.equal(completed(await e.resume(result.run.runId)).state.first, 1);
});

test("a reducer may edit objects, arrays, Maps and Sets of its draft and replace Dates and bytes (E2)", async () => {
  const e = engine(graphOf<Notes>({
    vertices: {
      v: {
        reduce: (draft) => {
          const s = draft as Rich;
          s.items.push("x");
          s.deep.list[0]!.n = 2;
          (s.map.get("k") as { n: number }).n = 3;
          s.map.set("new", 1);
          s.set.add(7);
          s.date = new Date(2_000);
          s.bytes = new Uint8Array([9]);
        },
      },
    },
  }));
  const { state, run } = completed(await e.run(rich()));
  const expected = plain({
    ...rich(),
    items: ["b", "a", "x"],
    deep: { list: [{ n: 2 }], key: 1 },
    map: new Map<unknown, unknown>([["k", { n: 3 }], ["new", 1]]),
    set: new Set<unknown>([1, { n: 1 }, 7]),
    date: new Date(2_000),
    bytes: new Uint8Array([9]),
  });
  assert.deepEqual(plain(state), expected);
  assert.deepEqual(plain((await e.restart().runner.get(run.runId)).state), expected);
});

test("the caller's later mutations of its input, of an output and of a result are never seen (E2, FC-26)", async () => {
  const input = rich() as Rich;
  const output = { list: [1] };
  const held = gate();
  const e = engine(graphOf<Notes>({
    vertices: {
      a: { run: () => output, reduce: (s, out) => void (s.out = out), to: "b" },
      b: { run: () => held.promise },
    },
  }));
  const handle = await e.runner.start(input);
  input.items.push("later");
  input.map.set("later", 1);
  input.date.setTime(7);
  input.bytes[0] = 7;
  await e.clock.settle();
  output.list.push(2);
  held.open();
  const { state, run } = completed(await e.clock.drive(handle.result()));
  assert.throws(() => (state as Rich).items.push("after"), TypeError);
  const expected = { ...(plain(rich()) as object), log: ["b"], out: { list: [1] } };
  assert.deepEqual(plain(state), expected);
  assert.deepEqual(plain((await e.restart().runner.get(run.runId)).state), expected);
});

test("what a paused run shows of its step is the fold of the outcomes so far, but for those whose reducer throws (E5)", async () => {
  const never: VertexOf<Notes> = { run: (_, ctx) => ctx.interrupt(), to: "z" };
  const e = engine(graphOf<Notes>({
    vertices: {
      v: { to: ["a", "b", "c", "d"] },
      a: { to: "z" },
      b: {
        to: "z",
        reduce: (s) => {
          s.log.push("b");
          throw boom;
        },
      },
      c: { to: "z" },
      d: never,
      z: {},
    },
  }));
  const { state, reason } = interrupted(await e.run(notes()), "awaiting");
  assert.deepEqual([state.log, reason], [["v", "a", "c"], "awaiting"]);
});

test("a reducer that edits and throws leaves the state unchanged, with and without a restart (FC-26)", async () => {
  let broken = true;
  const e = engine(graphOf<Notes>({
    vertices: {
      v: {
        run: (_input: unknown, ctx: TaskContext) => ctx.attempt,
        reduce: (s, out) => {
          (s.items as string[]).push("x");
          if (broken) throw boom;
          s.out = out;
        },
      },
    },
  }));
  const { run, state } = interrupted(await e.run(notes({ items: ["a"] })), "errored");
  const other = e.restart();
  assert.deepEqual([state.items, (await other.runner.get(run.runId)).state.items], [["a"], ["a"]]);
  broken = false;
  assert.deepEqual(completed(await other.resume(run.runId)).state, notes({ items: ["a", "x"], out: 1 }));
  assert.equal(e.ran("v"), 1);
});
