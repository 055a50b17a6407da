// Runs on deno and bun by default: Deno and Node have the same engine of JavaScript; stores, timers and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Duration, isSuperstepError } from "../../mod.ts";
import { freezable, gate, INPUT, Lab, recorded } from "./lab.ts";

/** A vertex that notes why its signal was aborted, and never ends by itself. */
function stubborn(lab: Lab, reasons: Error[], id = "g") {
  return lab.graph({
    v: { body: () => 0, to: ["a", "b"] },
    a: {
      body: (ctx) => {
        ctx.signal.addEventListener("abort", () => reasons.push(ctx.signal.reason));
        return reasons.length > 0 ? "second" : gate().promise;
      },
    },
    b: { body: () => "kept" },
  }, { id });
}

test("an abort releases the run as running and unowned, aborts the bodies, and rejects with RunAbortedError and its cause (E11)", async () => {
  const lab = new Lab();
  const reasons: Error[] = [];
  const graph = stubborn(lab, reasons);
  const stop = new AbortController();
  const runner = lab.engine(graph);
  const handle = await runner.start(INPUT, { signal: stop.signal });
  await lab.clock.settle();
  const cause = new Error("deploying");
  stop.abort(cause);
  const error = await lab.fails<Error & { runId: string; revision: number }>(
    handle.result(),
    "RunAbortedError",
  );
  const run = await runner.status(handle.runId);
  assert.deepEqual([error.runId, error.revision, error.cause], [handle.runId, run.revision, cause]);
  assert.deepEqual([run.status, run.owner, run.reason], ["running", undefined, undefined]);
  assert.deepEqual(reasons.map((r) => [r.name, r.cause]), [["RunAbortedError", cause]]);
  assert.deepEqual((await recorded(runner, handle.runId)).at(-1), ["released"]);
  assert.equal(lab.clock.pending, 0);
  const [again] = await lab.elsewhere(graph).recover();
  const result = await lab.drive(again!.result());
  assert.deepEqual([result.status, result.state.out], ["completed", { v: 0, a: "second", b: "kept" }]);
  assert.equal(lab.count("b"), 1);
  assert.equal(result.run.recoveries, 0, "a graceful release is no recovery");
});

test("what became known before the abort is recorded with the release; what comes after is ignored (E11)", async () => {
  const lab = new Lab();
  const stop = new AbortController();
  const late = gate<string>();
  const graph = lab.graph({
    a: {
      body: () => {
        stop.abort();
        return "in time";
      },
      to: "b",
    },
    b: { body: () => lab.count("b") === 1 ? late.promise : "again" },
  });
  const runner = lab.engine(graph);
  await lab.fails(runner.run(INPUT, { runId: "r", signal: stop.signal }), "RunAbortedError");
  late.open("late");
  await lab.clock.settle();
  const before = await runner.status("r");
  const result = await lab.drive(lab.elsewhere(graph).resume("r"));
  assert.equal(result.state.out.a, "in time");
  assert.equal(lab.count("a"), 1);
  assert.ok(result.run.revision > before.revision);
});

test("an aborted signal stops a start and a resume before anything is written, and leaves no listener (E11)", async () => {
  const lab = new Lab();
  const graph = lab.graph({ a: { body: (ctx) => ctx.answer() ?? ctx.interrupt() } });
  const runner = lab.engine(graph);
  const signal = AbortSignal.abort();
  await lab.fails(runner.start(INPUT, { runId: "r", signal }), "RunAbortedError");
  await lab.fails(runner.status("r"), "CheckpointNotFoundError");
  const { run } = await lab.drive(runner.run(INPUT));
  await lab.fails(runner.resume(run.runId, { signal, payload: 1 }), "RunAbortedError");
  assert.equal((await runner.status(run.runId)).revision, run.revision);
  const stop = new AbortController();
  let listeners = 0;
  const { addEventListener, removeEventListener } = stop.signal;
  stop.signal.addEventListener = function (...args: Parameters<typeof addEventListener>) {
    listeners += 1;
    return addEventListener.apply(this, args);
  };
  stop.signal.removeEventListener = function (...args: Parameters<typeof removeEventListener>) {
    listeners -= 1;
    return removeEventListener.apply(this, args);
  };
  await lab.drive(runner.resume(run.runId, { signal: stop.signal, payload: 1 }));
  assert.equal(listeners, 0);
});

test("every body sees a reason that tells timeout, deadline, shutdown and lost ownership apart (E11)", async () => {
  const names: string[] = [];
  const lab = new Lab();
  const seeing = (id: string, timeout?: Duration) =>
    lab.graph({
      a: {
        ...(timeout === undefined ? {} : { timeout }),
        body: (ctx) => {
          ctx.signal.addEventListener("abort", () => names.push((ctx.signal.reason as Error).name));
          return gate().promise;
        },
      },
    }, { id });
  await lab.drive(lab.engine(seeing("timeout", "3s")).run(INPUT));
  await lab.drive(lab.engine(seeing("deadline")).run(INPUT, { deadline: "5s" }));
  const stop = new AbortController();
  const aborted = await lab.engine(seeing("abort")).start(INPUT, { signal: stop.signal });
  await lab.clock.settle();
  stop.abort();
  await lab.fails(aborted.result(), "RunAbortedError");
  const graph = seeing("lost");
  const stopped = freezable(lab.store);
  const first = await lab.engine(graph, { store: stopped.store }).start(INPUT, { runId: "r" });
  await lab.clock.settle();
  stopped.freeze();
  await lab.clock.advance("20s");
  const stopSecond = new AbortController();
  const [second] = await lab.drive(lab.elsewhere(graph).recover({ signal: stopSecond.signal }));
  stopped.thaw();
  await lab.clock.advance("6s");
  await lab.fails(first.result(), "OwnershipLostError");
  stopSecond.abort();
  await lab.fails(second!.result(), "RunAbortedError");
  assert.deepEqual(names, [
    "VertexTimeoutError",
    "RunDeadlineError",
    "RunAbortedError",
    "OwnershipLostError",
    "RunAbortedError",
  ]);
});

test("a run deadline cancels a working run: bodies end, waits close, later answers are refused (E1)", async () => {
  const lab = new Lab();
  const graph = lab.graph({
    v: { body: () => 0, to: ["a", "b"] },
    a: { body: (ctx) => ctx.interrupt() },
    b: { body: () => gate().promise },
  });
  const runner = lab.engine(graph);
  const start = lab.clock.now();
  const handle = await runner.start(INPUT, { deadline: "10s" });
  await lab.clock.settle();
  const [row] = (await runner.waits()).rows;
  const result = await lab.drive(handle.result());
  assert.deepEqual([result.status, lab.clock.now() - start], ["cancelled", 10_000]);
  assert.equal(result.run.cancelledAt, start + 10_000);
  const closed = (await runner.history(handle.runId)).rows.flatMap((h) => h.events).filter((e) =>
    e.type === "closed"
  );
  assert.deepEqual(closed.map((e) => e.reason), ["cancelled"]);
  const error = await lab.fails<Error & { reason: string }>(
    runner.answer(handle.runId, row!.waitId, 1),
    "AnswerError",
  );
  assert.equal(error.reason, "closed");
  assert.deepEqual((await runner.waits()).rows, []);
  await lab.fails(runner.resume(handle.runId), "ResumeTerminalError");
});

test("a signal ends whoever follows a run that another process works on, and leaves that run alone (E1, E11)", async () => {
  const lab = new Lab();
  const { promise, open } = gate<string>();
  const graph = lab.graph({ a: { body: () => promise } });
  const first = await lab.engine(graph).start(INPUT, { runId: "r" });
  const stop = new AbortController();
  const following = lab.elsewhere(graph).run(INPUT, { runId: "r", signal: stop.signal });
  const ended = following.then(() => undefined, (error: Error) => error);
  await lab.clock.advance("2s");
  stop.abort(new Error("enough"));
  await lab.clock.advance("2s");
  open("a");
  const error = await lab.drive(ended);
  assert.ok(isSuperstepError(error, "RUN_ABORTED"), String(error));
  assert.equal((error.cause as Error).message, "enough");
  assert.equal((await lab.drive(first.result())).status, "completed");
  assert.equal(lab.count("a"), 1);
});
