/**
 * What tests of workflows, stores and control planes need: a runner on virtual time with fakes and answers, a crash test,
 * and the suites that every store and every control plane pass.
 *
 * @module
 */
export { testRunner } from "./test_runner.ts";
export type { TestRunner, TestRunnerOptions } from "./test_runner.ts";
export { crashTest, CrashTestError } from "./crash_test.ts";
export type { CrashHost, CrashReport, CrashScenario } from "./crash_scenario.ts";
export type { Effects } from "./crash_ledger.ts";
export type { CrashPlan, CrashPoint } from "./crash_store.ts";
export type { StoreOp } from "./around_store.ts";
export type { AnswerFunction, FakeAnswer, FakeAnswers } from "./answer_book.ts";
export type { FakeTask } from "./instrument.ts";
export { VirtualClock } from "./virtual_clock.ts";
export type { ClockFork, DriveOptions, VirtualClockOptions } from "./virtual_clock.ts";
export { leaseCases, storeCases, storeSuite } from "./store_suite.ts";
export type { OpenedStore, StoreCase, StoreHarness } from "./store_suite.ts";
export { controlPlaneCases, controlPlaneSuite } from "./control_plane_suite.ts";
export type { ControlPlaneCase, ControlPlaneHarness, OpenedPlane } from "./control_plane_suite.ts";
