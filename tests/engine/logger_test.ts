// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import { compile } from "../../mod.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { createApp } from "../../src/http/mod.ts";
import { tracing } from "../../src/telemetry/mod.ts";
import { serve, storePlane } from "../../src/worker/mod.ts";
import { graphOf, notes } from "../support/graphs.ts";

const failing = () =>
  graphOf({
    vertices: {
      v: {
        run: () => {
          throw new Error("out of ink");
        },
      },
    },
  });

/** What the console was told while `work` ran. */
async function onConsole(work: () => Promise<unknown>): Promise<readonly string[]> {
  const told: string[] = [];
  const { info, warn } = console;
  console.info = console.warn = (text: string) => void told.push(text);
  try {
    await work();
  } finally {
    Object.assign(console, { info, warn });
  }
  return told;
}

test("failures are told on the console, or by a logger that is like it, or not at all for `false` and `null` (SPEC 11)", async () => {
  const run = (logger?: false | null | Pick<Console, "info" | "warn">) =>
    onConsole(() =>
      compile(failing(), { store: memoryStore(), ...(logger === undefined ? {} : { logger }) })
        .run(notes())
    );
  const line = /^superstep: run \S+: vertex v failed at attempt 1: Error: out of ink at /;
  const [told, ...more] = await run();
  assert.match(told!, line);
  assert.deepEqual(more, []);
  assert.deepEqual([await run(false), await run(null)], [[], []]);
  class Lines {
    readonly all: string[] = [];
    info(text: string) {
      this.all.push(`info ${text}`);
    }
    warn(text: string) {
      this.all.push(text);
    }
  }
  const lines = new Lines();
  assert.deepEqual(await run(lines), []);
  assert.match(lines.all.join("\n"), line);
});

test("a worker, an app, a plane and traces take `false` and `null` for a logger, too, and workers hand it on (SPEC 11)", async () => {
  for (const logger of [false, null] as const) {
    const told = await onConsole(async () => {
      const store = memoryStore();
      const runner = compile(failing(), { store, logger, hooks: tracing({ logger }) });
      createApp({ runners: [runner], logger });
      await runner.submit(notes(), { runId: "r" });
      await using worker = await serve({ runners: [runner], plane: storePlane(store, { logger }), logger });
      assert.equal(worker.keys.length, 1);
      for await (const { reason } of runner.follow("r")) if (reason !== undefined) break;
    });
    assert.deepEqual(told, []);
  }
});

test("what is no logger is refused when it is given, with what to give (SPEC 11, SPEC 13)", async () => {
  const store = memoryStore();
  const runner = compile(failing(), { store, logger: false });
  for (const bad of [true, "console", {}, { warn: () => {} }, () => {}]) {
    const logger = bad as unknown as Console;
    const words = {
      message: /the logger has no methods `info` and `warn`; give an object like `console`, or `false`/,
    };
    assert.throws(() => compile(failing(), { store, logger }), { code: "BUILD", ...words });
    assert.throws(() => createApp({ runners: [runner], logger }), { code: "BUILD", ...words });
    await assert.rejects(serve({ runners: [runner], logger }), { code: "ARGUMENT", ...words });
  }
});
