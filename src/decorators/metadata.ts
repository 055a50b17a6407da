/**
 * What the decorators write and the scanner reads.
 *
 * 1. Records are reflect-metadata under `Symbol.for` keys, and own copies: a record is written on the class itself and
 *    never on, or into the list of, a parent.
 * 2. Lists read from the top of a class down. Decorators are applied from the bottom up, so each puts its record first.
 * 3. Nothing here looks at `instanceof`: a class is what its records say.
 */

import "reflect-metadata";
import type {
  ErrorHandler,
  MigrationOptions,
  RetryPolicy,
  RouteOptions,
  ScheduleOptions,
  TimeoutPolicy,
} from "../model/definition.ts";
import type { Duration } from "../model/durations.ts";
import type { FlowOptions } from "../model/flow.ts";
import type { Schema } from "../model/schema.ts";
import type { Pool } from "../model/pool.ts";
import type { WaitDefinition } from "../model/wait.ts";
import { assertSingleCopy } from "../runtime/single_copy.ts";
import { VERSION } from "../runtime/version.ts";
import type { Origin } from "./origin.ts";

const copy = assertSingleCopy(VERSION, import.meta.url);

// Held since loading: an old copy of reflect-metadata that is loaded later replaces them, together with its store.
const { defineMetadata, getOwnMetadata, getMetadata } = Reflect;

/**
 * Any class.
 *
 * @internal
 */
export type AnyClass = abstract new (...args: never[]) => object;

/** A workflow class, or a function that returns it later, for modules that import each other. */
export type GraphReference = AnyClass | (() => AnyClass | undefined);

/** Written by `@Graph` on a workflow class. */
export interface GraphRecord extends Origin {
  readonly id: string;
  readonly version: number | undefined;
}

/** Written by `@Vertex` on a task class. */
export interface VertexRecord extends Origin {
  readonly graph: GraphReference;
  readonly id: string;
  readonly entry: boolean;
  readonly finish: boolean;
  readonly to: readonly string[];
  readonly route: RouteOptions<never, string> | undefined;
  /** Handed to the builder as it is. */
  readonly binding: VertexBinding;
}

/** The part of a {@link VertexRecord} that only the builder understands. */
export interface VertexBinding {
  readonly label?: string;
  readonly join?: "any" | "all";
  readonly waits?: readonly WaitDefinition[];
  readonly select?: (state: never) => unknown;
  readonly each?: (state: never) => readonly unknown[];
  readonly concurrency?: number;
  readonly pool?: Pool;
  readonly reduce: (state: never, output: never) => unknown;
}

/** Written by `@Vertex` on a workflow class: a task class that is bound into it. */
export interface BoundTask {
  readonly cls: AnyClass;
  readonly vertex: VertexRecord;
}

/** Written by `@Retry`, `@Timeout` and `@OnError` on a task class. */
export interface PolicyRecord<P> {
  /** The graph it holds for; without one it holds for every binding. */
  readonly graph: GraphReference | undefined;
  readonly policy: P;
}

/** Written by `@Schedule` on a workflow class. */
interface ScheduleRecord {
  readonly expression: string;
  readonly options: ScheduleOptions | undefined;
}

/** Written by `@Migration` on a workflow class. */
export interface MigrationRecord extends Origin {
  readonly cls: AnyClass;
  readonly options: MigrationOptions<never>;
}

/** A kind of record, and the key it is kept under. */
class RecordKey<R> {
  declare readonly record: R;
  readonly symbol: symbol;
  constructor(name: string) {
    this.symbol = Symbol.for(`superstep:${name}`);
  }
}

/** Every kind of record. Lists are kept as lists from the first record on. */
export const records = {
  schema: new RecordKey<Schema>("schema"),
  graph: new RecordKey<readonly GraphRecord[]>("graph"),
  schedule: new RecordKey<readonly ScheduleRecord[]>("schedule"),
  migration: new RecordKey<readonly MigrationRecord[]>("migration"),
  flow: new RecordKey<FlowOptions>("flow"),
  bound: new RecordKey<readonly BoundTask[]>("bound"),
  vertex: new RecordKey<readonly VertexRecord[]>("vertex"),
  retry: new RecordKey<readonly PolicyRecord<RetryPolicy>[]>("retry"),
  timeout: new RecordKey<readonly PolicyRecord<Duration | TimeoutPolicy>[]>("timeout"),
  onError: new RecordKey<readonly PolicyRecord<"pause" | ErrorHandler<never>>[]>("on_error"),
} as const;

/** Writes a record on the class itself. */
export function writeOwn<R>(cls: AnyClass, key: RecordKey<R>, record: R): void {
  defineMetadata(key.symbol, record, cls);
}

/** Puts a record on top of the class's own list. */
export function prependOwn<R>(cls: AnyClass, key: RecordKey<readonly R[]>, record: R): void {
  writeOwn(cls, key, Object.freeze([record, ...readOwn(cls, key) ?? []]));
}

/** The record that the class itself has. */
export function readOwn<R>(cls: AnyClass, key: RecordKey<R>): R | undefined {
  return getOwnMetadata(key.symbol, cls) as R | undefined;
}

/** The record that the class or its nearest ancestor has. */
export function readInherited<R>(cls: AnyClass, key: RecordKey<R>): R | undefined {
  return getMetadata(key.symbol, cls) as R | undefined;
}

/** Whether a value is a class made with `Workflow(schema)`. */
export function isWorkflow(value: unknown): value is AnyClass {
  return typeof value === "function" &&
    readInherited(value as unknown as AnyClass, records.schema) !== undefined;
}

/** The workflow class that a reference stands for, or `undefined` while it stands for nothing. */
export function resolveGraph(reference: GraphReference): AnyClass | undefined {
  if (isWorkflow(reference)) return reference;
  try {
    const value = (reference as () => unknown)();
    return isWorkflow(value) ? value : undefined;
  } catch {
    // The class is still in its temporal dead zone: its module has not been evaluated that far.
    return undefined;
  }
}

/** Notes a task class on its workflow class, or keeps it until its graph's thunk can be called. */
export function noteBound(task: BoundTask): void {
  const { graph } = task.vertex;
  if (isWorkflow(graph)) prependOwn(graph, records.bound, task);
  else copy.pending.push(task);
}

/** Notes the task classes whose graphs can be told by now, and returns those whose graphs cannot. */
export function settlePending(): readonly BoundTask[] {
  const waiting = copy.pending.splice(0) as BoundTask[];
  for (const task of waiting) {
    const graph = resolveGraph(task.vertex.graph);
    if (graph === undefined) copy.pending.push(task);
    else prependOwn(graph, records.bound, task);
  }
  return [...copy.pending] as BoundTask[];
}
