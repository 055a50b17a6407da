// Runs on deno by default: checkpoints are plain data, the same everywhere; the codec has tests on all three.
import { deepEqual, equal, ok, throws } from "node:assert/strict";
import { test } from "node:test";
import { canonical } from "../../src/checkpoint/canonical.ts";
import { advance } from "../../src/checkpoint/delta.ts";
import { reduceDraft } from "../../src/checkpoint/draft.ts";
import { ReducerError, SerializationError } from "../../src/errors.ts";
import { assertSame } from "./values.ts";

interface State {
  count: number;
  items: { id: number; tags: string[] }[];
  names: Map<string, { n: number }>;
  flags: Set<string>;
  when: Date;
  bytes: Uint8Array;
  extra?: unknown;
}

const WHAT = "the reducer of vertex draft";

const fresh = (): State =>
  canonical({
    count: 1,
    items: [{ id: 1, tags: ["a"] }, { id: 2, tags: [] }],
    names: new Map([["x", { n: 1 }]]),
    flags: new Set(["f"]),
    when: new Date(1000),
    bytes: new Uint8Array([1, 2]),
  }, "state") as State;

const reduce = (base: State, recipe: (s: State) => State | void): State =>
  advance(base, reduceDraft(base, recipe, WHAT), WHAT).value;

const fault = (problem: RegExp, path?: string) => (error: unknown): boolean => {
  ok(error instanceof ReducerError, String(error));
  ok(problem.test(error.message) && error.message.includes(WHAT), error.message);
  equal(error.path, path);
  return true;
};

test("a reducer edits objects, arrays, Maps and Sets of its draft, and the base stays as it was (E2, FC-26)", () => {
  const base = fresh();
  const next = reduce(base, (s) => {
    s.count++;
    s.items[0]!.tags.push("b");
    s.items.push({ id: 3, tags: [] });
    s.names.get("x")!.n = 2;
    s.names.set("y", { n: 3 });
    s.flags.add("g");
    s.when = new Date(2000);
    s.bytes = new Uint8Array([9]);
  });
  assertSame(base, fresh());
  assertSame(next, {
    count: 2,
    items: [{ id: 1, tags: ["a", "b"] }, { id: 2, tags: [] }, { id: 3, tags: [] }],
    names: new Map([["x", { n: 2 }], ["y", { n: 3 }]]),
    flags: new Set(["f", "g"]),
    when: new Date(2000),
    bytes: new Uint8Array([9]),
  });
  equal(next.items[1], base.items[1]);
});

test("a reducer that throws half-way leaves the base as it was, Dates and bytes too (E2, FC-26)", () => {
  const base = fresh();
  throws(() =>
    reduceDraft(base, (s) => {
      s.count = 9;
      s.names.clear();
      s.when.setTime(5);
      s.bytes[0] = 5;
      throw new Error("half-way");
    }, WHAT), /half-way/);
  assertSame(base, fresh());
});

test("editing a Date or bytes inside a draft is a fault that names the path (E2)", () => {
  const base = fresh();
  throws(
    () => reduceDraft(base, (s) => void s.when.setFullYear(1999), WHAT),
    fault(/when.*in place/, "when"),
  );
  throws(() => reduceDraft(base, (s) => void s.bytes.fill(0), WHAT), fault(/bytes.*in place/, "bytes"));
  assertSame(base, fresh());
  const bare = canonical(new Date(1), "state") as Date;
  throws(() => reduceDraft(bare, (d) => void d.setTime(2), WHAT), fault(/the state itself/, ""));
});

test("an edit of the frozen base from outside is found at the next reducer (E2)", () => {
  const base = fresh();
  base.when.setTime(77);
  throws(() => reduceDraft(base, (s) => void s.count++, WHAT), fault(/when/, "when"));
  assertSame(base, fresh());
});

test("editing the draft and returning another value is a fault (C4)", () => {
  throws(() => reduceDraft(fresh(), (s) => (s.count++, { ...fresh() }), WHAT), fault(/do one of the two/));
  throws(
    () => reduceDraft(fresh(), (s) => (s.flags.add("z"), 1 as unknown as State), WHAT),
    fault(/do one of the two/),
  );
});

test("a reducer may return a new value, parts of its draft in it, or the draft (C4)", () => {
  const base = fresh();
  equal(reduce(base, (s) => s), base);
  equal(reduce(base, (s) => ({ ...s })), base);
  const next = reduce(
    base,
    (s) => ({ ...s, items: s.items.filter((i) => i.id === 2), extra: [s.names, new Set([s.flags])] }),
  );
  assertSame(next.items, [{ id: 2, tags: [] }]);
  assertSame(next.extra, [new Map([["x", { n: 1 }]]), new Set([new Set(["f"])])]);
  equal(next.names, base.names);
  assertSame(reduce(base, (s) => s.items[0] as unknown as State), { id: 1, tags: ["a"] });
  assertSame(base, fresh());
});

test("a returned promise is a fault, and its rejection goes nowhere (D11)", async () => {
  const unhandled: unknown[] = [];
  const note = (event: Event): void => {
    event.preventDefault();
    unhandled.push(event);
  };
  globalThis.addEventListener?.("unhandledrejection", note);
  const base = fresh();
  const late = async (s: State): Promise<void> => {
    await Promise.resolve();
    s.count = 9;
  };
  throws(() => reduceDraft(base, late as unknown as (s: State) => void, WHAT), fault(/promise/));
  await new Promise((resolve) => setTimeout(resolve, 0));
  globalThis.removeEventListener?.("unhandledrejection", note);
  deepEqual(unhandled, []);
  assertSame(base, fresh());
});

test("what a reducer assigns is checked with its path, and aliases become copies (C3)", () => {
  const base = fresh();
  throws(
    () => reduce(base, (s) => void (s.items[1]!.tags = [Symbol("x") as unknown as string])),
    (e) => e instanceof SerializationError && e.path === "items[1].tags[0]" && e.what === WHAT,
  );
  let deep: unknown = 1;
  for (let i = 0; i < 20_000; i++) deep = { deep };
  throws(() => reduce(base, (s) => void (s.extra = [deep, s.items[0]])), SerializationError);
  const next = reduce(base, (s) => void (s.extra = [s.items[0], s.items[0]]));
  const [a, b] = next.extra as unknown[];
  ok(a !== b && a !== next.items[0]);
  assertSame(a, next.items[0]);
});
