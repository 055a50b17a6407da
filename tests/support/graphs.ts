import assert from "node:assert/strict";
import { compile } from "../../src/compile.ts";
import type { RecordEvent } from "../../src/checkpoint/records.ts";
import type { ResumeOptions, RunnerOptions, StartOptions } from "../../src/engine/options.ts";
import type { CompletedResult, InterruptedResult, RunResult } from "../../src/engine/result.ts";
import type { Runner } from "../../src/engine/runner.ts";
import { GraphBuilder, type GraphOptions } from "../../src/graph/mod.ts";
import type { VertexBase } from "../../src/graph/vertex_options.ts";
import type { TaskContext } from "../../src/model/context.ts";
import type { CompiledGraph, MigrationOptions, Task, TaskClass } from "../../src/model/definition.ts";
import { memoryStore } from "../../src/store/memory.ts";
import type { Store } from "../../src/store/store.ts";
import { VirtualClock } from "../../src/testing/virtual_clock.ts";

/** The state of most test graphs: what ran, and whatever the test keeps. */
export interface Notes {
  log: string[];
  [field: string]: unknown;
}

/** The state that most runs begin with. */
export function notes(more: Readonly<Record<string, unknown>> = {}): Notes {
  return { log: [], ...more };
}

/**
 * One vertex made of functions. They are methods, so that a test may annotate `input` and `output` as it likes.
 * Without `run` the body returns its input; without `reduce` the id is pushed to `log`.
 */
export interface VertexOf<S> extends Omit<VertexBase<S>, "id"> {
  run?(input: unknown, ctx: TaskContext): unknown;
  select?(state: Readonly<S>): unknown;
  each?(state: Readonly<S>): readonly unknown[];
  reduce?(state: S, output: unknown): S | void;
  /** Static targets. */
  readonly to?: string | readonly string[];
  /** A conditional edge. */
  readonly targets?: readonly string[];
  pick?(state: Readonly<S>): unknown;
  readonly finish?: boolean;
}

/** A graph made of functions. */
export interface GraphOf<S> extends Partial<GraphOptions<S>> {
  readonly vertices: Readonly<Record<string, VertexOf<S>>>;
  readonly migrations?: readonly MigrationOptions<never>[];
  /** @default the first vertex */
  readonly entry?: string;
  /** @default those marked `finish`, else the last vertex */
  readonly finish?: string | readonly string[];
}

/** Builds a graph of functions. */
export function graphOf<S = Notes>(spec: GraphOf<S>): CompiledGraph<S> {
  const { vertices, migrations = [], entry, finish, ...options } = spec;
  const builder = new GraphBuilder<S>({ id: "g", ...options });
  const ids = Object.keys(vertices);
  for (const [id, vertex] of Object.entries(vertices)) {
    const { run, select, each, reduce, to, targets, pick, finish: _, ...policies } = vertex;
    const body = {
      id,
      ...policies,
      task: bodyClass(id, run),
      reduce: reduce ?? ((state: S) => void (state as Notes).log?.push(id)),
    };
    if (each === undefined) {
      builder.addVertex<unknown, unknown>({
        ...body,
        select: select ?? (() => undefined),
      });
    } else builder.addVertex<unknown, unknown>({ ...body, each });
    for (const target of to === undefined ? [] : [to].flat()) builder.addEdge(id, target);
    if (pick !== undefined) {
      builder.addConditionalEdge(id, { targets: targets ?? [], pick: pick as () => string });
    }
  }
  for (const migration of migrations) builder.addMigration(migration);
  const marked = ids.filter((id) => vertices[id]!.finish === true);
  return builder.build({
    entry: entry ?? ids[0]!,
    finish: finish ?? (marked.length > 0 ? marked : ids.slice(-1)),
  });
}

/** A chain of plain vertices. */
export function chainOf(...ids: readonly string[]): CompiledGraph<Notes> {
  return graphOf({
    vertices: Object.fromEntries(ids.map((id, i) => {
      const next = ids[i + 1];
      return [id, next === undefined ? {} : { to: next }];
    })),
  });
}

/** The task of a vertex as a class, so that an engine can count its bodies through `provide`. */
function bodyClass(id: string, run: VertexOf<unknown>["run"]) {
  return class Body implements Task<unknown, unknown> {
    static readonly vertexId = id;
    readonly execute = (input: unknown, ctx: TaskContext): unknown =>
      run === undefined ? input : run(input, ctx);
  };
}

/** One run of a body. */
export interface BodyRun {
  readonly vertexId: string;
  readonly item?: number;
  readonly step: number;
  readonly attempt: number;
  readonly at: number;
}

/** Options of {@link engine}. */
export interface EngineOptions extends RunnerOptions {
  readonly store?: Store;
  readonly clock?: VirtualClock;
  /** Where runs of bodies are noted. @default a list of its own */
  readonly bodies?: BodyRun[];
}

/** A process that runs one graph: a runner with its own identity on a store, a virtual clock, and what it did. */
export interface Engine<S> {
  readonly runner: Runner<S>;
  readonly graph: CompiledGraph<S>;
  /** The store that several engines may share. */
  readonly store: Store;
  readonly clock: VirtualClock;
  /** Every run of a body, in order, of this engine and of those it was restarted from. */
  readonly bodies: BodyRun[];
  /** What was logged, apart from failures. */
  readonly warnings: { readonly message: string; readonly fields: Readonly<Record<string, unknown>> }[];
  /** How often bodies ran: all, of a vertex, or of one of its items. */
  ran(vertexId?: string, item?: number): number;
  /** Starts a run and moves the clock until it is over or interrupted. */
  run(input: unknown, options?: StartOptions): Promise<RunResult<S>>;
  /** Resumes a run and moves the clock until it is over or interrupted. */
  resume(runId: string, options?: ResumeOptions): Promise<RunResult<S>>;
  /** Everything recorded of a run, in order. */
  events(runId: string): Promise<readonly RecordEvent[]>;
  /** Recorded events of one type. */
  eventsOf<T extends RecordEvent["type"]>(
    runId: string,
    type: T,
  ): Promise<readonly Extract<RecordEvent, { type: T }>[]>;
  /** From now on every call of this engine's store hangs, as if its process had been killed. */
  kill(): void;
  /** Another process on the same store and clock, with this graph or a changed one. */
  restart(graph?: CompiledGraph<S>, options?: RunnerOptions): Engine<S>;
}

/** Makes an {@link Engine}. */
export function engine<S>(graph: CompiledGraph<S>, options: EngineOptions = {}): Engine<S> {
  const { store = memoryStore(), clock = new VirtualClock(), bodies = [], ...more } = options;
  const process = processOn(store);
  const warnings: Engine<S>["warnings"] = [];
  const logger = {
    info: () => {},
    warn: (message: string, fields: Readonly<Record<string, unknown>>) =>
      void (fields["event"] !== undefined || warnings.push({ message, fields })),
  };
  const runner = compile(graph, {
    logger,
    ...more,
    store: process.store,
    runtime: clock,
    provide: (cls: TaskClass) =>
      counted(new (cls as unknown as new () => Task<unknown, unknown>)(), process, bodies, clock),
  });
  const events = async (runId: string) => {
    const found: RecordEvent[] = [];
    let cursor: string | undefined;
    do {
      const page = await runner.history(runId, cursor === undefined ? {} : { cursor });
      for (const entry of page.rows) found.push(...entry.events);
      cursor = page.cursor;
    } while (cursor !== undefined);
    return found;
  };
  return {
    runner,
    graph,
    store,
    clock,
    bodies,
    warnings,
    ran: (vertexId, item) =>
      bodies.filter((b) =>
        (vertexId === undefined || b.vertexId === vertexId) && (item === undefined || b.item === item)
      ).length,
    run: (input, runOptions) => clock.drive(runner.run(input, runOptions)),
    resume: (runId, resumeOptions) => clock.drive(runner.resume(runId, resumeOptions)),
    events,
    eventsOf: async (runId, type) => (await events(runId)).filter((e) => e.type === type) as never,
    kill: process.kill,
    restart: (changed = graph, restartOptions = {}) =>
      engine(changed, { ...more, ...restartOptions, store, clock, bodies }),
  };
}

/** A task whose runs are noted; a killed process runs none, although its timers live on in this one. */
function counted(
  task: Task<unknown, unknown>,
  process: Process,
  bodies: BodyRun[],
  clock: VirtualClock,
): Task<unknown, unknown> {
  return {
    execute: (input, ctx) => {
      if (process.isDead()) return new Promise(() => {});
      const { vertexId, item, step, attempt } = ctx;
      bodies.push({ vertexId, ...(item === undefined ? {} : { item }), step, attempt, at: clock.now() });
      return task.execute(input, ctx);
    },
  };
}

/** A process that works on a store. */
export interface Process {
  readonly store: Store;
  kill(): void;
  isDead(): boolean;
}

/** The same store as another process sees it: an identity of its own, and calls that hang once it is killed. */
export function processOn(store: Store): Process {
  let dead = false;
  const guarded = <T extends object>(target: T): T =>
    new Proxy(target, {
      get: (from, key) => {
        const value: unknown = Reflect.get(from, key);
        const isPart = key === "owners" || key === "cells";
        if (typeof value === "object" && value !== null && isPart) return guarded(value);
        if (typeof value !== "function") return value;
        return (...args: unknown[]) => {
          if (dead) return new Promise(() => {});
          const answer: unknown = value.apply(from, args);
          if (!(answer instanceof Promise)) return answer;
          return answer.then((result) => dead ? new Promise(() => {}) : result);
        };
      },
    });
  return { store: guarded(store), kill: () => void (dead = true), isDead: () => dead };
}

/** A promise with its handle, for bodies that wait for the test. */
export interface Gate<T = void> {
  readonly promise: Promise<T>;
  open(value: T): void;
  fail(error: unknown): void;
}

/** A closed {@link Gate}. */
export function gate<T = void>(): Gate<T> {
  let open!: (value: T) => void;
  let fail!: (error: unknown) => void;
  const promise = new Promise<T>((yes, no) => [open, fail] = [yes, no]);
  return { promise, open, fail };
}

/** The result as a completed one. */
export function completed<S>(result: RunResult<S>): CompletedResult<S> {
  if (result.status !== "completed") assert.fail(`the run is ${describe(result)}, not completed`);
  return result;
}

/** The result as an interrupted one, for that reason. */
export function interrupted<S>(
  result: RunResult<S>,
  reason: InterruptedResult<S>["reason"],
): InterruptedResult<S> {
  if (result.status !== "interrupted" || result.reason !== reason) {
    assert.fail(`the run is ${describe(result)}, not interrupted (${reason})`);
  }
  return result;
}

function describe<S>(result: RunResult<S>): string {
  if (result.status !== "interrupted") return result.status;
  const why = [...result.failures.map((f) => f.error.message), ...(result.halt ? [result.halt.message] : [])];
  return `interrupted (${result.reason}) ${why.join("; ")}`;
}
