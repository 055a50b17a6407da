import { z } from "@hono/zod-openapi";
import { toMs } from "../model/durations.ts";
import { PRIORITIES } from "../model/flow.ts";
import { Activity, GraphId, type Of, RowReason, RunId, Status, Version, WaitId } from "./schemas.ts";
import type * as wire from "./wire_requests.ts";

/** What requests may hold. Whatever they do not name is refused, not ignored. */

const value = (what: string) => z.unknown().openapi({ description: `${what}: JSON, tagged where need be` });
const Tag = z.string().min(1).max(128);
const Tags = z.array(Tag).max(64).readonly();
const MaxSteps = z.int().min(1);

/** The most entries of a page. */
const LIMIT = 1_000;
/** The longest that a request may be made to wait, in milliseconds. */
const LONGEST_WAIT_MS = 60_000;

/** An object whose fields are the caller's. A schema for records would drop the one field that is the prototype. */
const fields = (what: string) =>
  z.custom<Readonly<Record<string, unknown>>>(isFields, "an object, without a field __proto__")
    .openapi({
      type: "object",
      additionalProperties: {},
      description: `${what}: JSON, tagged where need be`,
    });

function isFields(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value) &&
    !Object.hasOwn(value, "__proto__");
}

const digits = z.string().regex(/^\d{1,15}$/, "a whole number from 0");
const flag = z.enum(["true", "false"]);

const limit = z.string().regex(/^[1-9]\d{0,14}$/, "a whole number from 1")
  .openapi({ description: `At most this many; never more than ${LIMIT}`, example: "100" });

/** A limit as asked for, at most {@link LIMIT}. */
export function limitOf(text: string | undefined): number {
  return text === undefined ? 100 : Math.min(Number(text), LIMIT);
}

/** The time that a request is to wait, in milliseconds. */
export function waitOf(text: string | undefined): number {
  return text === undefined ? 0 : Math.min(toMs(text) ?? 0, LONGEST_WAIT_MS);
}

export const StartQuery = z.strictObject({
  version: Version.optional(),
  wait: z.string().refine((text) => (toMs(text) ?? -1) >= 0, 'a duration such as "5s"')
    .openapi({ description: "Answers with the result if it is there in time; at most 60s", example: "5s" })
    .optional(),
});

export const VersionQuery = z.strictObject({ version: Version.optional() });

export const IdempotencyKey = z.object({
  "idempotency-key": z.string().regex(/^[\x21-\x7e]{1,255}$/, "1 to 255 printable ASCII characters")
    .optional()
    .openapi({
      description: "The same key, graph, caller and body are the same run; with another body it is refused",
    }),
});

export const RunQuery = z.strictObject({
  graph_id: GraphId.optional(),
  status: Status.optional(),
  reason: RowReason.optional(),
  activity: Activity.optional(),
  tag: Tag.optional(),
  cursor: z.string().max(2_000).optional(),
  limit: limit.optional(),
});

export const WaitQuery = z.strictObject({
  graph_id: GraphId.optional(),
  run_id: RunId.optional(),
  wait_id: WaitId.optional(),
  name: z.string().min(1).max(128).optional(),
  cursor: z.string().max(2_000).optional(),
  limit: limit.optional(),
}).refine(({ run_id, wait_id }) => wait_id === undefined || run_id !== undefined, {
  message: "name the run of the wait, too",
  path: ["run_id"],
});

export const GetQuery = z.strictObject({
  revision: digits.openapi({ description: "The run as it was then", example: "3" }).optional(),
  include_state: flag.openapi({ description: "Whether the state is wanted; it is unless false" }).optional(),
});

export const HistoryQuery = z.strictObject({
  from_revision: digits.openapi({ description: "The first revision", example: "0" }).optional(),
  limit: limit.optional(),
  include_state: flag.openapi({ description: "Whether states are wanted; they are not unless true" })
    .optional(),
  include_values: flag
    .openapi({
      description: "Whether outputs, answers and the like are wanted; they are with states, or if true",
    })
    .optional(),
});

export const EventsQuery = z.strictObject({
  from_revision: digits.openapi({ description: "The first revision, unless Last-Event-ID is sent" })
    .optional(),
  emits: z.enum(["true", "false"]).openapi({ description: "Whether what bodies emit is sent" }).optional(),
});

export const LastEventId = z.object({
  "last-event-id": z.string().regex(/^\d{1,15}(\.\d{1,15})?$/, "the id of an event")
    .openapi({ description: "The id of the event that was received last", example: "7.12" }).optional(),
});

export const StartRequest = z.strictObject({
  input: value("The input of the run").optional(),
  runId: RunId.optional(),
  tags: Tags.optional(),
  deadline: z.union([z.number(), z.string().max(64)])
    .openapi({ description: "A duration from now, or an ISO 8601 time", example: "2h" })
    .optional(),
  maxSteps: MaxSteps.optional(),
  priority: z.enum(PRIORITIES).optional(),
}).openapi("StartRequest") satisfies Of<wire.StartRequest>;

export const ResumeRequest = z.strictObject({
  payload: value("The answer to the one open wait").optional(),
  all: z.boolean().optional(),
  answers: fields("Answers by wait id").optional(),
  maxSteps: MaxSteps.optional(),
  takeover: z.boolean().optional(),
}).openapi("ResumeRequest") satisfies Of<wire.ResumeRequest>;

export const CancelRequest = z.strictObject({ reason: z.string().max(1_000).optional() }).nullable()
  .openapi("CancelRequest") satisfies Of<wire.CancelRequest | null>;

export const ForkRequest = z.strictObject({
  revision: z.int().min(0),
  state: value("Another state").optional(),
  runId: RunId.optional(),
  tags: Tags.optional(),
}).openapi("ForkRequest") satisfies Of<wire.ForkRequest>;

export const StateRequest = z.strictObject({
  state: value("A state").optional(),
  set: fields("Values by field").optional(),
  unset: z.array(z.string()).readonly().optional(),
}).refine(
  (body) => "state" in body ? !("set" in body || "unset" in body) : "set" in body || "unset" in body,
  {
    message: "give either state, or set and unset",
  },
).openapi("StateRequest") satisfies Of<wire.StateRequest>;

export const AnswerRequest = z.strictObject({ value: value("The answer") })
  .openapi("AnswerRequest") satisfies Of<wire.AnswerRequest>;
