import { BuildError } from "../errors.ts";
import type { RouteOptions, TaskShape } from "../model/definition.ts";
import { type KnownOptions, ON_OFF } from "../model/known_options.ts";
import { type Pool, poolProblem } from "../model/pool.ts";
import { waitProblem } from "../model/wait.ts";
import type { WaitDefinition } from "../model/wait.ts";
import {
  type Annotation,
  annotation,
  nameOf,
  refuseUnknown,
  requireGraph,
  requireOptions,
} from "./annotation.ts";
import { noteBound, prependOwn, records, type VertexBinding, type VertexRecord } from "./metadata.ts";
import { callerOrigin } from "./origin.ts";
import type { WorkflowReference } from "./workflow.ts";

/** What every vertex has, however its input is selected. */
export interface VertexDecoratorBase<S, T extends string> {
  /** The workflow class that the task is bound into; a thunk where modules import each other. */
  readonly graph: WorkflowReference<S>;
  /** The pinned id, unique in its graph: `[A-Za-z0-9][A-Za-z0-9._:-]{0,127}`. */
  readonly id: string;
  /** A readable name for drawings; not part of the graph's version. @default none */
  readonly label?: string;
  /** Whether runs begin here. One vertex of a graph is its entry. @default false */
  readonly entry?: boolean;
  /** Whether a run may complete once this has run, as after a branch that ended at `END`. @default false */
  readonly finish?: boolean;
  /** `"all"`: runs when each in-edge has arrived or can no longer arrive. @default "any" */
  readonly join?: "any" | "all";
  /** The waits that the task may open with `ctx.waitFor`. @default none */
  readonly waits?: readonly WaitDefinition[];
  /** The pool that its bodies share with others, made by `definePool`. @default none */
  readonly pool?: Pool;
  /** Where a run always goes next: vertices, which several fan out to, or `END`. @default nowhere */
  readonly to?: string | readonly string[];
  /** Where a run may go next, and where it does. Not together with `to`. @default nowhere */
  readonly route?: RouteOptions<NoInfer<S>, T>;
  /** `import.meta.url`, where the module cannot be told from the stack. @default the module of the decorator */
  readonly module?: string;
}

/** A vertex with one input per step. */
export interface VertexOptions<S, I, O, T extends string> extends VertexDecoratorBase<S, T> {
  /** The task's input, from the state. Synchronous and pure. */
  readonly select: (state: Readonly<NoInfer<S>>) => I;
  /** Folds the output in: changes the draft, or returns a new state. Annotate `output` with the task's output type. */
  readonly reduce: (state: NoInfer<S>, output: O) => NoInfer<S> | void;
  /** Not together with `select`. */
  readonly each?: never;
  /** Of a map vertex only. */
  readonly concurrency?: never;
}

/** A map vertex: one execution per item, in parallel. */
export interface MapVertexOptions<S, I, O, T extends string> extends VertexDecoratorBase<S, T> {
  /** The task's inputs, from the state. Synchronous and pure. */
  readonly each: (state: Readonly<NoInfer<S>>) => readonly I[];
  /** The most items at work at once in a run, whoever works on it. @default as many as whoever works on it allows */
  readonly concurrency?: number;
  /** Folds the outputs in, which come in item order and are frozen. Annotate them with `readonly TheOutput[]`. */
  readonly reduce: (state: NoInfer<S>, outputs: readonly O[]) => NoInfer<S> | void;
  /** Not together with `each`. */
  readonly select?: never;
}

const KNOWN = {
  graph: true,
  id: true,
  label: true,
  entry: ON_OFF,
  finish: ON_OFF,
  join: true,
  waits: true,
  to: true,
  route: true,
  module: true,
  select: true,
  each: true,
  concurrency: true,
  pool: true,
  reduce: true,
} satisfies KnownOptions<
  keyof (VertexOptions<never, never, never, string> | MapVertexOptions<never, never, never, string>)
>;

/** The options as the implementation sees them: their types have been checked by the overloads. */
type ErasedOptions =
  & VertexBinding
  & Pick<VertexRecord, "graph" | "id">
  & Pick<VertexDecoratorBase<never, string>, "entry" | "finish" | "to" | "route" | "module">;

/**
 * Binds a task class into a graph under a pinned id. A class may be bound again, by a second `@Vertex` for another graph
 * or on a subclass.
 *
 * @example
 * ```ts
 * @Graph({ id: "approval", version: 1 })
 * class Approval extends Workflow(z.object({ question: z.string(), draft: z.string().optional() })) {}
 *
 * @Vertex({
 *   graph: Approval, id: "draft", entry: true, to: "review",
 *   select: (s) => s.question,
 *   reduce: (s, text: string) => { s.draft = text; },
 * })
 * class Draft implements Task<string, string> {
 *   execute(question: string): string {
 *     return `About ${question}`;
 *   }
 * }
 * ```
 */
export function Vertex<S, I, O, const T extends string>(
  options: VertexOptions<S, I, O, T>,
): Annotation<abstract new (...args: never[]) => TaskShape<I, O>>;
/**
 * Binds a task class as a map vertex: one execution per item that `each` gives, in parallel, each with attempts, waits and
 * a recorded outcome of its own.
 *
 * @example
 * ```ts
 * @Graph({ id: "lengths" })
 * class Lengths extends Workflow(z.object({ texts: z.array(z.string()), total: z.number().default(0) })) {}
 *
 * @Vertex({
 *   graph: Lengths, id: "measure", entry: true, finish: true,
 *   each: (s) => s.texts,
 *   reduce: (s, lengths: readonly number[]) => { s.total = lengths.reduce((a, b) => a + b, 0); },
 * })
 * class Measure {
 *   execute(text: string): number {
 *     return text.length;
 *   }
 * }
 *
 * const { state } = await testRunner(Lengths).run({ texts: ["a", "bcd"] });
 * assert.equal(state.total, 4);
 * ```
 */
export function Vertex<S, I, O, const T extends string>(
  options: MapVertexOptions<S, I, O, T>,
): Annotation<abstract new (...args: never[]) => TaskShape<I, O>>;
export function Vertex(options: ErasedOptions): Annotation {
  requireOptions("@Vertex", options);
  const origin = callerOrigin(options.module);
  return annotation("@Vertex", (cls) => {
    refuseUnknown("@Vertex", cls, options, KNOWN, ` (vertex ${String(options.id)})`);
    const graph = requireGraph("@Vertex", cls, options.graph);
    for (const wait of Array.isArray(options.waits) ? options.waits : []) {
      const problem = waitProblem(wait);
      if (problem !== undefined) throw new BuildError("@Vertex", `on class ${nameOf(cls)}: ${problem}`);
    }
    const noPool = options.pool === undefined ? undefined : poolProblem(options.pool);
    if (noPool !== undefined) throw new BuildError("@Vertex", `on class ${nameOf(cls)}: ${noPool}`);
    const { id, entry = false, finish = false, to = [], route, label, join, waits, select, each, reduce } =
      options;
    const { concurrency, pool } = options;
    const vertex: VertexRecord = Object.freeze({
      graph,
      id,
      entry,
      finish,
      to: typeof to === "string" ? [to] : copied(to),
      route: route === undefined ? undefined : Object.freeze({ ...route, targets: copied(route.targets) }),
      binding: Object.freeze({
        ...(label === undefined ? {} : { label }),
        ...(join === undefined ? {} : { join }),
        ...(waits === undefined ? {} : { waits: copied(waits) }),
        ...(select === undefined ? {} : { select }),
        ...(each === undefined ? {} : { each }),
        ...(concurrency === undefined ? {} : { concurrency }),
        ...(pool === undefined ? {} : { pool }),
        reduce,
      }),
      ...origin,
    });
    prependOwn(cls, records.vertex, vertex);
    noteBound(Object.freeze({ cls, vertex }));
  });
}

/** A list that the caller cannot change any more. What is no list is left for the builder to refuse. */
function copied<T>(list: readonly T[]): readonly T[] {
  return Array.isArray(list) ? Object.freeze([...list]) : list;
}
