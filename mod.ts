/**
 * Durable graph workflows for TypeScript: declare a workflow as annotated classes, run it in super-steps, and let it
 * pause for people and timers, survive crashes and go on in any process.
 *
 * @example
 * ```ts ignore
 * const runner = compile(Approval, { store: await denoKv("./superstep.db") });
 * const result = await runner.run({ question: "…" });
 * ```
 *
 * @module
 */

export { Graph, OnError, Retry, Timeout, Vertex, Workflow } from "./src/decorators/mod.ts";
export { defineWait } from "./src/model/wait.ts";
export { scan } from "./src/scanner/mod.ts";
export { GraphBuilder } from "./src/graph/mod.ts";
export { compile } from "./src/compile.ts";
export { Runner } from "./src/engine/runner.ts";
export * from "./src/errors.ts";

export type * from "./src/decorators/mod.ts";
export type * from "./src/graph/mod.ts";
export type { ScannedWorkflow } from "./src/scanner/mod.ts";
export type { CompileOptions } from "./src/compile.ts";
export type { Hooks, Logger, RunEvent } from "./src/engine/events.ts";
export type { RunHandle } from "./src/engine/handle.ts";
export type { HistoryEntry, HistoryQuery, InboxEntry } from "./src/engine/history.ts";
export type { ResumeOptions, RunnerOptions, StartOptions, WorkOptions } from "./src/engine/options.ts";
export type * from "./src/engine/result.ts";
export type * from "./src/model/context.ts";
export type * from "./src/model/definition.ts";
export type { Duration } from "./src/model/durations.ts";
export type * from "./src/model/failure.ts";
export type * from "./src/model/run.ts";
export type * from "./src/model/wait.ts";
export type { Runtime, Timer, TimerOptions } from "./src/runtime/runtime.ts";
export type { CatalogRow, Page, Store } from "./src/store/store.ts";
