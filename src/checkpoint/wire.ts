import { CheckpointDecodeError, messageOf } from "../errors.ts";
import { type Checkpoint, type Execution, verticesOf } from "../model/checkpoint.ts";
import type { VertexFailure } from "../model/failure.ts";
import { canonical } from "./canonical.ts";
import type { Codec } from "./codec.ts";
import { packEvent, unpackEvent } from "./event_encoding.ts";
import type { Patch } from "./delta.ts";
import type { RecordEvent } from "./records.ts";
import { growingSchema, recordSchema } from "./record_schemas.ts";
import { unpackView, type View } from "./view.ts";

/** One record of a run's history. */
export interface LogRecord {
  readonly at: number;
  readonly events: readonly RecordEvent[];
  /**
   * In a run that works for another one: the newest revision, when this record was written, of the run that called it, of the
   * one that called that, and so on; -1 where there was none yet.
   */
  readonly callers?: readonly number[] | undefined;
  /** What the record changes in the state, unless a snapshot holds it. */
  readonly patch?: Patch;
  /** What the run was after the record, unless a snapshot says so. */
  readonly view?: readonly number[];
  /** The whole run as of this record. */
  readonly snapshot?: StoredSnapshot;
}

/** What a snapshot record holds. */
export interface StoredSnapshot {
  readonly checkpoint: Checkpoint;
  /** The table of the state. */
  readonly table: unknown;
  /** The table of the executions and the path; without one they stand in the checkpoint. */
  readonly ledger?: unknown;
}

/** The version of the format of records with a ledger, which earlier code does not know; all others have that of values. */
export const LEDGER_FORMAT = 2;

/** The bytes of a record. */
export function encodeRecord(record: LogRecord, codec: Codec): Uint8Array {
  const { at, callers, patch, view, snapshot } = record;
  const what: Record<string, unknown> = { at, events: record.events.map(packEvent) };
  if (callers !== undefined) what["callers"] = callers;
  if (snapshot === undefined) {
    if (patch !== undefined) what["patch"] = patch;
    if (view !== undefined) what["view"] = view;
    return codec.encode(what);
  }
  if (snapshot.ledger === undefined) {
    const checkpoint = { ...snapshot.checkpoint, path: verticesOf(snapshot.checkpoint.path) };
    return codec.encode({ ...what, snapshot: { ...snapshot, checkpoint } });
  }
  const { executions: _, path: __, ...checkpoint } = snapshot.checkpoint;
  return codec.encode({ ...what, snapshot: { ...snapshot, checkpoint } }, LEDGER_FORMAT);
}

/** A record from bytes of unknown origin; every user value in it is canonical. */
export function decodeRecord(bytes: Uint8Array, revision: number, runId: string, codec: Codec): LogRecord {
  let value: unknown;
  try {
    value = codec.decode(bytes, LEDGER_FORMAT);
  } catch (cause) {
    throw new CheckpointDecodeError(runId, `revision ${revision}`, messageOf(cause), { cause });
  }
  const parsed = recordSchema.safeParse(unpacked(value));
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    const field = fieldOf(issue?.path ?? []);
    throw new CheckpointDecodeError(
      runId,
      field,
      `revision ${revision} is not a record that this version wrote: ${
        issue?.path.join(".")
      }: ${issue?.message}`,
    );
  }
  const { patch, snapshot, ...rest } = parsed.data;
  if (rest.view !== undefined && viewOf(rest, revision) === undefined) {
    throw new CheckpointDecodeError(runId, "Record", `revision ${revision} has a view that is none`);
  }
  return {
    ...rest,
    events: rest.events.map(owned),
    ...(patch === undefined ? {} : { patch: patch as Patch }),
    ...(snapshot === undefined
      ? {}
      : { snapshot: { ...snapshot, checkpoint: ownedCheckpoint(snapshot.checkpoint) } }),
  };
}

/** What the run was after a record, where it says so by itself. */
export function viewOf({ view }: Pick<LogRecord, "view">, revision: number): View | undefined {
  return view === undefined ? undefined : unpackView(view, revision);
}

/** A checkpoint with the executions and the path of its ledger, which was restored and is not trusted. */
export function withGrowing(checkpoint: Checkpoint, ledger: unknown): Checkpoint {
  return ownedCheckpoint({ ...checkpoint, ...growingSchema.parse(ledger) });
}

function unpacked(record: unknown): unknown {
  if (typeof record !== "object" || record === null) return record;
  const { events, snapshot } = record as { readonly events?: unknown; readonly snapshot?: StoredSnapshot };
  return {
    ...record,
    ...(Array.isArray(events) ? { events: events.map(unpackEvent) } : {}),
    ...(snapshot?.ledger === undefined ? {} : {
      snapshot: { ...snapshot, checkpoint: { ...snapshot.checkpoint, executions: new Map(), path: [] } },
    }),
  };
}

/** The name under which a fault in a stored record is reported. */
function fieldOf(path: readonly PropertyKey[]): string {
  if (path[0] === "snapshot" && path[1] === "checkpoint") {
    const field = path[2];
    if (field === "phase") return "Phase";
    if (typeof field === "string") return field[0]!.toUpperCase() + field.slice(1);
  }
  return "Record";
}

function owned(event: RecordEvent): RecordEvent {
  switch (event.type) {
    case "once":
      return { ...event, value: canonical(event.value, "a stored once result") };
    case "done":
      return "output" in event ? { ...event, output: canonical(event.output, "a stored output") } : event;
    case "opened":
      return ownedOpening(event);
    case "resolved":
      return event.result.kind === "answered"
        ? { ...event, result: { ...event.result, value: canonical(event.result.value, "a stored answer") } }
        : event;
    case "attempt_failed":
    case "failed":
      return { ...event, failure: ownedFailure(event.failure) };
    default:
      return event;
  }
}

function ownedFailure(failure: VertexFailure): VertexFailure {
  const { data, failures, cause } = failure;
  return {
    ...failure,
    ...(data === undefined ? {} : { data: canonical(data, "stored data of an error") }),
    ...(failures === undefined ? {} : { failures: failures.map((f) => ({ ...f, ...ownedFailure(f) })) }),
    ...(cause === undefined ? {} : { cause: ownedFailure(cause) }),
  };
}

function ownedOpening<T extends { readonly info?: unknown; readonly continuation?: unknown }>(opening: T): T {
  if (!("info" in opening) && !("continuation" in opening)) return opening;
  return {
    ...opening,
    ...("info" in opening ? { info: canonical(opening.info, "a stored info") } : {}),
    ...("continuation" in opening
      ? { continuation: canonical(opening.continuation, "a stored continuation") }
      : {}),
  };
}

function ownedCheckpoint(checkpoint: Checkpoint): Checkpoint {
  if (checkpoint.executions.size === 0) return checkpoint;
  const executions = new Map<string, Execution>();
  for (const [key, x] of checkpoint.executions) {
    executions.set(key, {
      ...x,
      ...("output" in x ? { output: canonical(x.output, "a stored output") } : {}),
      ...(x.failure === undefined ? {} : { failure: ownedFailure(x.failure) }),
      failedAttempts: x.failedAttempts.map((a) => ({ ...a, failure: ownedFailure(a.failure) })),
      once: new Map([...x.once].map(([name, value]) => [name, canonical(value, "a stored once result")])),
      waits: new Map([...x.waits].map(([id, wait]) => [
        id,
        wait.result?.kind === "answered"
          ? ownedOpening({
            ...wait,
            result: { ...wait.result, value: canonical(wait.result.value, "a stored answer") },
          })
          : ownedOpening(wait),
      ])),
    });
  }
  return { ...checkpoint, executions };
}
