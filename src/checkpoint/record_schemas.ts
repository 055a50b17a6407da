import { z } from "zod";
import type { Path } from "../model/checkpoint.ts";

/** What stored records look like: everything read from a store is judged by these before anything else sees it. */

const count = z.int().nonnegative();
const split = { vertexId: z.string(), count, digest: z.string() };
const of = { vertexId: z.string(), item: count.exactOptional() };

type Failure = z.infer<typeof baseFailure> & {
  failures?: (z.infer<typeof baseFailure> & { item: number })[];
  cause?: Failure;
};
const baseFailure = z.object({
  name: z.string(),
  message: z.string(),
  code: z.string().exactOptional(),
  attempt: count,
  data: z.unknown().exactOptional(),
  phase: z.enum(["select", "execute", "reduce", "record", "match", "retry", "serialize", "timeout", "wait"]),
});
const failure: z.ZodType<Failure> = baseFailure.extend({
  failures: z.array(baseFailure.extend({ item: count })).exactOptional(),
  get cause() {
    return failure.exactOptional();
  },
});

const halt = z.object({
  kind: z.enum(["condition", "undeclared_target", "dead_end", "max_steps", "max_recoveries", "load_fault"]),
  step: count,
  message: z.string(),
  vertexId: z.string().exactOptional(),
  target: z.string().exactOptional(),
});

const parent = z.object({ runId: z.string(), revision: count });
const reason = z.enum(["halted", "errored", "awaiting", "sleeping"]);
const route = z.object({
  from: z.string(),
  to: z.string(),
  kind: z.enum(["static", "conditional", "error"]),
});
const handler = z.union([z.string(), count]);
const arrivals = z.map(z.string(), z.array(z.string()));
const waitKind = z.enum(["answer", "timer", "interrupt"]);
const closeReason = z.enum(["answered", "expired", "fired", "superseded", "settled", "refused", "cancelled"]);
const waitResult = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("answered"), value: z.unknown(), at: z.number() }),
  z.object({ kind: z.literal("fired"), at: z.number() }),
  z.object({ kind: z.literal("expired"), at: z.number() }),
]);
const opening = {
  id: z.string(),
  kind: waitKind,
  name: z.string(),
  n: count,
  openedAt: z.number(),
  due: z.number().exactOptional(),
  info: z.unknown().exactOptional(),
  continuation: z.unknown().exactOptional(),
  key: z.string().exactOptional(),
};

const flow = z.object({
  priority: z.enum(["high", "normal", "low"]).exactOptional(),
  concurrency: z.string().exactOptional(),
  throttle: z.string().exactOptional(),
  singleton: z.string().exactOptional(),
});
const grant = { permit: z.string(), n: count };
const queued = { permit: z.string(), since: z.number(), until: z.number().exactOptional() };

const caller = z.object({
  graphId: z.string(),
  runId: z.string(),
  ...of,
  step: count.exactOptional(),
  epoch: z.string().exactOptional(),
});

/**
 * What each type of event may hold. The place of an event among the others, and of a field in its event, is how it is
 * written: both are stored, so what is new comes last.
 */
export const eventSchema = z.discriminatedUnion("type", [
  z.object({
    type: z.literal("created"),
    runId: z.string(),
    graphId: z.string(),
    graphVersion: z.string(),
    form: z.string(),
    entry: z.string(),
    owner: z.string().exactOptional(),
    maxSteps: count,
    deadline: z.number().exactOptional(),
    tags: z.array(z.string()),
    inputDigest: z.string(),
    caller: caller.exactOptional(),
    waitSalt: z.string().exactOptional(),
    flow: flow.exactOptional(),
  }),
  z.object({
    type: z.literal("claimed"),
    owner: z.string(),
    recovery: z.boolean(),
    maxSteps: count.exactOptional(),
  }),
  z.object({
    type: z.literal("released"),
    status: z.enum(["running", "interrupted"]),
    reason: reason.exactOptional(),
    recovery: z.boolean().exactOptional(),
  }),
  z.object({ type: z.literal("retried"), executions: z.array(z.object(of)) }),
  z.object({ type: z.literal("mapped"), ...split }),
  z.object({
    type: z.literal("attempt_failed"),
    ...of,
    at: z.number(),
    failure,
    nextAt: z.number(),
    spentMs: z.number(),
    stack: z.string().exactOptional(),
  }),
  z.object({ type: z.literal("once"), ...of, name: z.string(), value: z.unknown() }),
  z.object({ type: z.literal("opened"), ...of, ...opening }),
  z.object({ type: z.literal("resolved"), ...of, id: z.string(), result: waitResult }),
  z.object({ type: z.literal("closed"), ...of, id: z.string(), reason: closeReason }),
  z.object({
    type: z.literal("reopened"),
    ...of,
    id: z.string(),
    newId: z.string(),
    at: z.number(),
    problem: z.string(),
  }),
  z.object({
    type: z.literal("suspended"),
    ...of,
    startedAt: z.number(),
    at: z.number(),
    spentMs: z.number(),
  }),
  z.object({
    type: z.literal("done"),
    ...of,
    attempt: count,
    startedAt: z.number(),
    at: z.number(),
    output: z.unknown().exactOptional(),
  }),
  z.object({
    type: z.literal("failed"),
    ...of,
    startedAt: z.number(),
    at: z.number(),
    failure,
    handler: handler.exactOptional(),
    stack: z.string().exactOptional(),
  }),
  z.object({ type: z.literal("folded"), finish: z.boolean() }),
  z.object({
    type: z.literal("routed"),
    routes: z.array(route),
    frontier: z.array(z.string()),
    arrivals: arrivals.exactOptional(),
  }),
  z.object({ type: z.literal("halted"), halt }),
  z.object({ type: z.literal("completed") }),
  z.object({ type: z.literal("cancelled"), reason: z.string() }),
  z.object({ type: z.literal("forked"), parent, form: z.string() }),
  z.object({ type: z.literal("updated"), maps: z.array(z.object(split)).exactOptional() }),
  z.object({
    type: z.literal("returned"),
    ...of,
    posted: z.literal(true).exactOptional(),
    slow: z.literal(true).exactOptional(),
  }),
  z.object({ type: z.literal("queued"), ...queued }),
  z.object({ type: z.literal("granted"), ...grant }),
  z.object({ type: z.literal("freed"), ...grant }),
  z.object({
    type: z.literal("adopted"),
    from: z.string(),
    to: z.string(),
    form: z.string(),
    entry: z.string().exactOptional(),
  }),
  z.object({
    type: z.literal("migrated"),
    from: z.string(),
    to: z.string(),
    form: z.string(),
    vertices: z.map(z.string(), z.string().nullable()),
    entry: z.string().exactOptional(),
  }),
]);

const execution = z.object({
  ...of,
  generation: count,
  status: z.enum(["pending", "suspended", "backoff", "done", "failed"]),
  startedAt: z.number().exactOptional(),
  endedAt: z.number().exactOptional(),
  failedAttempts: z.array(z.object({ attempt: count, at: z.number(), failure })),
  nextAt: z.number().exactOptional(),
  spentMs: z.number(),
  once: z.map(z.string(), z.unknown()),
  onceSeq: z.map(z.string(), count).exactOptional(),
  waits: z.map(
    z.string(),
    z.object({
      ...opening,
      seq: count.exactOptional(),
      result: waitResult.exactOptional(),
      closed: closeReason.exactOptional(),
    }),
  ),
  results: count,
  refusals: z.map(z.string(), count),
  returns: count.exactOptional(),
  output: z.unknown().exactOptional(),
  failure: failure.exactOptional(),
  handler: handler.exactOptional(),
  stack: z.string().exactOptional(),
});

const run = z.object({
  runId: z.string(),
  graphId: z.string(),
  graphVersion: z.string(),
  status: z.enum(["running", "completed", "interrupted", "cancelled"]),
  reason: reason.exactOptional(),
  cancelReason: z.string().exactOptional(),
  step: count,
  revision: count,
  owner: z.string().exactOptional(),
  recoveries: count,
  createdAt: z.number(),
  startedAt: z.number().exactOptional(),
  updatedAt: z.number(),
  interruptedAt: z.number().exactOptional(),
  completedAt: z.number().exactOptional(),
  cancelledAt: z.number().exactOptional(),
  deadline: z.number().exactOptional(),
  maxSteps: count,
  tags: z.array(z.string()),
  inputDigest: z.string(),
  caller: caller.exactOptional(),
  waitSalt: z.string().exactOptional(),
  parent: parent.exactOptional(),
  flow: flow.exactOptional(),
  permits: z.array(z.object(grant)).exactOptional(),
  queued: z.object(queued).exactOptional(),
  versionSince: count.exactOptional(),
});

/** What a ledger holds. */
export const growingSchema = z.object({
  executions: z.map(z.string(), execution),
  path: z.array(z.string()).transform((older): Path => ({ older, newer: [] })),
});

/** A checkpoint as a snapshot record holds it. */
const checkpointSchema = z.object({
  run,
  phase: z.enum(["routed", "running", "paused", "halted"]),
  frontier: z.array(z.string()),
  executions: growingSchema.shape.executions,
  maps: z.map(z.string(), z.object({ count, digest: z.string() })),
  routes: z.array(route),
  arrivals,
  halt: halt.exactOptional(),
  finishRan: z.boolean(),
  nextStep: count,
  folded: z.boolean(),
  path: growingSchema.shape.path,
  begunAs: z.map(z.string(), z.string()).exactOptional(),
});

/** One record. Exactly one of `patch` and `snapshot` is present when the record changes the state. */
export const recordSchema = z.object({
  at: z.number(),
  events: z.array(eventSchema),
  callers: z.array(z.int().min(-1)).exactOptional(),
  patch: z.unknown().exactOptional(),
  view: z.array(count).exactOptional(),
  snapshot: z.object({
    checkpoint: checkpointSchema,
    table: z.unknown(),
    ledger: z.unknown().exactOptional(),
  })
    .exactOptional(),
});
