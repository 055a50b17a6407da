import { compile, type CompileOptions, provideWith } from "../compile.ts";
import type { WorkflowClass } from "../decorators/mod.ts";
import type { RunHandle } from "../engine/handle.ts";
import type { ResumeOptions, StartOptions } from "../engine/options.ts";
import type { RunResult } from "../engine/result.ts";
import type { Runner } from "../engine/runner.ts";
import { defined } from "../model/defined.ts";
import type { CompiledGraph } from "../model/definition.ts";
import { memoryStore } from "../store/memory.ts";
import type { Store } from "../store/store.ts";
import { AnswerBook, type FakeAnswers } from "./answer_book.ts";
import { aroundStore } from "./around_store.ts";
import { type Carrier, carryOn } from "./carry_on.ts";
import { asGraph, type FakeTask, instrument } from "./instrument.ts";
import { VirtualClock } from "./virtual_clock.ts";

/** Options of {@link testRunner}; those of `compile` apply as well. */
export interface TestRunnerOptions extends Omit<CompileOptions, "store" | "runtime"> {
  /** Fakes by vertex id; the other vertices run their own tasks. @default none */
  readonly tasks?: Readonly<Record<string, FakeTask>>;
  /** Answers by the name of the wait. @default none, so that the run stays interrupted */
  readonly answers?: FakeAnswers;
  /** The time that the runner lives in. @default a new virtual clock */
  readonly clock?: VirtualClock;
  /** Where runs are kept. @default a new memory store */
  readonly store?: Store;
}

/** A runner under test, on virtual time. */
export interface TestRunner<S, I = unknown> {
  /** The runner itself; its calls move no time. */
  readonly runner: Runner<S, I>;
  /** The time that the runner lives in. */
  readonly clock: VirtualClock;
  /** The store that the runner writes to. */
  readonly store: Store;
  /** How often the body of each vertex has begun; in a map vertex, over all items. */
  readonly calls: Readonly<Record<string, number>>;
  /** Starts a run and moves no time: `clock.drive(handle.result())` does. */
  start(input: I, options?: StartOptions): Promise<RunHandle<S>>;
  /**
   * Starts a run and carries it on: open waits are answered by their names, time moves to the next wake, the run is
   * resumed. Ends when the run is over, or when only a person can help: an unanswered wait, a failed vertex, a halt.
   */
  run(input: I, options?: StartOptions): Promise<RunResult<S>>;
  /** Resumes a run and carries it on as {@link TestRunner.run} does. */
  resume(runId: string, options?: ResumeOptions): Promise<RunResult<S>>;
}

/**
 * A runner for tests: fakes in the place of tasks, answers for waits, a clock that moves when nothing else happens.
 * Nothing of it takes real time, unless tasks do.
 *
 * @throws {UnknownVertexError} a fake is for a vertex that the workflow does not have
 * @throws {BuildError} an answer is for a wait that no vertex declares
 *
 * @example
 * ```ts
 * const Ok = defineWait("ok", z.object({ yes: z.boolean() }));
 * const graph = new GraphBuilder({ id: "pay", schema: z.object({ sum: z.number(), paid: z.boolean().default(false) }) })
 *   .addVertex({
 *     id: "ask",
 *     waits: [Ok],
 *     task: { execute: async (_sum: number, ctx: TaskContext) => (await ctx.waitFor(Ok)).yes },
 *     select: (s) => s.sum,
 *     reduce: () => {},
 *   })
 *   .addVertex({
 *     id: "pay",
 *     task: { execute: (_sum: number): Promise<void> => Promise.reject(new Error("no bank in tests")) },
 *     select: (s) => s.sum,
 *     reduce: (s) => { s.paid = true; },
 *   })
 *   .addEdge("ask", "pay")
 *   .build({ entry: "ask", finish: "pay" });
 *
 * const test = testRunner(graph, { tasks: { pay: (_sum: number) => {} }, answers: { ok: { yes: true } } });
 * const result = await test.run({ sum: 20 });
 * assert.equal(result.status, "completed");
 * assert.deepEqual(result.path, ["ask", "pay"]);
 * assert.deepEqual(test.calls, { ask: 2, pay: 1 });
 * ```
 */
export function testRunner<S, I>(
  workflow: WorkflowClass<S, I> | CompiledGraph<S, I>,
  options: TestRunnerOptions = {},
): TestRunner<S, I> {
  const {
    tasks = {},
    answers = {},
    clock = new VirtualClock(),
    store: inner = memoryStore(),
    provide,
    ...more
  } = options;
  const original = asGraph(workflow);
  const calls: Record<string, number> = Object.fromEntries(
    [...original.vertices.keys()].map((id) => [id, 0]),
  );
  const store = aroundStore(inner, (call) => clock.hold(call.apply()));
  const graph = instrument(original, {
    clock,
    tasks,
    provide: provideWith({ ...more, ...defined({ provide }), store, runtime: clock }),
    began: (ctx) => calls[ctx.vertexId]! += 1,
  });
  const runner = compile(graph, { ...more, store, runtime: clock });
  const carrier: Carrier<S> = {
    runner,
    clock,
    now: () => clock.now(),
    store,
    answers: new AnswerBook(original, answers),
    guard: (work) => work,
  };
  const start = (input: I, options?: StartOptions) => clock.drive(runner.start(input, options));
  return {
    runner,
    clock,
    store,
    calls,
    start,
    async run(input, options = {}) {
      const handle = await start(input, options);
      return await carryOn(carrier, handle.runId, handle.result(), workOptions(options));
    },
    resume: (runId, options = {}) =>
      carryOn(carrier, runId, runner.resume(runId, options), workOptions(options)),
  };
}

/** What later claims of a run take over from the options of the first one. */
export function workOptions(options: ResumeOptions | StartOptions) {
  const { concurrency, checkpointEvery, signal, hooks } = options;
  return defined({ concurrency, checkpointEvery, signal, hooks });
}
