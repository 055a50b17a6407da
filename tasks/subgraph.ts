import {
  BuildError,
  type CompiledGraph,
  type CompiledTask,
  FatalError,
  graphOf,
  type Hooks,
  type InterruptedResult,
  isSuperstepError,
  type Runner,
  type RunResult,
  type Task,
  type TaskContext,
  type WaitDefinition,
  type WorkflowClass,
} from "../mod.ts";
import { ANYTHING, Mirrors } from "./support/mirrors.ts";

/** How a run works for a vertex. */
export interface SubgraphOptions<S, O> {
  /** What the vertex puts out. @default the state that the run ends with */
  readonly output?: (state: S) => O;
  /** The most super-steps of the run, counted apart from those of the run that calls it. @default 10000 */
  readonly maxSteps?: number;
  /** The most bodies of the run at once. @default 64 */
  readonly concurrency?: number;
  /** Words by which `list` finds the run, beside the tag `called-by:<run id>`. @default none */
  readonly tags?: readonly string[];
}

/** A run that works for a vertex and has failed or halted. When the vertex runs again, the run is resumed. */
export class SubgraphError extends Error {
  /** The name of the class, which minifying leaves as it is. */
  override readonly name = "SubgraphError";
  /** `data`: what `record` and whoever reads the failure get. */
  constructor(message: string, readonly data: SubgraphFailure) {
    super(message);
  }
}

/** What is known of a run that failed. */
export interface SubgraphFailure {
  /** The run. */
  readonly runId: string;
  /** Its graph. */
  readonly graphId: string;
  /** What stopped it. */
  readonly problems: readonly string[];
}

/**
 * Runs another workflow as the work of a vertex: its input is what the vertex selects, and the state with which it ends is
 * what the vertex puts out. The run has an id of its own, derived from the idempotency key of the execution, its own
 * history and its own step budget; in a map vertex each item has its own run.
 *
 * - **Waits** of the run stand in the inbox of the run that calls it, with the same name, info, deadline and schema, and are
 *   answered there; declare them with {@link waitsOf}. They appear as soon as they are open; an answer reaches the run when
 *   its other bodies have settled.
 * - **Time**: when the run only sleeps, the vertex sleeps as long.
 * - **Cancel**, the deadline of the calling run, and a purge take the run along. A timeout, an abort or a lost process let
 *   it go; the next attempt goes on where it stood.
 * - **Failures**: a run that fails or halts fails the vertex with a {@link SubgraphError}. A retry of the vertex, and a
 *   `resume`, resume the run: what was done in it stays done, and `maxSteps` may have been raised. A run that was cancelled
 *   by itself fails the vertex for good.
 *
 * A crash repeats nothing that is recorded, wherever it hits: before the run is stored, nothing has happened; afterwards
 * the body finds it by its id and goes on with it, and the end of it too. An answer is recorded in the calling run first and
 * handed down then; a body that does not find the wait open any more has handed it down already.
 *
 * Use one store for both workflows. A fork of the calling run has a run of its own here, which goes on where this one stood
 * at that revision: what was done is not done again, answers stay given, and open waits are asked anew. It begins from the
 * beginning when its vertex selects another input, when the fork is of a revision before the step of the vertex, or when it
 * is no longer stored where this one stood (see `retain` and `purge`). A vertex that selects another input after an `update`
 * is refused: fork the calling run.
 *
 * @example
 * ```ts
 * const Verdict = defineWait("verdict", z.object({ ok: z.boolean() }));
 *
 * @Graph({ id: "review" })
 * class Review extends Workflow(z.object({ text: z.string(), ok: z.boolean().default(false) })) {}
 *
 * @Vertex({
 *   graph: Review, id: "ask", entry: true, finish: true, waits: [Verdict],
 *   select: (s) => s.text, reduce: (s, answer: { ok: boolean }) => { s.ok = answer.ok; },
 * })
 * class AskReviewer {
 *   execute(text: string, ctx: TaskContext) { return ctx.waitFor(Verdict, { info: text }); }
 * }
 *
 * const store = memoryStore();
 * const reviews = compile(Review, { store });
 * const graph = new GraphBuilder({ id: "book", schema: z.object({ pages: z.array(z.string()), good: z.number().default(0) }) })
 *   .addVertex({
 *     id: "review",
 *     task: new Subgraph(reviews, { output: (s) => s.ok }),
 *     waits: waitsOf(Review),
 *     each: (s) => s.pages.map((text) => ({ text })),
 *     reduce: (s, verdicts) => { s.good = verdicts.filter((ok) => ok).length; },
 *   })
 *   .build({ entry: "review", finish: "review" });
 *
 * const books = compile(graph, { store });
 * const { run } = await books.run({ pages: ["one", "two"] });
 * assert.equal((await books.waits({ runId: run.runId })).rows.length, 2);
 * const { state } = await books.resume(run.runId, { payload: { ok: true }, all: true });
 * assert.equal(state.good, 2);
 * ```
 */
export class Subgraph<S, I = unknown, O = S> implements Task<I, O> {
  readonly #runner: Runner<S, I>;
  readonly #options: SubgraphOptions<S, O>;

  /**
   * `runner`: of the workflow to run, on the store of the workflow that it is bound into.
   *
   * @throws {BuildError} no runner is given; and when a workflow is compiled with it, the runner has another store
   */
  constructor(runner: Runner<S, I>, options: SubgraphOptions<S, O> = {}) {
    if (typeof (runner as Partial<Runner<S, I>> | undefined)?.run !== "function") {
      const seen = typeof runner === "function"
        ? `class ${(runner as { name: string }).name}`
        : String(runner);
      throw new BuildError(
        "Subgraph",
        `a runner is expected, not ${seen}; give compile(Workflow, { store })`,
      );
    }
    this.#runner = runner;
    this.#options = options;
  }

  /** Refuses a runner on another store: neither workflow would find the runs of the other. */
  onCompile({ graphId, vertexId, store }: CompiledTask): void {
    if (this.#runner.store === store) return;
    throw new BuildError(
      "Subgraph",
      `vertex ${vertexId} of graph ${graphId} runs graph ${this.#runner.graph.id} on another store; ` +
        "compile both workflows with one store",
      { graphId, vertexId },
    );
  }

  /** Carries the run as far as it goes. */
  async execute(input: I, ctx: TaskContext): Promise<O> {
    const work = new AbortController();
    const abort = () => {
      const { reason } = ctx.signal;
      // A cancellation comes to the run by itself, and with the right reason.
      const cancelled = isSuperstepError(reason, "RUN_CANCELLED") || isSuperstepError(reason, "RUN_DEADLINE");
      if (!cancelled) work.abort(reason);
    };
    ctx.signal.addEventListener("abort", abort);
    if (ctx.signal.aborted) abort();
    try {
      return await this.#carry(input, ctx, work.signal);
    } finally {
      ctx.signal.removeEventListener("abort", abort);
    }
  }

  async #carry(input: I, ctx: TaskContext, signal: AbortSignal): Promise<O> {
    const { vertices } = this.#runner.graph;
    const mirrors = new Mirrors(ctx, (vertexId, name) => vertices.get(vertexId)?.waits.get(name));
    let isOurs = false;
    const hooks: Hooks = {
      wait: (wait) => mirrors.add(wait),
      runStart: () => void (isOurs = true),
      runResume: () => void (isOurs = true),
    };
    const { maxSteps, concurrency } = this.#options;
    const how: How = {
      signal,
      hooks,
      caller: ctx,
      ...(maxSteps === undefined ? {} : { maxSteps }),
      ...(concurrency === undefined ? {} : { concurrency }),
    };
    const begin = () => this.#begin(input, ctx, how);
    try {
      for (let result = await begin();;) {
        if (result.status === "completed") {
          const { output } = this.#options;
          return output === undefined ? result.state as unknown as O : output(result.state);
        }
        const { runId } = result.run;
        if (result.status === "cancelled") {
          throw new FatalError(`run ${runId} was cancelled: ${result.cancelReason}`, { data: { runId } });
        }
        let given: Given = {};
        if (!hasFailed(result)) given = await due(result, mirrors, ctx);
        else if (isOurs) throw failureOf(result);
        try {
          result = await this.#runner.resume(runId, { ...how, ...given });
        } catch (error) {
          if (!hasMoved(error)) throw error;
          result = await begin();
        }
      }
    } finally {
      mirrors.end();
    }
  }

  /** Starts the run, or finds it, and waits until it rests. */
  async #begin(input: I, ctx: TaskContext, how: How): Promise<RunResult<S>> {
    const { tags } = this.#options;
    const options = { ...how, idempotencyKey: ctx.idempotencyKey, ...(tags === undefined ? {} : { tags }) };
    try {
      return await this.#runner.run(input, options);
    } catch (error) {
      if (!isSuperstepError(error, "RUN_EXISTS")) throw error;
      throw new FatalError(
        `vertex ${ctx.vertexId} now selects another input than the one that its run was started with; fork the run to begin anew`,
        { cause: error, data: { runId: this.#runner.runIdOf(ctx.idempotencyKey) } },
      );
    }
  }
}

/**
 * The waits that a vertex has to declare for the workflow that it runs with {@link Subgraph}: those that its vertices
 * declare, and one for `ctx.interrupt`.
 *
 * @throws {BuildError} vertices of the workflow declare different waits under one name
 */
export function waitsOf<S, I>(
  workflow: WorkflowClass<S, I> | CompiledGraph<S, I>,
): readonly WaitDefinition[] {
  const graph = typeof workflow === "function" ? graphOf(workflow) : workflow;
  const found = new Map([[ANYTHING.name, { wait: ANYTHING, of: "every ctx.interrupt" }]]);
  for (const vertex of graph.vertices.values()) {
    for (const wait of vertex.waits.values()) {
      const known = found.get(wait.name);
      if (known === undefined) found.set(wait.name, { wait, of: `vertex ${vertex.id}` });
      else if (known.wait.schema !== wait.schema && wait.schema !== ANYTHING.schema) {
        throw new BuildError(
          "waitsOf",
          `in graph ${graph.id}, ${known.of} and vertex ${vertex.id} have different waits under the name ${wait.name}; rename one`,
          { graphId: graph.id, name: wait.name },
        );
      }
    }
  }
  return [...found.values()].map(({ wait }) => wait);
}

/** Options of everything that works on the run. */
interface How {
  readonly signal: AbortSignal;
  readonly hooks: Hooks;
  readonly caller: TaskContext;
  readonly maxSteps?: number;
  readonly concurrency?: number;
}

/** What a resume brings. */
interface Given {
  readonly answers?: Readonly<Record<string, unknown>>;
  readonly expired?: readonly string[];
}

/** What there is for a run that rests, once there is something or its time has come. */
async function due<S>(result: InterruptedResult<S>, mirrors: Mirrors, ctx: TaskContext): Promise<Given> {
  const { runId, revision } = result.run;
  // A fork has other revisions than the run that it comes from, whose sleeps it may have.
  const timer = result.due === undefined
    ? undefined
    : ctx.sleep(`until-${runId}-${revision}`, new Date(Math.ceil(result.due)));
  return await mirrors.results(result.waits, timer);
}

function hasFailed<S>(result: InterruptedResult<S>): boolean {
  return result.failures.length > 0 || result.halt !== undefined;
}

function failureOf<S>({ run: { runId, graphId }, failures, halt }: InterruptedResult<S>): SubgraphError {
  const problems = [
    ...failures.map(({ vertexId, item, failure }) =>
      `vertex ${vertexId}${item === undefined ? "" : ` item ${item}`}: ${failure.message}`
    ),
    ...(halt === undefined ? [] : [`${halt.kind}: ${halt.message}`]),
  ];
  return new SubgraphError(`run ${runId} of graph ${graphId} failed: ${problems.join("; ")}`, {
    runId,
    graphId,
    problems,
  });
}

/** Whether a resume came too late: somebody else has moved the run. */
function hasMoved(error: unknown): boolean {
  if (["RUN_BUSY", "REVISION_CONFLICT", "RESUME_TERMINAL"].some((code) => isSuperstepError(error, code))) {
    return true;
  }
  return isSuperstepError(error, "ANSWER") && error.fields["reason"] !== "invalid" &&
    error.fields["reason"] !== "foreign";
}
