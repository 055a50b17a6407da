import { CheckpointLog } from "./checkpoint/log.ts";
import { jsonSchemaOf, stateValidator } from "./checkpoint/validate.ts";
import { sizeGuard } from "./checkpoint/size.ts";
import type { WorkflowClass } from "./decorators/mod.ts";
import type { RunnerDeps } from "./engine/runner_deps.ts";
import { hooksOf } from "./engine/events.ts";
import { Flow } from "./engine/flow/flow.ts";
import { poolsOf } from "./engine/flow/pools.ts";
import { loggerOf, positive, type RunnerOptions, span } from "./engine/options.ts";
import { ownershipOf } from "./engine/ownership.ts";
import { Runner } from "./engine/runner.ts";
import { isThenable } from "./engine/thenable.ts";
import { BuildError, messageOf } from "./errors.ts";
import { shown } from "./graph/policies.ts";
import type { CompiledGraph, CompiledVertex, Task } from "./model/definition.ts";
import { type KnownOptions, optionProblem } from "./model/known_options.ts";
import type { Runtime } from "./runtime/runtime.ts";
import { systemRuntime } from "./runtime/system.ts";
import { graphOf } from "./scanner/mod.ts";
import type { Store } from "./store/store.ts";

/** Options of {@link compile}. */
export interface CompileOptions extends RunnerOptions {
  /** Where runs are kept: `await denoKv(path)`, `memoryStore()`, or another store. */
  readonly store: Store;
  /**
   * Makes the task of a vertex, such as `(cls) => new cls(services)`; called once per vertex. `at` has the store, and runners
   * of other workflows on it. @default new cls()
   */
  readonly provide?: (
    cls: new (...dependencies: unknown[]) => Task<never, unknown>,
    at: ProvideContext,
  ) => unknown;
  /** The clock, timers, ids and randomness. @default the system's */
  readonly runtime?: Runtime;
}

/** What {@link CompileOptions.provide} may make tasks with. */
export interface ProvideContext {
  /** The store of the runner that the task is for. */
  readonly store: Store;
  /** A runner of another workflow on the same store, with the same options, such as for `new Subgraph(at.runner(Review))`. */
  runner<S, I>(workflow: WorkflowClass<S, I> | CompiledGraph<S, I>): Runner<S, I>;
}

const KNOWN = {
  store: true,
  provide: true,
  runtime: true,
  adopt: true,
  inlineTimers: true,
  maxRecoveries: true,
  maxStateBytes: true,
  hooks: true,
  logger: true,
} satisfies KnownOptions<keyof CompileOptions>;

/**
 * Makes a runner of a workflow class, or of a graph that was built by hand. The tasks are made here, and everything that
 * is wrong with the declaration is found here.
 *
 * @throws {BuildError} (or another build error) when the declaration is not a graph, or no store is given
 *
 * @example
 * ```ts
 * const Verdict = defineWait("verdict", z.object({ approve: z.boolean(), note: z.string().default("") }));
 *
 * @Graph({ id: "approval" })
 * class Approval extends Workflow(z.object({ text: z.string(), approved: z.boolean().optional() })) {}
 *
 * @Vertex({
 *   graph: Approval, id: "review", entry: true, finish: true, waits: [Verdict],
 *   select: (s) => s.text,
 *   reduce: (s, approved: boolean) => { s.approved = approved; },
 * })
 * class Review {
 *   constructor(private readonly desk: { show(text: string): unknown }) {}
 *   async execute(text: string, ctx: TaskContext): Promise<boolean> {
 *     return (await ctx.waitFor(Verdict, { info: this.desk.show(text) })).approve;
 *   }
 * }
 *
 * const desk = { show: (text: string) => ({ text }) };
 * const runner = compile(Approval, { store: memoryStore(), provide: (cls) => new cls(desk) });
 *
 * const paused = await runner.run({ text: "Hello" }, { runId: "letter-7" }); // an input of the schema's type
 * assert.equal(paused.status, "interrupted");
 * const { rows: [wait] } = await runner.waits({ name: "verdict" }); // the inbox over all runs
 * assert.deepEqual([wait?.runId, wait?.info], ["letter-7", { text: "Hello" }]);
 *
 * await runner.answer("letter-7", Verdict, { approve: true }); // typed, checked and durable at once
 * const done = await runner.resume("letter-7");
 * assert.deepEqual([done.status, done.state.approved], ["completed", true]);
 *
 * const { rows: history } = await runner.history("letter-7");
 * assert.equal(history.at(-1)?.status, "completed");
 * ```
 */
export function compile<S, I>(
  workflow: WorkflowClass<S, I> | CompiledGraph<S, I>,
  options: CompileOptions,
): Runner<S, I> {
  const graph = typeof workflow === "function" ? graphOf<S, I>(workflow) : workflow;
  // Whoever writes JavaScript may leave the options out.
  const { store, runtime = systemRuntime } = (options as CompileOptions | undefined) ??
    ({} as CompileOptions);
  if (typeof store?.append !== "function") throw new BuildError("compile", storeProblem(graph.id, store));
  const unknown = optionProblem(options, KNOWN);
  if (unknown !== undefined) throw new BuildError("compile", `graph ${graph.id}: ${unknown}`);
  const validator = stateValidator<S>(graph.schema);
  const guard = sizeGuard(positive(options.maxStateBytes, DEFAULT_MAX_BYTES, "compile", "maxStateBytes"));
  const schemas = new Map<string, unknown>();
  for (const vertex of graph.vertices.values()) {
    if (vertex.pool !== undefined) poolsOf(store).of(vertex.pool, runtime);
    for (const wait of vertex.waits.values()) {
      schemas.set(`${vertex.id}/${wait.name}`, jsonSchemaOf(wait.schema));
    }
  }
  const log = new CheckpointLog<S>(store, runtime);
  const ownership = ownershipOf(store, runtime);
  const logger = loggerOf("compile", options.logger);
  const engine: RunnerDeps<S> = {
    graph,
    tasks: tasksOf(graph, options),
    store,
    log,
    runtime,
    ownership,
    flow: new Flow(graph.id, graph.flow, store, log as CheckpointLog<unknown>, runtime, ownership),
    rules: { validator, measure: (state) => guard(state, "the state") },
    adopts: adopts(graph.id, options.adopt),
    limits: {
      inlineTimersMs: span(options.inlineTimers, 30_000, "compile", "inlineTimers"),
      maxRecoveries: positive(options.maxRecoveries, 10, "compile", "maxRecoveries"),
    },
    logger,
    hooks: hooksOf(options.hooks),
    measureOutput: guard,
    schemaOf: (vertexId, name) => schemas.get(`${vertexId}/${name}`),
  };
  return new Runner(engine, store, validator);
}

function adopts(graphId: string, adopt: unknown): boolean {
  if (adopt === undefined || adopt === "compatible") return adopt !== undefined;
  throw new BuildError(
    "compile",
    `graph ${graphId}: adopt is ${shown(adopt)}; give "compatible", or leave it out`,
  );
}

function storeProblem(graphId: string, store: unknown): string {
  if (isThenable(store)) {
    return `the store of graph ${graphId} is a promise; write \`store: await denoKv(path)\``;
  }
  if (typeof store === "string") {
    const path = shown(store.slice(0, 200));
    return `the store of graph ${graphId} is the text ${path}; write \`store: await denoKv(${path})\``;
  }
  return `graph ${graphId} has no store; give \`store: await denoKv(path)\`, or \`memoryStore()\` for runs that may be lost`;
}

const DEFAULT_MAX_BYTES = 16 * 1024 * 1024;

function tasksOf<S>(graph: CompiledGraph<S>, options: CompileOptions): Map<string, Task<unknown, unknown>> {
  const provide = provideWith(options);
  return new Map([...graph.vertices.values()].map((vertex) => {
    const task = taskOf(graph.id, vertex, provide);
    task.onCompile?.({ graphId: graph.id, vertexId: vertex.id, store: options.store });
    return [vertex.id, task];
  }));
}

type ProvidedClass = Parameters<NonNullable<CompileOptions["provide"]>>[0];

/** `provide` of these options, with what it may make tasks with. */
export function provideWith(options: CompileOptions): ((cls: ProvidedClass) => unknown) | undefined {
  const { provide, store } = options;
  const at: ProvideContext = { store, runner: (workflow) => compile(workflow, options) };
  return provide && ((cls) => provide(cls, at));
}

/** The task of a vertex: the instance that it was bound with, or a new one of its class. */
export function taskOf<S>(
  graphId: string,
  vertex: CompiledVertex<S>,
  provide: ((cls: ProvidedClass) => unknown) | undefined,
): Task<unknown, unknown> {
  const { id: vertexId, task } = vertex;
  if (task.kind === "instance") return task.task;
  const className = task.cls.name;
  const refused = (problem: string, cause?: unknown) =>
    new BuildError(
      "compile",
      `vertex ${vertexId} (class ${className}) of graph ${graphId}: ${problem}`,
      { graphId, vertexId, className },
      cause === undefined ? {} : { cause },
    );
  let made: unknown;
  try {
    const cls = task.cls as unknown as ProvidedClass;
    made = provide === undefined ? new cls() : provide(cls);
  } catch (cause) {
    throw refused(
      provide === undefined
        ? `new ${className}() failed: ${
          messageOf(cause)
        }; give what it needs in compile's provide: (cls) => new cls(…)`
        : `provide failed for it: ${messageOf(cause)}`,
      cause,
    );
  }
  if (typeof (made as { execute?: unknown } | undefined)?.execute === "function") {
    return made as Task<unknown, unknown>;
  }
  throw provide === undefined
    ? refused("its instances have no execute(); add execute(input, ctx)")
    : refused(`provide gave ${shown(made)} for it; return an instance with execute()`);
}
