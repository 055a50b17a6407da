// Runs on deno by default: the stops find faults of the engine, which no runtime decides.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Store } from "../../src/store/store.ts";
import { crashTest, testRunner, VirtualClock } from "../../src/testing/mod.ts";
import { openDenoKv, openMemory } from "../support/stores.ts";
import { answersOf, bodiesOf, END, everything, scenario } from "./everything.ts";
import { effort } from "../support/effort.ts";

test("the graph with everything does all of it when nothing goes wrong", async () => {
  const happened: string[] = [];
  const clock = new VirtualClock();
  const runner = testRunner(everything, {
    clock,
    answers: answersOf,
    tasks: bodiesOf({
      happen: (key) => void happened.push(key),
      sleep: (by) => clock.sleep(by),
    }),
  });
  const { status, state, path } = await runner.run(scenario.input);
  assert.equal(status, "completed");
  const { voters: _, ...rest } = state;
  assert.deepEqual(rest, END);
  assert.deepEqual(path, [
    "intake",
    ...["left", "right", "detour", "gather"],
    ...["left", "right", "detour", "gather"],
    "votes",
    "excuse",
    "loop",
    "approve",
    "big",
    "end",
  ]);
  assert.equal(new Set(happened).size, happened.length);
});

/** After how many of the first stops a second one is tried. */
const SECOND_CRASHES = { memory: effort(5, 15), "a Deno KV file": effort(2, 15) };

const stores = { memory: openMemory, "a Deno KV file": openDenoKv };

for (const name of ["memory", "a Deno KV file"] as const) {
  const clocks = name === "memory" ? [undefined, "1h"] as const : [undefined];
  for (const clockSteps of clocks) {
    test(`a stop at any write of the graph with everything changes nothing that matters${clockSteps === undefined ? "" : ", while clocks are set by an hour"} [${name}] (SPEC 11, E4, O1, O4)`, async () => {
      const opened = await stores[name]();
      try {
        const report = await crashTest(everything, {
          ...scenario,
          ...(clockSteps === undefined ? {} : { clockSteps }),
          ...(name === "memory" && clockSteps === undefined ? { acknowledgeWithin: "200ms" } : {}),
          store: () => oneRound(opened.store),
          secondCrashes: SECOND_CRASHES[name],
          outcome: ({ status, state, path }) => {
            assert.equal(status, "completed");
            // Who wins a race of a timer with an answer is for the clocks to say.
            const { wins, ...rest } = state;
            return clockSteps === undefined ? { state, path } : { rest, won: wins.length, path };
          },
        });
        assert.ok(report.crashes.length >= report.rounds - 2);
        const stopped = (op: string) => report.crashes.some((c) => c.op === op);
        for (const op of ["append", "post", "owners.register", "owners.beat"]) assert.ok(stopped(op), op);
      } finally {
        await opened.cleanup();
      }
    });
  }
}

/** The store for one round: what the round leaves is removed, the file goes on. */
function oneRound(store: Store): Store {
  return {
    ...store,
    close: async () => {
      await store.purge("crash-test");
      for (const { ownerId } of await store.owners.list()) await store.owners.forget(ownerId);
    },
  };
}
