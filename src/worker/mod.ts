/**
 * Working on runs: workers that serve a store, the control planes that they learn of runs from, and a registry of runners
 * for callers that speak JSON.
 *
 * @example
 * ```ts ignore
 * await using worker = await serve({ store: await denoKv("./superstep.db"), workflows: [Approval], handleSignals: true });
 * await worker.stopped;
 * ```
 *
 * @module
 */
export { serve } from "./serve.ts";
export type { ServeOptions } from "./serve.ts";
export type { ServedRunner, Worker } from "./worker.ts";
export type { ControlPlane, Delivery, Dispatch, GraphKey } from "./control_plane.ts";
export { dispatching } from "./dispatching.ts";
export type { DispatchingOptions } from "./dispatching.ts";
export { storePlane } from "./store_plane.ts";
export type { StorePlaneOptions } from "./store_plane.ts";
export { runSchedule } from "./scheduler.ts";
export { listSchedules, pauseSchedule } from "../engine/schedule_marks.ts";
export type { ScheduleMark, TickFate } from "../engine/schedule_marks.ts";
export { Registry } from "./registry.ts";
export type { ManifestEntry } from "./registry.ts";
export { runnerHandle } from "./runner_handle.ts";
export type { ResumeJsonOptions, RunJson, RunnerHandle } from "./runner_handle.ts";
export type { Json } from "../model/json.ts";
