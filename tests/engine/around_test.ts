// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { AsyncLocalStorage } from "node:async_hooks";
import { test } from "node:test";
import type { Hooks, VertexStart } from "../../mod.ts";
import { INPUT, Lab } from "../waits/lab.ts";

/** The start, attempt, item and end of every run of a body that hooks were put around. */
function surrounding(name: string, log: string[]): Hooks {
  return {
    around: (start, body) => {
      log.push(`${name} ${start.vertexId}${start.item ?? ""} ${start.attempt}`);
      body();
    },
  };
}

test("around: every run of a body is surrounded, attempts, items and what follows a wait; the first hook is outermost", async () => {
  const lab = new Lab();
  const log: string[] = [];
  const graph = lab.graph({
    m: {
      each: () => ["x", "y"],
      retry: { maxAttempts: 2 },
      body: (ctx) => {
        log.push("body");
        if (ctx.item === 1 && ctx.attempt === 1) throw new Error("again");
      },
      to: "a",
    },
    a: {
      body: async (ctx) => {
        log.push("body");
        await ctx.sleep("nap", "1s");
      },
    },
  });
  const hooks = [surrounding("outer", log), {}, surrounding("inner", log)];
  await lab.drive(lab.engine(graph, { hooks }).run(INPUT));
  const around = (what: string) => [`outer ${what}`, `inner ${what}`, "body"];
  assert.deepEqual(log, ["m0 1", "m1 1", "m1 2", "a 1", "a 1"].flatMap(around));
});

test("around: an AsyncLocalStorage reaches the whole body and nothing else, also when bodies run side by side", async () => {
  const lab = new Lab();
  const storage = new AsyncLocalStorage<string>();
  const hooks: Hooks = { around: (start, body) => storage.run(start.vertexId, body) };
  const seen: unknown[] = [];
  const look = async () => {
    const before = storage.getStore();
    await Promise.resolve();
    return [before, storage.getStore()];
  };
  const note = () => void seen.push(storage.getStore());
  const graph = lab.graph({
    v: { body: look, reduce: note, to: ["a", "b"] },
    a: { body: look, select: note, onError: { route: "end", record: note } },
    b: { body: look, to: "end" },
    end: { body: look },
  });
  const { state } = await lab.drive(lab.engine(graph, { hooks }).run(INPUT));
  assert.deepEqual(state.out, { a: ["a", "a"], b: ["b", "b"], end: ["end", "end"] });
  assert.deepEqual(seen, [undefined, undefined]);
});

const CONDUCTS: Readonly<Record<string, (start: VertexStart, body: () => unknown) => void>> = {
  "throws before": () => {
    throw new Error("hook");
  },
  "throws after": (_, body) => {
    body();
    throw new Error("hook");
  },
  "never runs it": () => {},
  "runs it twice": (_, body) => [body(), body()],
  "runs it late": async (_, body) => {
    await Promise.resolve();
    await body();
  },
  "swallows and replaces": async (_, body) => {
    try {
      return await body();
    } catch {
      return "another";
    }
  },
  "rejects by itself": async (_, body) => {
    await body();
    throw new Error("hook");
  },
};

for (const [conduct, around] of Object.entries(CONDUCTS)) {
  test(`a hook around a body that ${conduct} leaves body and outcome alone, good and bad, sync and async (E10)`, async () => {
    const bodies: readonly (() => unknown)[] = [
      () => "own",
      () => Promise.resolve("own"),
      () => {
        throw new RangeError("own");
      },
      () => Promise.reject(new RangeError("own")),
    ];
    for (const [i, body] of bodies.entries()) {
      const lab = new Lab();
      const graph = lab.graph({ a: { body } });
      const result = await lab.drive(
        lab.engine(graph, { hooks: { around } }).run(INPUT),
      );
      assert.equal(lab.count("a"), 1);
      if (i < 2) assert.deepEqual([result.status, result.state.out.a], ["completed", "own"]);
      else assert.equal(result.status === "interrupted" && result.failures[0]?.failure.name, "RangeError");
      await lab.clock.settle();
      const faulty = conduct === "throws before" || conduct === "throws after" && i !== 2 ||
        conduct === "rejects by itself" && i < 2;
      assert.equal(lab.warnings.some((w) => w.includes("around")), faulty, `${i}: ${lab.warnings.join()}`);
    }
  });
}
