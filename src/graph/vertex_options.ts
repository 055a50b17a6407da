import type { ErrorHandler, RetryPolicy, TaskShape, TimeoutPolicy } from "../model/definition.ts";
import type { Duration } from "../model/durations.ts";
import type { KnownOptions } from "../model/known_options.ts";
import type { Pool } from "../model/pool.ts";
import type { WaitDefinition } from "../model/wait.ts";

/** A task, or the class of one, that takes `I` and gives `O`. A class is instantiated once per vertex and runner. */
export type TaskBinding<I, O> = TaskShape<I, O> | (abstract new (...args: never[]) => TaskShape<I, O>);

/** What every vertex has, however its input is selected. */
export interface VertexBase<S> {
  /** The pinned id, unique in its graph: `[A-Za-z0-9][A-Za-z0-9._:-]{0,127}`. */
  readonly id: string;
  /** A readable name for drawings; not part of the graph's version. @default none */
  readonly label?: string;
  /** `"all"`: runs when each in-edge has arrived or can no longer arrive. @default "any" */
  readonly join?: "any" | "all";
  /** The waits that the task may open with `ctx.waitFor`. @default none */
  readonly waits?: readonly WaitDefinition[];
  /** The pool that its bodies share with others, made by `definePool`. @default none */
  readonly pool?: Pool;
  /** How a failed attempt is tried again. @default one attempt */
  readonly retry?: RetryPolicy;
  /** A duration limits each attempt. @default no limit */
  readonly timeout?: Duration | TimeoutPolicy;
  /** What a final failure does: pause the run, or the first matching handler, asked from the top. @default "pause" */
  readonly onError?: OnErrorOption<S> | readonly OnErrorOption<S>[];
}

/** One answer to a final failure. */
export type OnErrorOption<S> = "pause" | ErrorHandler<S>;

/** A vertex with one input per step. */
export interface SingleVertex<S, I, O> extends VertexBase<S> {
  /** The task, or its class, which `provide` instantiates. */
  readonly task: TaskBinding<I, O>;
  /** The task's input, from the state. Synchronous and pure. */
  readonly select: (state: Readonly<S>) => NoInfer<I>;
  /** Folds the output in: changes the draft, or returns a new state. Synchronous and pure. */
  readonly reduce: (state: S, output: NoInfer<O>) => S | void;
  /** Not together with `select`. */
  readonly each?: never;
  /** Of a map vertex only. */
  readonly concurrency?: never;
}

/** A map vertex: one execution per item, in parallel. */
export interface MapVertex<S, I, O> extends VertexBase<S> {
  /** The task, or its class, which `provide` instantiates. */
  readonly task: TaskBinding<I, O>;
  /** The task's inputs, from the state. Synchronous and pure. */
  readonly each: (state: Readonly<S>) => readonly NoInfer<I>[];
  /** The most items at work at once in a run, whoever works on it. @default as many as whoever works on it allows */
  readonly concurrency?: number;
  /** Folds the outputs in, which come in item order and are frozen: changes the draft, or returns a new state. */
  readonly reduce: (state: S, outputs: readonly NoInfer<O>[]) => S | void;
  /** Not together with `each`. */
  readonly select?: never;
}

/** The options of a vertex. */
export const KNOWN_VERTEX = {
  id: true,
  label: true,
  task: true,
  select: true,
  each: true,
  concurrency: true,
  pool: true,
  reduce: true,
  join: true,
  waits: true,
  retry: true,
  timeout: true,
  onError: true,
} satisfies KnownOptions<keyof (SingleVertex<never, never, never> | MapVertex<never, never, never>)>;

/** Where what `@Vertex` takes besides belongs, when a graph is built by hand. */
export const GIVEN_ELSEWHERE = {
  to: "add it with addEdge(from, to)",
  route: "add it with addConditionalEdge(from, { targets, pick })",
  entry: "give it to build({ entry, finish })",
  finish: "give it to build({ entry, finish })",
  graph: "the builder is the graph",
} as const;
