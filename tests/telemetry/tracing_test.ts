import assert from "node:assert/strict";
import { test } from "node:test";
import { trace } from "@opentelemetry/api";
import type { SpanProcessor } from "@opentelemetry/sdk-trace-base";
import { defineWait } from "../../mod.ts";
import { tracing } from "../../src/telemetry/mod.ts";
import { z } from "zod";
import { Subgraph } from "../../tasks/subgraph.ts";
import { gate, INPUT, interrupted, Lab, openId, type Spec } from "../waits/lab.ts";
import { recording, type SpanOf, treeOf } from "./otel.ts";

const Ok = defineWait("ok", z.boolean());

const named = (spans: readonly SpanOf[], name: string) => spans.filter((span) => span.name === name);

/** A lab whose engines trace into one memory. */
function tracedLab(...processors: readonly SpanProcessor[]) {
  const lab = new Lab();
  const { tracer, spans } = recording(...processors);
  const warnings: string[] = [];
  const logger = { warn: (message: string) => void warnings.push(message) };
  return { lab, tracer, spans, warnings, hooks: tracing({ tracer, logger }) };
}

test("spans nest as the run does: the segment, its steps, their bodies, and what a body starts itself", async () => {
  const { lab, tracer, spans, hooks } = tracedLab();
  const graph = lab.graph({
    a: { body: () => 0, to: ["b", "c"] },
    b: {
      body: async () => {
        await Promise.resolve();
        return await tracer.startActiveSpan("query", async (span) => {
          await Promise.resolve();
          span.end();
          return 1;
        });
      },
    },
    c: { body: () => tracer.startActiveSpan("sum", (span) => span.end()) },
  });
  const { run } = await lab.drive(lab.engine(graph, { hooks }).run(INPUT, { runId: "r" }));
  const finished = await spans();
  assert.deepEqual(treeOf(finished), [
    "run g",
    "  step",
    "    vertex a",
    "  step",
    "    vertex b",
    "      query",
    "    vertex c",
    "      sum",
  ]);
  assert.equal(new Set(finished.map((span) => span.traceId)).size, 1);
  assert.deepEqual(named(finished, "run g")[0]!.attributes, {
    "superstep.graph.id": "g",
    "superstep.graph.version": run.graphVersion,
    "superstep.run.id": "r",
    "superstep.run.status": "completed",
    "superstep.run.revision": run.revision,
    "superstep.step": 1,
  });
  const { "superstep.vertex.run_id": vertexRunId, ...more } = named(finished, "vertex b")[0]!.attributes;
  assert.match(String(vertexRunId), /^[0-9a-f-]{36}$/);
  assert.deepEqual(more, {
    "superstep.run.id": "r",
    "superstep.step": 1,
    "superstep.vertex.id": "b",
    "superstep.vertex.attempt": 1,
    "superstep.vertex.status": "done",
  });
  assert.deepEqual(
    named(finished, "step").map((
      s,
    ) => [s.attributes["superstep.step"], s.attributes["superstep.step.vertices"]]),
    [[0, ["a"]], [1, ["b", "c"]]],
  );
  assert.deepEqual(
    named(finished, "vertex a")[0]!.events.map((e) => [e.name, e.attributes["superstep.edge.to"]]),
    [["superstep.edge", "b"], ["superstep.edge", "c"]],
  );
  assert.ok(finished.every((span) => span.error === undefined));
});

test("a body that ends is not the parent of what comes after it", async () => {
  const { lab, tracer, spans, hooks } = tracedLab();
  const seen: unknown[] = [];
  const active = () => void seen.push(trace.getActiveSpan()?.spanContext().spanId);
  const graph = lab.graph({
    a: { body: active, reduce: active, to: "b" },
    b: { body: active, select: active },
  });
  await tracer.startActiveSpan("caller", async (span) => {
    await lab.drive(lab.engine(graph, { hooks }).run(INPUT));
    span.end();
  });
  const finished = await spans();
  const [a, b, caller] = ["vertex a", "vertex b", "caller"].map((name) => named(finished, name)[0]!.spanId);
  assert.deepEqual(seen, [a, caller, caller, b]);
});

test("attempts are spans of their own, linked one to the next; the failed ones carry the error and when it goes on", async () => {
  const { lab, spans, hooks } = tracedLab();
  const began = lab.clock.now();
  const graph = lab.graph({
    a: {
      retry: { maxAttempts: 3, backoff: { initial: "2s" } },
      body: (ctx) => {
        if (ctx.attempt === 1) throw new TypeError("no line");
        return 0;
      },
    },
  });
  await lab.drive(lab.engine(graph, { hooks }).run(INPUT));
  const [first, second, ...others] = named(await spans(), "vertex a");
  assert.equal(others.length, 0);
  assert.deepEqual([first?.error, first?.attributes["error.type"]], ["no line", "TypeError"]);
  assert.deepEqual(first?.events.map((e) => e.name), ["superstep.retry", "exception"]);
  assert.equal(first?.events[0]?.attributes["superstep.retry.at"], new Date(began + 2_000).toISOString());
  assert.deepEqual([second?.error, second?.links], [undefined, [first!.spanId]]);
  assert.deepEqual(
    [first, second].map((span) => [span!.attributes["superstep.vertex.attempt"], span!.start - began]),
    [[1, 0], [2, 2_000]],
  );
});

test("one trace per run: a pause ends the segment, and another engine goes on under the same parent", async () => {
  const { lab, tracer, spans, hooks } = tracedLab();
  const graph = lab.graph({ a: { body: (ctx) => ctx.waitFor(Ok, { info: "secret" }), waits: [Ok] } });
  const paused = await lab.drive(lab.engine(graph, { hooks }).run(INPUT, { runId: "r" }));
  const waitId = openId(paused, "ok");
  const elsewhere = lab.elsewhere(graph, { hooks: tracing({ tracer }) });
  await elsewhere.answer("r", waitId, true);
  const resumed = elsewhere.resume("r");
  assert.equal((await lab.drive(resumed)).status, "completed");
  await lab.drive(lab.engine(graph, { hooks }).run(INPUT, { runId: "s" }));

  const [one, two, other] = named(await spans(), "run g");
  assert.equal(one?.traceId, two?.traceId);
  assert.equal(one?.parentId, two?.parentId);
  assert.notEqual(one?.traceId, other?.traceId);
  assert.deepEqual(
    [one, two].map((s) => [s!.attributes["superstep.run.status"], s!.attributes["superstep.run.reason"]]),
    [["interrupted", "awaiting"], ["completed", undefined]],
  );
  assert.equal(two?.attributes["superstep.run.recovery"], false);
  assert.equal(one?.error, undefined);
  const [asked, told] = named(await spans(), "vertex a");
  assert.equal(asked?.attributes["superstep.vertex.status"], "suspended");
  assert.deepEqual(asked?.events, [{
    name: "superstep.wait",
    attributes: {
      "superstep.vertex.id": "a",
      "superstep.wait.id": waitId,
      "superstep.wait.name": "ok",
      "superstep.wait.kind": "answer",
    },
  }]);
  assert.equal(told?.attributes["superstep.vertex.status"], "done");
  assert.deepEqual(two?.events.map((e) => [e.name, e.attributes["superstep.wait.id"]]), [
    ["superstep.answer", waitId],
  ]);
  assert.ok(!JSON.stringify(await spans()).includes("secret"));
});

test("an answer within the process runs the body again in a span that is linked to the one before", async () => {
  const { lab, spans, hooks } = tracedLab();
  const slow = gate();
  const graph = lab.graph({
    v: { body: () => 0, to: ["a", "b"] },
    a: { body: (ctx) => ctx.waitFor(Ok), waits: [Ok] },
    b: { body: () => slow.promise },
  });
  const runner = lab.engine(graph, { hooks });
  const handle = await runner.start(INPUT, { runId: "r" });
  await lab.clock.settle();
  const { rows: [wait] } = await runner.waits();
  const [ended] = named(await spans(), "vertex a");
  assert.equal(
    ended?.attributes["superstep.vertex.status"],
    "suspended",
    "it is exported while its step goes on",
  );
  await runner.answer("r", wait!.waitId, true);
  await lab.clock.settle();
  slow.open();
  assert.equal((await lab.drive(handle.result())).status, "completed");
  const [asked, told] = named(await spans(), "vertex a");
  assert.deepEqual(told?.links, [asked!.spanId]);
  assert.deepEqual([asked?.parentId], [told?.parentId]);
});

test("a segment is linked to the span that asked for it, and is not part of its trace", async () => {
  const { lab, tracer, spans, hooks } = tracedLab();
  const runner = lab.engine(lab.graph({ a: { body: (ctx) => ctx.answer()?.value ?? ctx.interrupt() } }), {
    hooks,
  });
  await tracer.startActiveSpan("POST /orders", async (span) => {
    await lab.drive(runner.run(INPUT, { runId: "r" }));
    span.end();
  });
  await tracer.startActiveSpan("POST /answers", async (span) => {
    await lab.drive(runner.resume("r", { payload: 1 }));
    span.end();
  });
  const finished = await spans();
  const [start, answer] = ["POST /orders", "POST /answers"].map((name) => named(finished, name)[0]!);
  const segments = named(finished, "run g");
  assert.deepEqual(segments.map((s) => s.links), [[start!.spanId], [answer!.spanId]]);
  assert.ok(segments.every((s) => s.traceId !== start!.traceId && s.traceId !== answer!.traceId));
});

test("a run that works for a vertex is a trace of its own, linked to the body that called it", async () => {
  const { lab, spans, hooks } = tracedLab();
  const child = lab.engine(lab.graph({ c: { body: () => 0 } }, { id: "child" }), { hooks });
  const task = new Subgraph(child);
  const graph = lab.graph({ a: { select: () => INPUT, body: (ctx, input) => task.execute(input, ctx) } });
  await lab.drive(lab.engine(graph, { hooks }).run(INPUT));
  const [caller] = named(await spans(), "vertex a");
  const [called] = named(await spans(), "run child");
  assert.deepEqual(called?.links, [caller!.spanId]);
  assert.notEqual(called?.traceId, caller?.traceId);
});

test("items are told apart, and the failed one alone is an error; so is the segment, for the run waits for help", async () => {
  const { lab, spans, hooks } = tracedLab();
  const graph = lab.graph({
    m: {
      each: () => [0, 1, 2],
      body: (_ctx, item: number) => {
        if (item === 1) throw new Error("item one");
        return item;
      },
    },
  });
  interrupted(await lab.drive(lab.engine(graph, { hooks }).run(INPUT)));
  const items = named(await spans(), "vertex m");
  assert.deepEqual(
    items.map((span) => [span.attributes["superstep.vertex.item"], span.error]).toSorted(),
    [[0, undefined], [1, "item one"], [2, undefined]],
  );
  assert.equal(named(await spans(), "run g")[0]?.error, "a vertex failed");
});

test("what fails outside of a body is told on its step: a selector, a reducer", async () => {
  const broken: Readonly<Record<string, Spec>> = {
    selector: {
      body: () => 0,
      select: () => {
        throw new Error("select");
      },
    },
    reducer: {
      body: () => 0,
      reduce: () => {
        throw new Error("reduce");
      },
    },
  };
  for (const [name, spec] of Object.entries(broken)) {
    const { lab, spans, hooks } = tracedLab();
    await lab.drive(lab.engine(lab.graph({ a: spec }), { hooks }).run(INPUT));
    const failed = (await spans()).filter((s) => s.name !== "run g" && s.error !== undefined);
    assert.deepEqual(failed.map((s) => s.error), [name.slice(0, 6)], name);
  }
});

test("a halt is the error of its segment, with its kind", async () => {
  const { lab, spans, hooks } = tracedLab();
  const loop = lab.graph({
    a: { body: () => 0, route: { targets: ["a", "end"], pick: () => "a" } },
    end: { body: () => 0 },
  });
  await lab.drive(lab.engine(loop, { hooks }).run(INPUT, { maxSteps: 2 }));
  const [segment] = named(await spans(), "run g");
  assert.equal(segment?.attributes["error.type"], "max_steps");
  assert.match(segment?.error ?? "", /2/);
  assert.equal(segment?.attributes["superstep.run.reason"], "halted");
});

test("an abort ends the segment without an error, and every span in it", async () => {
  const { lab, spans, hooks } = tracedLab();
  const controller = new AbortController();
  const graph = lab.graph({ a: { body: () => gate().promise } });
  const running = lab.engine(graph, { hooks }).run(INPUT, { signal: controller.signal });
  await lab.clock.settle();
  controller.abort(new Error("shutdown"));
  await lab.fails(running, "RunAbortedError");
  const finished = await spans();
  assert.deepEqual(treeOf(finished), ["run g", "  step", "    vertex a"]);
  const [segment] = named(finished, "run g");
  assert.deepEqual([segment?.error, segment?.attributes["superstep.run.left"]], [undefined, "RUN_ABORTED"]);
});

test("a lost run is the error of the segment that lost it; the process that took it over has its own", async () => {
  const { lab, tracer, spans, hooks } = tracedLab();
  let calls = 0;
  const graph = lab.graph({ a: { body: () => ++calls === 1 ? gate().promise : 0 } });
  const first = lab.engine(graph, { hooks }).run(INPUT, { runId: "r" });
  await lab.clock.settle();
  const elsewhere = lab.elsewhere(graph, { hooks: tracing({ tracer }) });
  const second = elsewhere.resume("r", { takeover: true });
  await lab.fails(first, "OwnershipLostError");
  assert.equal((await lab.drive(second)).status, "completed");
  const segments = named(await spans(), "run g");
  assert.deepEqual(
    segments.map((s) => s.attributes["error.type"]).toSorted(),
    ["OWNERSHIP_LOST", undefined],
  );
  assert.equal(new Set(segments.map((s) => s.traceId)).size, 1);
});

test("a takeover within one process keeps both segments, each with its own end", async () => {
  const { lab, spans, hooks } = tracedLab();
  let calls = 0;
  const begin = gate();
  const graph = lab.graph({ a: { body: () => ++calls === 1 ? gate().promise : begin.promise } });
  const runner = lab.engine(graph, { hooks });
  const first = runner.run(INPUT, { runId: "r" });
  await lab.clock.settle();
  const second = runner.resume("r", { takeover: true });
  await lab.fails(first, "OwnershipLostError");
  begin.open();
  assert.equal((await lab.drive(second)).status, "completed");
  const segments = named(await spans(), "run g");
  assert.deepEqual(segments.map((s) => s.attributes["superstep.run.status"]), ["running", "completed"]);
});

test("a run that is cancelled while nobody works on it has a segment of no length that says so", async () => {
  const { lab, spans, hooks } = tracedLab();
  const runner = lab.engine(lab.graph({ a: { body: (ctx) => ctx.interrupt() } }), { hooks });
  await lab.drive(runner.run(INPUT, { runId: "r" }));
  await lab.drive(runner.cancel("r", "not needed"));
  const [, end] = named(await spans(), "run g");
  assert.equal(end?.attributes["superstep.run.status"], "cancelled");
  assert.equal(end?.attributes["superstep.run.cancel_reason"], "not needed");
});

test("runs that are not sampled are in a trace that is not recorded", async () => {
  const { lab, tracer, spans } = tracedLab();
  const hooks = tracing({ tracer, sample: (run) => run.runId === "yes" });
  const flags: number[] = [];
  const graph = lab.graph({
    a: { body: () => void flags.push(trace.getActiveSpan()!.spanContext().traceFlags) },
  });
  const runner = lab.engine(graph, { hooks });
  await lab.drive(runner.run(INPUT, { runId: "yes" }));
  await lab.drive(runner.run(INPUT, { runId: "no" }));
  void await spans();
  assert.deepEqual(flags, [1, 0]);
});

for (const where of ["onStart", "onEnd"] as const) {
  test(`a span processor that throws in ${where} changes nothing of the run and is logged`, async () => {
    const broken: SpanProcessor = {
      onStart: () => {},
      onEnd: () => {},
      forceFlush: () => Promise.resolve(),
      shutdown: () => Promise.resolve(),
      [where]: () => {
        throw new Error("exporter");
      },
    };
    const { lab, warnings, hooks } = tracedLab(broken);
    const graph = lab.graph({
      a: { body: () => 1, to: "b" },
      b: { body: (ctx) => ctx.answer()?.value ?? ctx.interrupt() },
    });
    const runner = lab.engine(graph, { hooks });
    const { run } = await lab.drive(runner.run(INPUT));
    const result = await lab.drive(runner.resume(run.runId, { payload: 2 }));
    assert.deepEqual([result.status, result.state.out], ["completed", { a: 1, b: 2 }]);
    assert.deepEqual([lab.count("a"), lab.count("b")], [1, 2]);
    assert.ok([...warnings, ...lab.warnings].some((w) => w.includes("hook") || w.includes("span processor")));
  });
}
