// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import process from "node:process";
import { test } from "node:test";
import type { VertexFailure } from "../../src/model/failure.ts";
import { completed, engine, gate, graphOf, interrupted, type Notes, notes } from "../support/graphs.ts";

/** The failure that `record` gets of what a body throws, live and from the store. */
async function recorded(thrown: unknown): Promise<VertexFailure> {
  const seen: VertexFailure[] = [];
  const e = engine(graphOf<Notes>({
    vertices: {
      v: {
        run: () => {
          throw thrown;
        },
        onError: {
          route: "h",
          record: (s, failure) => (seen.push(failure), void (s.failed = failure.message)),
        },
      },
      h: { finish: true },
    },
  }));
  const { run, state } = completed(await e.run(notes()));
  const [failed] = await e.restart().eventsOf(run.runId, "failed");
  assert.deepEqual(failed!.failure, seen[0]);
  assert.equal(state.failed, seen[0]!.message);
  assert.deepEqual((await e.restart().runner.get(run.runId)).state, state);
  return seen[0]!;
}

const LONE = "😀".slice(0, 1);
const utf8 = (text: string) => new TextEncoder().encode(text).byteLength;

test("an error text, name and code with a lone surrogate is repaired, takes its route, and is the same text after a reload (FT-D5, C3)", async () => {
  const failure = await recorded(
    Object.assign(new Error(`bad ${LONE} text`), { name: `Odd${LONE}`, code: `E${LONE}`, data: { ok: 1 } }),
  );
  const { message, name, code, data } = failure;
  assert.deepEqual({ message, name, code, data }, {
    message: "bad \uFFFD text",
    name: "Odd\uFFFD",
    code: "E\uFFFD",
    data: { ok: 1 },
  });
});

test("data of an error that cannot be stored, or cannot be read, leaves its name and code as they are (FT-D5)", async () => {
  const cases: readonly unknown[] = [{ fn: () => {} }, LONE, new Map([[{}, Symbol("x")]])];
  for (const data of cases) {
    const { name, code, ...rest } = await recorded(Object.assign(new TypeError("x"), { code: "E7", data }));
    assert.deepEqual([name, code, "data" in rest], ["TypeError", "E7", false]);
  }
  const unreadable = Object.defineProperty(Object.assign(new RangeError("x"), { code: "E8" }), "data", {
    get: () => {
      throw new Error("no");
    },
  });
  const { name, code } = await recorded(unreadable);
  assert.deepEqual([name, code], ["RangeError", "E8"]);
});

test("texts of errors are cut at 16 KiB and data at 64 KiB, and say so (FT-D11, C5)", async () => {
  const huge = "ü".repeat(10_000_000);
  const failure = await recorded(
    Object.assign(new Error(huge), { name: huge, code: huge, data: { list: [huge] } }),
  );
  for (const text of [failure.message, failure.name, failure.code!]) {
    assert.ok(utf8(text) <= 16 * 1024 && utf8(text) > 16_000, String(utf8(text)));
    assert.match(text, /^ü+… \[cut: 20000000 bytes, at most 16384 are kept\]$/);
  }
  assert.match(String(failure.data), /^\[cut: data of 200000\d\d bytes, at most 65536 are kept\]$/);
  const whole = await recorded(Object.assign(new Error("x".repeat(16_384)), { data: "y".repeat(65_000) }));
  assert.deepEqual([whole.message.length, (whole.data as string).length], [16_384, 65_000]);
});

test("what a halt says of the error of a pick is cut and repaired too (FT-D5, FT-D11)", async () => {
  const text = `${LONE}${"x".repeat(1_000_000)}`;
  const e = engine(graphOf<Notes>({
    vertices: {
      v: {
        targets: ["fin"],
        pick: (s) => {
          if (s.odd === undefined) throw new Error(text);
          return text;
        },
      },
      fin: {},
    },
  }));
  for (const state of [notes(), notes({ odd: true })]) {
    const { halt, run } = interrupted(await e.run(state), "halted");
    assert.ok(utf8(halt!.message) <= 16 * 1024 && halt!.message.isWellFormed());
    const reloaded = interrupted(await e.restart().runner.get(run.runId) as never, "halted");
    assert.deepEqual([reloaded.halt!.message, reloaded.halt!.target], [halt!.message, halt!.target]);
  }
});

test("a record that throws fails the vertex, with the error that it was to record last in the chain of causes (FT-D9, E10)", async () => {
  const first = new TypeError("first");
  const wrapped = new Error("second", { cause: new Error("inner") });
  for (
    const [second, causes] of [[new Error("second"), ["second", "first"]], [wrapped, [
      "second",
      "inner",
      "first",
    ]]] as const
  ) {
    const e = engine(graphOf<Notes>({
      vertices: {
        v: {
          run: () => Promise.reject(first),
          onError: {
            route: "fin",
            record: () => {
              throw second;
            },
          },
        },
        fin: {},
      },
    }));
    const { failures: [live], run } = interrupted(await e.run(notes()), "errored");
    assert.deepEqual([live!.failure.phase, live!.failure.message, live!.failure.cause!.message], [
      "record",
      "second",
      "first",
    ]);
    const chain: Error[] = [];
    for (let error = live!.error.cause; error instanceof Error; error = error.cause) chain.push(error);
    assert.deepEqual(chain.map((error) => error.message), causes);
    assert.equal(chain.at(-1), first);
    const reloaded = interrupted(await e.restart().runner.get(run.runId) as never, "errored").failures[0]!;
    assert.deepEqual(reloaded.failure, live!.failure);
    const cause = reloaded.error.cause as Error;
    assert.deepEqual([cause.message, (cause.cause as Error).message, (cause.cause as Error).name], [
      "second",
      "first",
      "TypeError",
    ]);
  }
});

test("the record of a map that throws keeps the failures of its items (FT-D9)", async () => {
  const boom = new Error("item");
  const e = engine(graphOf<Notes>({
    vertices: {
      v: {
        each: () => [1, 2],
        run: (n: unknown) => n === 2 ? Promise.reject(boom) : n,
        onError: { route: "fin", record: () => Promise.reject(new Error("later")) as never },
      },
      fin: {},
    },
  }));
  const { failures: [failed] } = interrupted(await e.run(notes()), "errored");
  assert.equal(failed!.failure.cause!.failures![0]!.item, 1);
  assert.equal((failed!.error.cause as Error).cause as Error, boom);
});

test("the backoff function gets the number of the attempt that failed, from 1 (FT-D9, O3)", async () => {
  const asked: number[] = [];
  const e = engine(graphOf<Notes>({
    vertices: {
      v: {
        run: (_: unknown, ctx) => ctx.attempt < 4 ? Promise.reject(new Error("x")) : undefined,
        retry: {
          maxAttempts: 4,
          backoff: (failedAttempt) => (asked.push(failedAttempt), failedAttempt * 1_000),
        },
      },
    },
  }));
  completed(await e.run(notes()));
  assert.deepEqual(asked, [1, 2, 3]);
  const times = e.bodies.map((body) => body.at);
  assert.deepEqual(times.slice(1).map((at, i) => at - times[i]!), [1_000, 2_000, 3_000]);
});

test("a backoff that grows beyond every time is the longest one, not NaN (FT-B5, O4)", async () => {
  const e = engine(
    graphOf<Notes>({
      vertices: {
        v: {
          run: () => Promise.reject(new Error("x")),
          retry: { maxAttempts: 3, backoff: { initial: "1y", factor: 1e300, jitter: true } },
        },
      },
    }),
    { inlineTimers: 0 },
  );
  const first = interrupted(await e.run(notes()), "sleeping");
  await e.clock.advance(first.due! - e.clock.now());
  const second = interrupted(await e.resume(first.run.runId), "sleeping");
  assert.ok(Number.isFinite(new Date(second.due!).getTime()));
});

test("promises anywhere in a refused output may reject later, or have: nothing is unhandled (FT-D7, E10)", async () => {
  const unhandled: unknown[] = [];
  const note = (reason: unknown) => void unhandled.push(reason);
  process.on("unhandledRejection", note);
  const slow = gate();
  const late = async () => {
    await slow.promise;
    throw new Error("late");
  };
  const outputs: readonly (() => unknown)[] = [
    () => ({ a: late(), b: Promise.reject(new Error("at once")) }),
    () => [1, [new Map([["k", late()]]), new Set([late()])]],
    () => ({ fn: () => {}, deep: { list: [{ p: late() }] } }),
    () => Object.assign(new (class Holder {})(), { p: late() }),
  ];
  for (const output of outputs) {
    for (const run of [output, () => Promise.reject(Object.assign(new Error("x"), { data: output() }))]) {
      const e = engine(graphOf<Notes>({ vertices: { v: { run } } }));
      interrupted(await e.run(notes()), "errored");
    }
    const reducing = engine(graphOf<Notes>({ vertices: { v: { reduce: (s) => void (s.x = output()) } } }));
    interrupted(await reducing.run(notes()), "errored");
    await assert.rejects(reducing.run({ log: [], x: output() }), /cannot be stored/);
    const each = engine(graphOf<Notes>({ vertices: { v: { each: () => [output()] } } }));
    interrupted(await each.run(notes()), "errored");
  }
  slow.open();
  await new Promise((resolve) => setTimeout(resolve, 0));
  process.off("unhandledRejection", note);
  assert.deepEqual(unhandled, []);
});

test("a late body beside a logger that throws, or rejects, is nobody's unhandled rejection (FT-D7)", async () => {
  const unhandled: unknown[] = [];
  const note = (reason: unknown) => void unhandled.push(reason);
  process.on("unhandledRejection", note);
  const boom = () => {
    throw new Error("no disk");
  };
  for (const warn of [boom, () => Promise.reject(new Error("no disk")) as never]) {
    const e = engine(
      graphOf<Notes>({
        vertices: {
          v: {
            timeout: "1s",
            run: (_: unknown, ctx) => {
              ctx.log("begun");
              return new Promise((resolve) => ctx.signal.addEventListener("abort", () => resolve("late")));
            },
          },
        },
      }),
      { logger: { info: warn, warn } },
    );
    interrupted(await e.run(notes()), "errored");
    await e.clock.settle();
  }
  await new Promise((resolve) => setTimeout(resolve, 0));
  process.off("unhandledRejection", note);
  assert.deepEqual(unhandled, []);
});
