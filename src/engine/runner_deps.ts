import type { CheckpointLog } from "../checkpoint/log.ts";
import type { CompiledGraph, Task } from "../model/definition.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { Store } from "../store/store.ts";
import type { Emitted } from "./emits.ts";
import type { Hooks, Logger } from "./events.ts";
import type { StateRules } from "./fold.ts";
import type { Flow } from "./flow/flow.ts";
import type { Ownership } from "./ownership.ts";
import type { Limits } from "./superstep.ts";

/** What every run of one runner shares. */
export interface RunnerDeps<S> {
  readonly graph: CompiledGraph<S>;
  readonly tasks: ReadonlyMap<string, Task<unknown, unknown>>;
  readonly store: Store;
  readonly log: CheckpointLog<S>;
  readonly runtime: Runtime;
  readonly ownership: Ownership;
  readonly flow: Flow;
  readonly rules: StateRules<S>;
  /** Whether runs of other versions are taken over that fit. */
  readonly adopts: boolean;
  readonly limits: Limits;
  readonly logger: Logger;
  readonly hooks: readonly Hooks[];
  /** Throws when an output is above the ceiling. */
  measureOutput(output: unknown, what: string): void;
  /** The JSON Schema of a declared wait, where one exists. */
  schemaOf(vertexId: string, waitName: string): unknown;
}

/** How one claim of a run is carried out. */
export interface RunSettings {
  /** The most bodies at once. */
  readonly concurrency: number;
  /** Whether successful outcomes are appended on their own before the step is over. */
  readonly checkpointEvery: "vertex" | "step";
  readonly signal?: AbortSignal;
  /** Aborting it lets the run go as soon as it only waits for timers. */
  readonly drain?: AbortSignal;
  /** Observers of this run, after those of the runner. */
  readonly hooks: readonly Hooks[];
  /** How far the callers of the run are, for its records; absent where it has none. */
  readonly callers?: () => readonly number[];
  /** Where what it emits goes too: to the run that called it. */
  readonly emits?: (emit: Emitted) => void;
  /** Whether it is the context of a body at work that asks for this. */
  readonly isCalled?: boolean;
}
