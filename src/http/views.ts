import type { HistoryEntry, InboxEntry, RecordEvent } from "../engine/history.ts";
import type { RunView } from "../engine/result.ts";
import type { StreamEvent } from "../engine/stream.ts";
import type { StreamMessage } from "./stream.ts";
import type { RunRow } from "../engine/activity.ts";
import type { ItemFailure, VertexFailure } from "../model/failure.ts";
import { stackOf } from "../engine/stacks.ts";
import { defined } from "../model/defined.ts";
import { toJson } from "../model/json.ts";
import type { Halt, RunRecord } from "../model/run.ts";
import type { Page } from "../store/store.ts";
import type { HttpRunner } from "./served.ts";
import type * as wire from "./wire.ts";

/** What a caller may see of a run. */
export interface Visibility {
  /** States, outputs, answers and the like. */
  readonly state: boolean;
  /** What was thrown. */
  readonly causes: boolean;
}

/** The bookkeeping of a run, without what values or ids of waits could be guessed from. */
function runInfo({ inputDigest: _, waitSalt: __, ...run }: RunRecord): wire.RunInfo {
  return run;
}

/** A graph with what its runs are started with. */
export function graphBody(runner: HttpRunner): wire.GraphBody {
  return { ...runner.topology(), ...defined({ input: runner.inputSchema }) };
}

/** What is told of a run that was moved and goes on by itself. */
export function runRef({ runId, graphId, graphVersion, status }: RunRecord): wire.RunRef {
  return { runId, graphId, graphVersion, status };
}

/** A run as far as it may be seen. */
export function runBody(view: RunView<unknown>, sight: Visibility): wire.RunBody {
  const { run, status, path, vertices, activity } = view;
  const state = sight.state ? { state: toJson(view.state) } : {};
  const base = {
    ...runRef(run),
    run: runInfo(run),
    status,
    ...state,
    path,
    vertices,
    ...defined({ activity }),
  };
  if (view.status === "cancelled") return { ...base, cancelReason: view.cancelReason };
  if (view.status !== "interrupted") return base;
  return {
    ...base,
    reason: view.reason,
    ...(view.due === undefined ? {} : { due: view.due }),
    answered: view.answered,
    waits: view.waits.map(withInfo),
    failures: view.failures.map(({ error, failure, ...rest }) => ({
      ...rest,
      failure: causeOf(failure, sight, stackOf(error.cause)),
    })),
    ...(view.halt === undefined ? {} : { halt: haltOf(view.halt, sight) }),
  };
}

/** A failure by its kind; what was thrown may hold secrets. */
function causeOf(failure: VertexFailure, sight: Visibility, stack: string | undefined): wire.Cause {
  const { failures } = failure;
  return {
    ...plainCause(failure, sight),
    ...(sight.causes && stack !== undefined ? { stack } : {}),
    ...(failures === undefined ? {} : {
      failures: failures.map((one: ItemFailure) => ({ ...plainCause(one, sight), item: one.item })),
    }),
  };
}

function plainCause(failure: VertexFailure, sight: Visibility): Omit<wire.Cause, "failures" | "stack"> {
  const { name, phase, attempt, code, message, data } = failure;
  const plain = defined({ name, phase, attempt, code });
  return sight.causes ? { ...plain, message, ...(data === undefined ? {} : { data: toJson(data) }) } : plain;
}

function haltOf({ kind, step, vertexId, target, message }: Halt, sight: Visibility): wire.HaltInfo {
  return defined({ kind, step, vertexId, target, message: sight.causes ? message : undefined });
}

/** A record of a run as far as it may be seen. */
export function checkpointOf({ events, ...entry }: HistoryEntry, sight: Visibility): wire.Checkpoint {
  return { ...entry, events: events.map((event) => eventOf(event, sight)) };
}

/** Something that happens to a run, as a message of a stream. */
export function streamMessageOf(event: StreamEvent, sight: Visibility): StreamMessage {
  const { type, id, ...rest } = event;
  if (event.type === "checkpoint") return { id, event: type, data: checkpointOf(event.entry, sight) };
  if (event.type !== "emit") return { id, event: type, data: rest };
  const { type: _, id: __, data, ...emit } = event;
  return { id, event: type, data: { ...emit, ...(sight.state ? { data: toJson(data) } : {}) } };
}

/** Fields that are shown of each event, beside its type and its vertex: those that hold values with the state only. */
const SHOWN: {
  readonly [T in RecordEvent["type"]]: {
    readonly plain?: readonly string[];
    readonly values?: readonly string[];
  };
} = {
  created: {
    plain: ["runId", "graphId", "graphVersion", "entry", "owner", "maxSteps", "deadline", "tags", "caller"],
  },
  forked: { plain: ["parent"] },
  adopted: { plain: ["from", "to"] },
  migrated: { plain: ["from", "to"] },
  updated: {},
  claimed: { plain: ["owner", "recovery", "maxSteps"] },
  released: { plain: ["status", "reason", "recovery"] },
  retried: { plain: ["executions"] },
  mapped: { plain: ["count"] },
  attempt_failed: { plain: ["at", "nextAt", "spentMs"] },
  once: { plain: ["name"], values: ["value"] },
  opened: { plain: ["id", "kind", "name", "key", "n", "openedAt", "due", "info"], values: ["continuation"] },
  resolved: { plain: ["id"] },
  closed: { plain: ["id", "reason"] },
  reopened: { plain: ["id", "newId", "at"] },
  suspended: { plain: ["startedAt", "at", "spentMs"] },
  returned: { plain: ["posted"] },
  done: { plain: ["attempt", "startedAt", "at"], values: ["output"] },
  failed: { plain: ["startedAt", "at", "handler"] },
  folded: { plain: ["finish"] },
  routed: { plain: ["routes", "frontier"] },
  halted: {},
  completed: {},
  cancelled: { plain: ["reason"] },
  queued: { plain: ["permit", "since", "until"] },
  granted: { plain: ["permit", "n"] },
  freed: { plain: ["permit", "n"] },
};

function eventOf(event: RecordEvent, sight: Visibility): wire.CheckpointEvent {
  const { plain = [], values = [] } = SHOWN[event.type];
  const fields = ["vertexId", "item", ...plain, ...(sight.state ? values : [])];
  const of: Readonly<Record<string, unknown>> = { ...event };
  return {
    type: event.type,
    ...Object.fromEntries(
      fields.filter((field) => of[field] !== undefined).map((field) => [field, toJson(of[field])]),
    ),
    ...moreOf(event, sight),
  };
}

/** What needs a closer look than its field's name. */
function moreOf(event: RecordEvent, sight: Visibility): Readonly<Record<string, unknown>> {
  switch (event.type) {
    case "attempt_failed":
    case "failed":
      return { failure: causeOf(event.failure, sight, event.stack) };
    case "halted":
      return { halt: haltOf(event.halt, sight) };
    case "reopened":
      return sight.causes ? { problem: event.problem } : {};
    case "resolved": {
      const { kind, at } = event.result;
      const value = event.result.kind === "answered" && sight.state
        ? { value: toJson(event.result.value) }
        : {};
      return { result: { kind, at, ...value } };
    }
    case "migrated":
      return { vertices: Object.fromEntries(event.vertices) };
    case "routed":
      return event.arrivals === undefined ? {} : { arrivals: Object.fromEntries(event.arrivals) };
    default:
      return {};
  }
}

/** A page of runs. */
export function runPage({ rows, cursor }: Page<RunRow>): wire.RunPage {
  return { runs: rows as readonly wire.RunRow[], ...endOfPage(cursor) };
}

/** A page of open waits. */
export function waitPage({ rows, cursor }: Page<InboxEntry>): wire.WaitPage {
  return { waits: rows.map(withInfo), ...endOfPage(cursor) };
}

function endOfPage(cursor: string | undefined) {
  return cursor === undefined ? { done: true } : { next_cursor: cursor, done: false };
}

function withInfo<W extends { readonly info?: unknown }>(wait: W): W {
  return wait.info === undefined ? wait : { ...wait, info: toJson(wait.info) };
}
