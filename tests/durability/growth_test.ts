// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import process from "node:process";
import { test } from "node:test";
import { z } from "zod";
import { compile, GraphBuilder } from "../../mod.ts";
import type { AppendEntry, Store } from "../../src/store/store.ts";
import { aroundStore } from "../../src/testing/around_store.ts";
import { memoryStore } from "../../src/store/memory.ts";

/** A signal that counts who listens to it. */
function countedSignal() {
  const { signal } = new AbortController();
  const count = { now: 0, most: 0, added: 0 };
  const add = signal.addEventListener.bind(signal);
  const remove = signal.removeEventListener.bind(signal);
  const listeners = new Set<unknown>();
  const noted = () => {
    count.now = listeners.size;
    count.most = Math.max(count.most, count.now);
  };
  Object.assign(signal, {
    addEventListener: (type: string, listener: EventListener, options?: AddEventListenerOptions) => {
      count.added++;
      listeners.add(listener);
      noted();
      add(type, listener, options);
    },
    removeEventListener: (type: string, listener: EventListener) => {
      listeners.delete(listener);
      noted();
      remove(type, listener);
    },
  });
  return { signal, count };
}

const State = z.object({ n: z.number(), texts: z.array(z.string()).default([]) });

/** One vertex that goes round until the number of steps has been made. */
function cycle(steps: number, text: (n: number) => string | undefined) {
  return new GraphBuilder({ id: "cycle", schema: State })
    .addVertex({
      id: "again",
      task: { execute: (n: number) => ({ n: n + 1, text: text(n) }) },
      select: (s) => s.n,
      reduce: (s, out) => {
        s.n = out.n;
        if (out.text !== undefined) s.texts.push(out.text);
      },
    })
    .addVertex({ id: "end", task: { execute: (_: null) => null }, select: () => null, reduce: () => {} })
    .addConditionalEdge("again", { targets: ["again", "end"], pick: (s) => s.n < steps ? "again" : "end" })
    .build({ entry: "again", finish: "end" });
}

test("FC-36 b: a run of 10 000 steps leaves no listener on the caller's signal, and never has more than a few", async () => {
  const warnings: string[] = [];
  const onWarning = (warning: Error) => void warnings.push(warning.name);
  process.on("warning", onWarning);
  try {
    const { signal, count } = countedSignal();
    const runner = compile(cycle(9_999, () => undefined), { store: memoryStore() });
    const result = await runner.run({ n: 0 }, { signal, maxSteps: 10_000 });
    assert.equal(result.status, "completed");
    assert.equal(result.run.step, 9_999);
    assert.ok(count.added > 0, "the run listens to the signal at all");
    assert.equal(count.now, 0);
    assert.ok(count.most <= 2, `${count.most} listeners at once`);
    assert.deepEqual(warnings.filter((name) => name.includes("MaxListeners")), []);
  } finally {
    process.off("warning", onWarning);
  }
});

/** Sums up the bytes that runs write. */
function weighed(store: Store) {
  const written: number[] = [];
  const around = aroundStore(store, (call) => {
    if (call.op === "append") {
      const entry = call.args[2] as AppendEntry;
      written.push(entry.record.byteLength + entry.parts.reduce((sum, part) => sum + part.byteLength, 0));
    }
    return call.apply();
  });
  return { store: around, written };
}

test("FC-36 c, C2: an array that gains 1 KiB a step for 1 000 steps is stored in bytes that grow with the steps", async () => {
  const { store, written } = weighed(memoryStore());
  const kilobyte = (n: number) => String(n % 10).repeat(1_024);
  const runner = compile(cycle(1_000, kilobyte), { store });
  const result = await runner.run({ n: 0 });
  assert.equal(result.state.texts.length, 1_000);
  const sum = (from: number, to: number) => written.slice(from, to).reduce((a, b) => a + b, 0);
  const half = Math.floor(written.length / 2);
  const first = sum(0, half);
  const second = sum(half, written.length);
  assert.ok(first + second <= 8_000_000, `${first + second} bytes for 1 MB of information`);
  assert.ok(second <= 1.5 * first, `${first} bytes, then ${second}`);
});

test("1 MB that does not change is stored once, whatever changes beside it (C2)", async () => {
  const { store, written } = weighed(memoryStore());
  const runner = compile(cycle(2_000, () => undefined), { store });
  const texts = Array.from({ length: 1_000 }, (_, i) => String(i % 10).repeat(1_024));
  await runner.run({ n: 0, texts });
  const beside = written.reduce((a, b) => a + b, 0) - 1_024 * 1_000;
  assert.ok(beside <= 512 * 2_000, `${beside} bytes for 2 000 steps`);
});
