// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { GraphBuilder } from "../../mod.ts";
import type { CompiledGraph, Duration, Runner } from "../../mod.ts";
import type { Execution } from "../../src/model/checkpoint.ts";
import { appendBytes, type Damage, damage, storedCheckpoint } from "../waits/damage.ts";
import { INPUT, Lab, type State } from "../waits/lab.ts";

/** A run of two vertices in one step, `a` waiting and `b` done, after a first step `start`. */
async function paused(options: { readonly id?: string; readonly deadline?: Duration } = {}) {
  const lab = new Lab();
  const graph = lab.graph({
    start: { body: () => 0, to: ["a", "b"] },
    a: { body: (ctx) => ctx.answer() ?? ctx.interrupt(), to: "end" },
    b: { body: () => 1, to: "end", onError: { route: "end" } },
    end: { body: () => 2 },
  }, options);
  const { deadline } = options;
  const start = deadline === undefined ? {} : { deadline };
  const { run } = await lab.drive(lab.engine(graph).run(INPUT, { runId: "r", ...start }));
  return { lab, graph, runId: run.runId };
}

/** Every way of working on the run is refused with this error, no body runs, and nothing is written. */
async function refused(
  lab: Lab,
  graph: CompiledGraph<State>,
  name: string,
  fields: Readonly<Record<string, unknown>>,
): Promise<void> {
  const ran = () => [...graph.vertices.keys()].map((id) => lab.count(id));
  const before = [ran(), (await lab.store.tail("r"))!.position.revision];
  const calls: ((runner: Runner<State>) => Promise<unknown>)[] = [
    (runner) => runner.resume("r"),
    (runner) => runner.resume("r", { payload: 1 }),
    (runner) => runner.resume("r", { takeover: true }),
  ];
  for (const call of calls) {
    const error = await lab.fails(call(lab.elsewhere(graph)), name);
    for (const [field, value] of Object.entries(fields)) {
      assert.deepEqual((error as unknown as Record<string, unknown>)[field], value, error.message);
    }
  }
  assert.deepEqual([ran(), (await lab.store.tail("r"))!.position.revision], before);
}

/** The same for the paused run with something wrong in its newest checkpoint. */
async function refusedWith(wrong: Damage, name: string, fields: Readonly<Record<string, unknown>>) {
  const { lab, graph, runId } = await paused();
  await damage(lab.store, runId, wrong);
  await refused(lab, graph, name, fields);
}

function phase(wrong: Damage): Promise<void> {
  return refusedWith(wrong, "CheckpointDecodeError", { field: "Phase" });
}

const HALT = { kind: "condition", step: 1, message: "no way", vertexId: "b" };

/** A halt that waits may stand beside. */
const LOST = { kind: "max_recoveries", step: 1, message: "its process died too often" };

/** What a checkpoint at a boundary has. */
const BOUNDARY = {
  phase: "routed",
  executions: new Map(),
  maps: new Map(),
  frontier: ["a", "b"],
};

test("bytes that are no record are refused with a typed error; no task runs, nothing is appended (LOD-01)", async () => {
  const { lab, graph, runId } = await paused();
  await appendBytes(lab.store, runId, new Uint8Array([7, 7, 7, 7]));
  await refused(lab, graph, "CheckpointDecodeError", { runId });
});

test("a checkpoint that names another run is refused (LOD-02)", () =>
  refusedWith({ run: { runId: "other" } }, "GraphRunMismatchError", { requested: "r", actual: "other" }));

test("a run of another graph is refused (LOD-03)", async () => {
  const { lab } = await paused({ id: "mine" });
  const other = lab.graph({ start: { body: () => 0 } }, { id: "theirs" });
  await refused(lab, other, "GraphMismatchError", { expected: "theirs", actual: "mine" });
});

test("a run of another graph version is refused, with what differs (LOD-04)", async () => {
  const { lab, graph } = await paused();
  const other = lab.graph({ start: { body: () => 0 } });
  await refused(lab, other, "GraphVersionMismatchError", { expected: other.version, actual: graph.version });
});

for (const status of ["completed", "cancelled"] as const) {
  test(`a run that is ${status} is refused by a resume and can still be read (LOD-05)`, async () => {
    const { lab, graph, runId } = await paused(status === "cancelled" ? { deadline: "1h" } : {});
    if (status === "completed") await lab.drive(lab.engine(graph).resume(runId, { payload: 1 }));
    else {
      await lab.clock.advance("2h");
      await lab.drive(Promise.all((await lab.engine(graph).recover()).map((h) => h.result())));
    }
    await refused(lab, graph, "ResumeTerminalError", { runId, status });
    assert.equal((await lab.elsewhere(graph).get(runId)).status, status);
  });
}

test("a state that cannot be decoded is refused, of a boundary and of a step under way alike (LOD-06, LOD-07)", async () => {
  for (const checkpoint of [{}, BOUNDARY]) {
    const run = checkpoint === BOUNDARY ? { status: "running" } : {};
    const wrong = { checkpoint, run, table: { not: "a table" } };
    await refusedWith(wrong, "CheckpointDecodeError", { field: "State" });
  }
});

test("a state that the schema refuses is refused (LOD-06)", async () => {
  const lab = new Lab();
  const graph = (schema: z.ZodType<State>) =>
    new GraphBuilder<State>({ id: "g", schema })
      .addVertex({
        id: "a",
        task: { execute: (_: null, ctx) => ctx.answer() ?? ctx.interrupt() },
        select: () => null,
        reduce: () => {},
      })
      .build({ entry: "a", finish: "a" });
  const out = z.record(z.string(), z.unknown());
  const was = graph(z.object({ out, log: z.array(z.string()) }));
  await lab.drive(lab.engine(was).run(INPUT, { runId: "r" }));
  const is = graph(z.object({ out, log: z.array(z.string()).min(1) }));
  await refused(lab, is, "CheckpointDecodeError", { field: "State" });
});

const ghost = (over: Partial<Execution>, of: Execution): Execution => ({ ...of, vertexId: "ghost", ...over });

test("a vertex that the graph does not have is refused wherever it is named (LOD-08, LOD-09, LOD-18)", async () => {
  const { lab } = await paused();
  const { executions } = await storedCheckpoint(lab.store, "r");
  const x = executions.get("a")!;
  const places: Damage["checkpoint"][] = [
    { frontier: ["a", "b", "ghost"] },
    { executions: new Map([...executions, ["ghost", ghost({}, x)]]) },
    { maps: new Map([["ghost", { count: 1, digest: "" }]]) },
    { routes: [{ from: "start", to: "ghost", kind: "static" }] },
    { routes: [{ from: "ghost", to: "a", kind: "static" }] },
    { arrivals: new Map([["ghost", ["a"]]]) },
    { arrivals: new Map([["end", ["ghost"]]]) },
  ];
  for (const checkpoint of places) {
    await refusedWith({ checkpoint: checkpoint! }, "UnknownVertexError", { vertexId: "ghost" });
  }
});

test("a paused checkpoint in which nothing waits or has failed, or one with a halt, is refused (LOD-10)", async () => {
  const { lab } = await paused();
  const { executions } = await storedCheckpoint(lab.store, "r");
  const done = executions.get("b")!;
  const all = new Map([["a", { ...done, vertexId: "a" }], ["b", done]]);
  await phase({ checkpoint: { executions: all } });
  await phase({ checkpoint: { halt: LOST } });
});

test("a halted checkpoint without its halt, or a routing halt beside a wait, is refused (LOD-11)", async () => {
  await phase({ checkpoint: { phase: "halted" } });
  await phase({ checkpoint: { phase: "halted", halt: HALT } });
});

test("a checkpoint in the middle of a step with a halt is refused (LOD-12)", () =>
  phase({ checkpoint: { phase: "running", halt: LOST }, run: { status: "running" } }));

test("a checkpoint at a boundary with outcomes and waits of a step, or with a halt, is refused (LOD-13)", async () => {
  await phase({ checkpoint: { phase: "routed" }, run: { status: "running" } });
  await phase({ checkpoint: { ...BOUNDARY, halt: LOST }, run: { status: "running" } });
});

test("an unknown phase is refused (LOD-14)", () => phase({ checkpoint: { phase: "dreaming" } }));

test("of several faults the first is named: run, graph, version, end, state, frontier, outcomes, routes, phase (LOD-15)", async () => {
  const { executions } = await storedCheckpoint((await paused()).lab.store, "r");
  const faults: readonly (readonly [Damage, string, string?])[] = [
    [{ run: { runId: "other" } }, "GraphRunMismatchError"],
    [{ run: { graphId: "other" } }, "GraphMismatchError"],
    [{ run: { graphVersion: "other" } }, "GraphVersionMismatchError"],
    [{ run: { status: "completed" } }, "ResumeTerminalError"],
    [{ table: { not: "a table" } }, "CheckpointDecodeError", "State"],
    [{ checkpoint: { frontier: ["a", "b", "in-frontier"] } }, "UnknownVertexError", "in-frontier"],
    [
      {
        checkpoint: {
          executions: new Map([...executions, [
            "in-executions",
            ghost({ vertexId: "in-executions" }, executions.get("a")!),
          ]]),
        },
      },
      "UnknownVertexError",
      "in-executions",
    ],
    [
      { checkpoint: { routes: [{ from: "in-routes", to: "a", kind: "static" }] } },
      "UnknownVertexError",
      "in-routes",
    ],
    [{ checkpoint: { halt: HALT } }, "CheckpointDecodeError", "Phase"],
  ];
  for (const [i, [, name, what]] of faults.entries()) {
    const wrong = faults.slice(i).map(([d]) => d).reduceRight((sum, d) => ({
      ...sum,
      ...d,
      checkpoint: { ...sum.checkpoint, ...d.checkpoint },
      run: { ...sum.run, ...d.run },
    }));
    const field = name === "UnknownVertexError" ? "vertexId" : "field";
    await refusedWith(wrong, name, what === undefined ? {} : { [field]: what });
  }
});

test("an outcome that its vertex cannot have is refused (LOD-18)", async () => {
  const { executions } = await storedCheckpoint((await paused()).lab.store, "r");
  const b = executions.get("b")!;
  const failure = { name: "Error", message: "broken", attempt: 1, phase: "execute" } as const;
  const impossible: Execution[] = [
    { ...b, status: "failed", failure, handler: 1 },
    { ...b, status: "failed" },
    { ...b, status: "done", handler: 0 },
    { ...b, status: "backoff" },
    { ...b, item: 3 },
    { ...executions.get("a")!, vertexId: "end" },
  ];
  for (const x of impossible) {
    const wrong = { checkpoint: { executions: new Map([...executions, [x.vertexId, x]]) } };
    await refusedWith(wrong, "CheckpointDecodeError", { field: "Executions" });
  }
  const unrouted: Execution = { ...executions.get("a")!, status: "failed", failure, handler: 0 };
  const wrong = { checkpoint: { executions: new Map([...executions, ["a", unrouted]]) } };
  await refusedWith(wrong, "CheckpointDecodeError", { field: "Executions" });
});

test("a paused checkpoint whose frontier is not what its outcomes and waits are of is refused (LOD-19)", async () => {
  const wrongs: Damage["checkpoint"][] = [
    { frontier: ["b"] },
    { frontier: ["a", "b", "end"] },
    { frontier: ["a", "b", "b"] },
    { frontier: [] },
  ];
  for (const checkpoint of wrongs) {
    const { lab, graph, runId } = await paused();
    await damage(lab.store, runId, { checkpoint: checkpoint! });
    await refused(lab, graph, "CheckpointDecodeError", { runId });
  }
});

test("the status running beside a paused phase is refused, for each call that takes a run over (LOD-20)", async () => {
  await phase({ run: { status: "running" } });
});
