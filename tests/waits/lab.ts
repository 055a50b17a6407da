import assert from "node:assert/strict";
import { compile as compileGraph, GraphBuilder } from "../../mod.ts";
import type { CompiledGraph, CompileOptions, ErrorHandler, Hooks, InterruptedResult } from "../../mod.ts";
import type { RetryPolicy, RouteOptions, RunEvent, Runner, RunResult, RunView, Store } from "../../mod.ts";
import type { Duration, TaskContext, TimeoutPolicy, WaitDefinition } from "../../mod.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { VirtualClock } from "../../src/testing/virtual_clock.ts";

/** The state of every graph here: the latest output of each vertex, and all outputs in the order of their reduction. */
export interface State {
  out: Record<string, unknown>;
  log: string[];
}

/** A vertex of a graph under test; what is left out has a default that changes nothing. */
export interface Spec {
  readonly body: (ctx: TaskContext, input: never) => unknown;
  readonly to?: string | readonly string[];
  readonly route?: RouteOptions<State, string>;
  readonly finish?: boolean;
  readonly join?: "any" | "all";
  readonly waits?: readonly WaitDefinition[];
  readonly retry?: RetryPolicy;
  readonly timeout?: Duration | TimeoutPolicy;
  readonly onError?: ErrorHandler<State> | readonly ErrorHandler<State>[];
  readonly select?: (state: Readonly<State>) => unknown;
  readonly each?: (state: Readonly<State>) => readonly unknown[];
  readonly reduce?: (state: State, output: unknown) => State | void;
}

/**
 * One place where runs live: a store, a virtual clock, and the count of every body that ran, whichever engine ran it.
 * The first vertex is the entry; those that lead nowhere are finishes.
 */
export class Lab {
  readonly clock = new VirtualClock();
  readonly store: Store;
  /** What was logged, apart from failures. */
  readonly warnings: string[] = [];
  /** What was logged of failures. */
  readonly failures: string[] = [];
  readonly #counts = new Map<string, number>();

  constructor(store: Store = memoryStore()) {
    this.store = store;
  }

  /** How often bodies of this vertex have begun. */
  count(vertexId: string): number {
    return this.#counts.get(vertexId) ?? 0;
  }

  graph(
    vertices: Readonly<Record<string, Spec>>,
    options: { readonly id?: string; readonly version?: number } = {},
  ): CompiledGraph<State> {
    const { id = "g", version = 0 } = options;
    const builder = new GraphBuilder<State>({ id, version });
    const finish: string[] = [];
    for (const [vertexId, spec] of Object.entries(vertices)) {
      const { body, to = [], route, finish: isFinish, select = () => null, each, reduce, ...rest } = spec;
      const common = {
        id: vertexId,
        task: {
          execute: (input: unknown, ctx: TaskContext): unknown => {
            this.#counts.set(vertexId, this.count(vertexId) + 1);
            return body(ctx, input as never);
          },
        },
        reduce: reduce ?? ((state: State, output: unknown) => {
          state.out[vertexId] = output;
          state.log.push(vertexId);
        }),
        ...rest,
      };
      if (each === undefined) builder.addVertex<unknown, unknown>({ ...common, select });
      else builder.addVertex<unknown, unknown>({ ...common, each });
      const targets = typeof to === "string" ? [to] : to;
      for (const target of targets) builder.addEdge(vertexId, target);
      if (route !== undefined) builder.addConditionalEdge(vertexId, route);
      if (isFinish ?? (targets.length === 0 && route === undefined)) finish.push(vertexId);
    }
    return builder.build({ entry: Object.keys(vertices)[0]!, finish });
  }

  /** An engine for a graph; on another store object it is another process. */
  engine(graph: CompiledGraph<State>, options: Partial<CompileOptions> = {}): Runner<State> {
    return compileGraph(graph, {
      store: this.store,
      runtime: this.clock,
      logger: {
        info: () => {},
        warn: (message, { event }) =>
          void (event === undefined ? this.warnings : this.failures).push(message),
      },
      ...options,
    });
  }

  /** An engine in another process on the same data. */
  elsewhere(graph: CompiledGraph<State>, options: Partial<CompileOptions> = {}): Runner<State> {
    return this.engine(graph, { store: anotherHandle(this.store), ...options });
  }

  /** Waits for work, letting time pass whenever nothing else happens. */
  drive<T>(work: Promise<T>): Promise<T> {
    return this.clock.drive(work);
  }

  /** Drives `work` until it rejects with an error of that class name, and returns the error. */
  async fails<E extends Error = Error>(work: Promise<unknown>, name: string): Promise<E> {
    const error = await this.drive(work).then(() => undefined, (e: unknown) => e);
    assert.ok(error instanceof Error, "the call was accepted");
    assert.equal(error.name, name, error.message);
    return error as E;
  }
}

export const INPUT: State = { out: {}, log: [] };

/** A view of a store as another process has it. */
export function anotherHandle(store: Store): Store {
  return { ...store };
}

/** A store handle of a process that can die: afterwards nothing that it asks for ever comes back. */
export function mortal(store: Store): { readonly store: Store; kill(): void } {
  let dead = false;
  const never = new Promise<void>(() => {});
  return { store: gated(store, () => dead ? never : undefined), kill: () => void (dead = true) };
}

/** A store handle of a process that can be stopped and continued: what it asks for meanwhile is asked afterwards. */
export function freezable(store: Store): { readonly store: Store; freeze(): void; thaw(): void } {
  let ice: ReturnType<typeof gate<void>> | undefined;
  return {
    store: gated(store, () => ice?.promise),
    freeze: () => void (ice ??= gate()),
    thaw: () => {
      ice?.open();
      ice = undefined;
    },
  };
}

/** The store with every call held back until what `barrier` gives has passed. */
function gated(store: Store, barrier: () => Promise<void> | undefined): Store {
  const guard = <T extends object>(target: T): T =>
    Object.fromEntries(
      Object.entries(target).map(([key, value]) => [
        key,
        typeof value !== "function" ? value : async (...args: unknown[]) => {
          await barrier();
          return await value(...args);
        },
      ]),
    ) as T;
  return { ...guard(store), owners: guard(store.owners) };
}

/** The result, which must be interrupted. */
export function interrupted<S>(result: RunResult<S> | RunView<S>): InterruptedResult<S> {
  assert.equal(result.status, "interrupted");
  return result as InterruptedResult<S>;
}

/** The id of the one open wait of a name. */
export function openId<S>(result: RunResult<S> | RunView<S>, name: string, vertexId?: string): string {
  const found = interrupted(result).waits.filter((w) =>
    w.name === name && (vertexId === undefined || w.vertexId === vertexId)
  );
  assert.equal(found.length, 1, `open waits named ${name}`);
  return found[0]!.waitId;
}

/** A promise with its handles. */
export function gate<T = void>(): { readonly promise: Promise<T>; open(value: T): void } {
  let open!: (value: T) => void;
  const promise = new Promise<T>((resolve) => open = resolve);
  return { promise, open };
}

/** The types of the events of a run, record by record. */
export async function recorded<S>(runner: Runner<S>, runId: string): Promise<string[][]> {
  return (await runner.history(runId)).rows.map((entry) => entry.events.map((e) => e.type));
}

/** The revision that a run is at. */
export async function revisionOf<S>(runner: Runner<S>, runId: string): Promise<number> {
  return (await runner.status(runId)).revision;
}

/** Every type of event. */
export const EVENTS = [
  "runStart",
  "runFinish",
  "step",
  "vertexStart",
  "vertexFinish",
  "attemptFailed",
  "edge",
  "checkpoint",
  "wait",
  "answer",
  "halt",
  "emit",
] as const;

/** Hooks that write down every event. */
export function recorder(): { readonly hooks: Hooks; readonly events: RunEvent[] } {
  const events: RunEvent[] = [];
  const hooks = Object.fromEntries(
    EVENTS.map((type) => [type, (event: RunEvent) => void events.push(event)]),
  );
  return { hooks: hooks as Hooks, events };
}
