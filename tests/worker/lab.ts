import { compile } from "../../src/compile.ts";
import type { CompiledGraph } from "../../src/model/definition.ts";
import { memoryStore } from "../../src/store/memory.ts";
import type { Store } from "../../src/store/store.ts";
import { VirtualClock } from "../../src/testing/virtual_clock.ts";
import { serve, type ServeOptions, type Worker } from "../../src/worker/mod.ts";
import { type BodyRun, type Engine, engine, type EngineOptions, type Notes } from "../support/graphs.ts";

/** A process with a worker in it. */
export interface Served<S> extends Engine<S> {
  readonly worker: Worker;
  readonly log: readonly { readonly message: string; readonly fields: Readonly<Record<string, unknown>> }[];
}

/** A store, a clock, and any number of processes with workers. */
export class WorkerLab {
  readonly clock: VirtualClock;
  readonly store: Store;
  readonly bodies: BodyRun[] = [];
  readonly #workers: Worker[] = [];

  constructor(options: { readonly store?: Store; readonly clock?: VirtualClock } = {}) {
    this.clock = options.clock ?? new VirtualClock();
    this.store = options.store ?? memoryStore();
  }

  /** A process that serves nothing. */
  process<S>(graph: CompiledGraph<S>, options: EngineOptions = {}): Engine<S> {
    return engine(graph, { store: this.store, clock: this.clock, bodies: this.bodies, ...options });
  }

  /** A process that serves a graph. */
  async serve<S>(
    graph: CompiledGraph<S>,
    options: Omit<ServeOptions, "runtime" | "logger"> & {
      readonly engine?: EngineOptions;
      /** Further graphs that it serves. @default none */
      readonly more?: readonly CompiledGraph<Notes>[];
    } = {},
  ): Promise<Served<S>> {
    const { engine: engineOptions, more = [], ...serveOptions } = options;
    const process = this.process(graph, engineOptions);
    const { store } = process.runner;
    const log: Served<S>["log"][number][] = [];
    const note = (message: string, fields: Readonly<Record<string, unknown>>) =>
      void log.push({ message, fields });
    const worker = await serve({
      runtime: this.clock,
      logger: { info: note, warn: note },
      ...serveOptions,
      runners: [
        process.runner,
        ...more.map((other) => compile(other, { store, runtime: this.clock })),
        ...serveOptions.runners ?? [],
      ],
    });
    this.#workers.push(worker);
    return { ...process, worker, log };
  }

  /** Lets time go by. */
  async pass(by: Parameters<VirtualClock["advance"]>[0]): Promise<void> {
    await this.clock.advance(by);
  }

  /** Stops every worker; none may hang. */
  async end(): Promise<void> {
    await this.clock.drive(Promise.all(this.#workers.map((worker) => worker.stop(0))).then(() => {}));
  }
}
