/**
 * Durable graph workflows for TypeScript: declare a workflow as annotated classes, run it in super-steps, and let it
 * pause for people and timers, survive crashes and go on in any process.
 *
 * @example
 * ```ts
 * const State = z.object({ name: z.string(), text: z.string().default("") });
 *
 * @Graph({ id: "hello" })
 * class Hello extends Workflow(State) {}
 *
 * @Vertex({
 *   graph: Hello, id: "greet", entry: true, finish: true,
 *   select: (s) => s.name,
 *   reduce: (s, text: string) => { s.text = text; },
 * })
 * class Greet {
 *   execute(name: string): string {
 *     return `Hello ${name}`;
 *   }
 * }
 *
 * const runner = compile(Hello, { store: await denoKv("./hello.db") });
 * const { status, state } = await runner.run({ name: "Ada" });
 * assert.deepEqual([status, state.text], ["completed", "Hello Ada"]);
 * ```
 *
 * @module
 */

// Declaring
export {
  Concurrency,
  definePool,
  defineWait,
  Graph,
  Migration,
  OnError,
  Retry,
  Schedule,
  Singleton,
  Throttle,
  Timeout,
  Vertex,
  Workflow,
} from "./src/decorators/mod.ts";
export type {
  Annotation,
  DefineWaitOptions,
  GraphDecoratorOptions,
  GraphErrorHandler,
  LimitAnnotation,
  Limited,
  MapVertexOptions,
  MigrationDecoratorOptions,
  PolicyScope,
  ScheduleAnnotation,
  Scheduled,
  VertexDecoratorBase,
  VertexOptions,
  WorkflowBase,
  WorkflowClass,
  WorkflowReference,
  WorkflowState,
} from "./src/decorators/mod.ts";
export type {
  BackoffOptions,
  CompiledCondition,
  CompiledGraph,
  CompiledMigration,
  CompiledRetry,
  CompiledSchedule,
  CompiledTask,
  CompiledTimeout,
  CompiledVertex,
  ErrorHandler,
  ErrorMatch,
  MigrationOptions,
  RetryPolicy,
  RouteOptions,
  ScheduleOptions,
  Task,
  TaskClass,
  TaskShape,
  TaskSource,
  TimeoutPolicy,
} from "./src/model/definition.ts";
export type { AnswerOf, WaitCloseReason, WaitDefinition, WaitKind } from "./src/model/wait.ts";
export type { Duration, DurationUnit } from "./src/model/durations.ts";
export type { Schema, SchemaIssue, SchemaProperties, SchemaResult } from "./src/model/schema.ts";

// What a task sees
export type {
  InterruptOptions,
  OnceContext,
  OnceOptions,
  TaskContext,
  WaitForOptions,
} from "./src/model/context.ts";
export type { ExecutionStatus } from "./src/model/checkpoint.ts";
export type { FaultPhase, ItemFailure, VertexFailure } from "./src/model/failure.ts";

// From classes and calls to a graph
export { graphOf, scan } from "./src/scanner/mod.ts";
export type { ScannedWorkflow } from "./src/scanner/mod.ts";
export { GraphBuilder } from "./src/graph/mod.ts";
export { END } from "./src/model/ids.ts";
export type {
  GraphContents,
  GraphEnds,
  GraphOptions,
  MapVertex,
  OnErrorOption,
  SingleVertex,
  TaskBinding,
  Topology,
  TopologyVertex,
  VertexBase,
} from "./src/graph/mod.ts";

// Running
export { compile } from "./src/compile.ts";
export type { CompileOptions, ProvideContext } from "./src/compile.ts";
export { Runner } from "./src/engine/runner.ts";
export type { Activity, ListQuery, RunQuery, RunRow } from "./src/engine/activity.ts";
export type { AdoptVerdict } from "./src/engine/change/verdict.ts";
export type { WorkerRow } from "./src/engine/workers.ts";
export type {
  AnswerOptions,
  GetOptions,
  ResumeOptions,
  RunnerOptions,
  StartOptions,
  SubmitOptions,
  WorkOptions,
} from "./src/engine/options.ts";
export type { Cancellation } from "./src/engine/operations/cancel.ts";
export type { ForkOptions } from "./src/engine/operations/fork.ts";
export type { StateEdit } from "./src/engine/operations/edit.ts";
export type { PurgeQuery } from "./src/engine/operations/purge.ts";
export type { Submitted } from "./src/engine/starts.ts";
export type { EventsOptions, MissedEvents, RunHandle } from "./src/engine/handle.ts";
export type {
  CancelledResult,
  CompletedResult,
  FailedVertex,
  InterruptedResult,
  OpenWait,
  ResultBase,
  RunHalt,
  RunningView,
  RunResult,
  RunView,
} from "./src/engine/result.ts";
export type { Emitted } from "./src/engine/emits.ts";
export type { FollowOptions } from "./src/engine/follow.ts";
export { listPools } from "./src/engine/flow/pools.ts";
export type { PoolRow } from "./src/engine/flow/pools.ts";
export type { Pool, PoolOptions } from "./src/model/pool.ts";
export type { StreamEvent, StreamOptions } from "./src/engine/stream.ts";
export type { HistoryEntry, HistoryQuery, InboxEntry, RecordEvent } from "./src/engine/history.ts";
export type { Hooks, Logger, RunEvent, VertexStart } from "./src/engine/events.ts";
export type {
  CompiledFlow,
  ConcurrencyOptions,
  FlowOptions,
  Grant,
  Priority,
  Queued,
  RunFlow,
  SingletonOptions,
  ThrottleOptions,
} from "./src/model/flow.ts";
export type {
  Halt,
  HaltKind,
  InterruptReason,
  Phase,
  Route,
  RunCaller,
  RunParent,
  RunRecord,
  RunStatus,
} from "./src/model/run.ts";
export type { Runtime, Timer, TimerOptions } from "./src/runtime/runtime.ts";
export type { CatalogQuery, CatalogRow, Page, PageQuery, Store, WaitQuery } from "./src/store/store.ts";

// Writing a store
export type {
  Appended,
  AppendEntry,
  CallOptions,
  Cell,
  CellChange,
  CellName,
  CellQuery,
  Cells,
  CellsEntry,
  ClosedWait,
  Cut,
  EmitBatch,
  EmitPlace,
  Emits,
  EmitsWrite,
  IndexChanges,
  Inspection,
  Leased,
  LeaseQuery,
  Leases,
  MailboxEntry,
  MailboxState,
  MailboxWrite,
  OwnedOptions,
  OwnerRow,
  Owners,
  PartRef,
  Position,
  Posted,
  PostEntry,
  PurgeOptions,
  StoredMailbox,
  StoredRecord,
  StoreHint,
  StoreInfo,
  Tail,
  WaitLookup,
  WaitRow,
  WakeOptions,
  WakeRow,
} from "./src/store/store.ts";

// Errors
export { isSuperstepError, SuperstepError } from "./src/errors.ts";
export {
  AmbiguousRoutingError,
  BuildError,
  BuildFaultsError,
  DuplicateConditionalEdgeError,
  DuplicateVertexError,
  MissingEntryError,
  UnknownVertexError,
  UnreachableVertexError,
} from "./src/errors.ts";
export {
  ContextError,
  FatalError,
  RetryLater,
  VertexError,
  VertexTimeoutError,
  WaitExpiredError,
} from "./src/errors.ts";
export {
  ConditionError,
  DeadEndError,
  HaltError,
  MaxStepsExceededError,
  UndeclaredTargetError,
} from "./src/errors.ts";
export {
  ArgumentError,
  GraphMismatchError,
  GraphRunMismatchError,
  GraphVersionMismatchError,
  MigrationError,
  OwnershipLostError,
  ResumeTerminalError,
  RunAbortedError,
  RunBusyError,
  RunCancelledError,
  RunDeadlineError,
  RunExistsError,
} from "./src/errors.ts";
export {
  CellConflictError,
  CheckpointDecodeError,
  CheckpointNotFoundError,
  IntegrityError,
  MailboxConflictError,
  RevisionConflictError,
  StoreError,
} from "./src/errors.ts";
export {
  AnswerError,
  ReducerError,
  SerializationError,
  StateSizeError,
  ValidationError,
} from "./src/errors.ts";
export { ControlPlaneClosedError, ControlPlaneError, DuplicateRegistrationError } from "./src/errors.ts";
export type { AnswerRefusal } from "./src/errors.ts";
