import { z } from "@hono/zod-openapi";
import { PRIORITIES } from "../model/flow.ts";
import { ID_PATTERN } from "../model/ids.ts";
import type * as wire from "./wire.ts";

/**
 * The shapes of {@link wire} as schemas. Requests are judged by them; of responses they are the description, and tests
 * hold the two against each other.
 */

/** A schema whose values are of that type. Zod tells a field that is absent from one that is `undefined` no more. */
export type Of<T> = z.ZodType<Loose<T>>;
type Loose<T> = T extends readonly (infer Item)[] ? readonly Loose<Item>[]
  : T extends object ? {
      [K in keyof T]: Record<never, never> extends Pick<T, K> ? Loose<T[K]> | undefined : Loose<T[K]>;
    }
  : T;

const id = (what: string, example: string) =>
  z.string().regex(ID_PATTERN, "a letter or digit, then up to 127 letters, digits, or ._:-")
    .openapi({ description: what, example });

const list = <T extends z.ZodType>(item: T) => z.array(item).readonly();
const time = z.number().openapi({ description: "Milliseconds since the epoch" });
const count = z.int().min(0);
const value = (what: string) => z.unknown().openapi({ description: `${what}: JSON, tagged where need be` });

export const GraphId = id("The id of a graph", "approval");
export const RunId = id("The id of a run", "0199d3a0-7c1e-7000-8000-000000000000");
export const WaitId = id("The id of a wait", "w0123456789abcdef0123456789abcdef");
export const Version = z.string().max(200).openapi({ description: "A version of a graph, as listed" });

export const Status = z.enum(["running", "completed", "interrupted", "cancelled"]).openapi("Status");
export const Reason = z.enum(["halted", "errored", "awaiting", "sleeping"]).openapi("Reason");
export const RowReason = z.enum(["halted", "errored", "awaiting", "sleeping", "queued"]).openapi("RowReason");

export const Activity = z.enum(["queued", "working", "waiting", "stranded"]).openapi("Activity");

export const ErrorBody = z.object({
  error: z.object({
    code: z.string().openapi({ example: "CHECKPOINT_NOT_FOUND" }),
    message: z.string(),
    retryable: z.boolean(),
    issues: list(z.object({ path: z.string(), message: z.string() })).optional(),
    reason: z.string().optional(),
    revision: count.optional(),
    first: count.optional(),
    waits: list(z.string()).optional(),
  }),
}).openapi("Error") satisfies Of<wire.ErrorBody>;

export const Capabilities = z.object({
  protocol: z.literal("superstep"),
  version: z.literal(1),
  features: list(z.string()),
}).openapi("Capabilities") satisfies Of<wire.Capabilities>;

export const GraphList = z.object({
  graphs: list(z.object({ graphId: GraphId, versions: list(Version) })),
}).openapi("GraphList") satisfies Of<wire.GraphList>;

const edge = z.object({ from: z.string(), to: z.string() });

export const GraphBody = z.object({
  id: GraphId,
  version: Version,
  entry: z.string(),
  finishes: list(z.string()),
  vertices: list(z.object({
    id: z.string(),
    label: z.string(),
    join: z.enum(["any", "all"]),
    each: z.boolean(),
  })),
  edges: list(edge),
  conditions: list(z.object({ from: z.string(), targets: list(z.string()) })),
  errorRoutes: list(edge),
  input: z.unknown().openapi({ description: "The JSON Schema of the input, where one exists" }).optional(),
}).openapi("Graph") satisfies Of<wire.GraphBody>;

const ref = { runId: RunId, graphId: GraphId, graphVersion: Version };

export const RunRef = z.object({ ...ref, status: Status }).openapi("RunRef") satisfies Of<wire.RunRef>;

export const RunInfo = z.object({
  ...ref,
  status: Status,
  reason: Reason.optional(),
  cancelReason: z.string().optional(),
  step: count,
  revision: count,
  owner: z.string().optional(),
  recoveries: count,
  createdAt: time,
  startedAt: time.optional(),
  updatedAt: time,
  interruptedAt: time.optional(),
  completedAt: time.optional(),
  cancelledAt: time.optional(),
  deadline: time.optional(),
  maxSteps: count,
  tags: list(z.string()),
  parent: z.object({ runId: RunId, revision: count }).optional(),
  caller: z.object({ graphId: GraphId, runId: RunId, vertexId: z.string(), item: count.optional() })
    .optional(),
  flow: z.object({
    priority: z.enum(PRIORITIES).optional(),
    concurrency: z.string().optional(),
    throttle: z.string().optional(),
    singleton: z.string().optional(),
  }).optional(),
  permits: list(z.object({ permit: z.string(), n: count })).optional(),
  queued: z.object({ permit: z.string(), since: time, until: time.optional() }).optional(),
}).openapi("RunInfo") satisfies Of<wire.RunInfo>;

const place = { vertexId: z.string(), item: count.optional() };

const RunWait = z.object({
  waitId: z.string(),
  runId: RunId,
  ...place,
  name: z.string(),
  key: z.string().optional(),
  kind: z.enum(["answer", "timer", "interrupt"]),
  openedAt: time,
  due: time.optional(),
  info: value("What the wait tells whoever answers").optional(),
}).openapi("RunWait") satisfies Of<wire.RunWait>;

const cause = {
  name: z.string(),
  phase: z.string(),
  attempt: count,
  code: z.string().optional(),
  message: z.string().optional(),
  data: value("The data of the error").optional(),
};

const Failure = z.object({
  ...place,
  step: count,
  failure: z.object({
    ...cause,
    stack: z.string().optional(),
    failures: list(z.object({ ...cause, item: count })).optional(),
  }),
}).openapi("Failure") satisfies Of<wire.Failure>;

const Halt = z.object({
  kind: z.enum(["condition", "undeclared_target", "dead_end", "max_steps", "max_recoveries", "load_fault"]),
  step: count,
  vertexId: z.string().optional(),
  target: z.string().optional(),
  message: z.string().optional(),
}).openapi("Halt") satisfies Of<wire.HaltInfo>;

export const RunBody = z.object({
  ...ref,
  run: RunInfo,
  status: Status,
  state: value("The state").optional(),
  path: list(z.string()),
  vertices: z.record(z.string(), z.enum(["pending", "suspended", "backoff", "done", "failed"])),
  reason: Reason.optional(),
  due: time.optional(),
  answered: list(z.string()).optional(),
  waits: list(RunWait).optional(),
  failures: list(Failure).optional(),
  halt: Halt.optional(),
  cancelReason: z.string().optional(),
  activity: Activity.optional(),
}).openapi("Run") satisfies Of<wire.RunBody>;

export const Checkpoint = z.object({
  revision: count,
  at: time,
  bytes: count,
  status: Status,
  reason: Reason.optional(),
  phase: z.enum(["routed", "running", "paused", "halted"]),
  step: count,
  owner: z.string().optional(),
  frontier: list(z.string()),
  routes: list(z.object({
    from: z.string(),
    to: z.string(),
    kind: z.enum(["static", "conditional", "error"]),
  })),
  events: list(
    z.looseObject({ type: z.string(), vertexId: z.string().optional(), item: count.optional() }),
  ),
  state: value("The state").optional(),
}).openapi("Checkpoint") satisfies Of<wire.Checkpoint>;

export const HistoryPage = z.object({
  checkpoints: list(Checkpoint),
  next_revision: count,
  done: z.boolean(),
}).openapi("HistoryPage") satisfies Of<wire.HistoryPage>;

const page = { next_cursor: z.string().optional(), done: z.boolean() };

export const RunPage = z.object({
  runs: list(z.object({
    ...ref,
    status: Status,
    reason: RowReason.optional(),
    queued: z.string().optional(),
    tags: list(z.string()),
    createdAt: time,
    updatedAt: time,
    step: count,
    revision: count,
    openWaits: count,
    activity: Activity.optional(),
  })),
  ...page,
}).openapi("RunPage") satisfies Of<wire.RunPage>;

export const WaitPage = z.object({
  waits: list(z.object({
    waitId: z.string(),
    runId: RunId,
    graphId: GraphId,
    ...place,
    name: z.string(),
    key: z.string().optional(),
    kind: z.enum(["answer", "interrupt"]),
    openedAt: time,
    deadline: time.optional(),
    info: value("What the wait tells whoever answers").optional(),
    schema: z.unknown().openapi({ description: "The JSON Schema of the answer" }).optional(),
    unreadable: z.string().openapi({ description: "Why info and schema are not shown" }).optional(),
    unanswerable: z.string().openapi({ description: "Why it cannot be answered here" }).optional(),
    activity: Activity.optional(),
  })),
  ...page,
}).openapi("WaitPage") satisfies Of<wire.WaitPage>;

export const WorkerList = z.object({
  workers: list(z.object({
    workerId: z.string(),
    name: z.string(),
    host: z.string(),
    pid: z.int(),
    startedAt: time,
    seenAt: time,
    isAlive: z.boolean(),
    serves: list(z.object({ graphId: GraphId, graphVersion: Version })),
    places: count,
    active: count,
  })),
}).openapi("WorkerList") satisfies Of<wire.WorkerList>;

export const Accepted = z.object({ runId: RunId, waitId: z.string() })
  .openapi("Accepted") satisfies Of<wire.Accepted>;

export const CancelledRun = z.object({
  ...ref,
  status: z.enum(["cancelled", "completed"]),
  reason: z.string().optional(),
}).openapi("CancelledRun") satisfies Of<wire.CancelledRun>;
