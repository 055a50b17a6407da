import { type Checkpoint, type Execution, executionKey, type ExecutionRef } from "../model/checkpoint.ts";
import { isOpen, type WaitOpening, type WaitState } from "../model/wait.ts";
import type { CatalogRow, ClosedWait, IndexChanges, WaitRow, WakeRow } from "../store/store.ts";
import type { Codec } from "./codec.ts";
import type { Mailbox } from "./mailbox.ts";
import type { RecordEvent } from "./records.ts";

/** The index rows that a record changes, derived from the run before and after it: catalog, inbox, wake, owner. */
export function indexChanges(
  before: { readonly checkpoint: Checkpoint; readonly mailbox: { readonly content: Mailbox } } | undefined,
  after: Checkpoint,
  events: readonly RecordEvent[],
  mailbox: Mailbox | undefined,
  codec: Codec,
  schemas: ((vertexId: string, name: string) => unknown) | undefined,
): IndexChanges | undefined {
  const was = before?.checkpoint;
  if (was !== undefined && mailbox === undefined && !events.some(movesRows)) return undefined;
  const changes: { -readonly [K in keyof IndexChanges]: IndexChanges[K] } = {};

  if (was === undefined || was.run.status !== after.run.status || was.run.reason !== after.run.reason) {
    changes.catalog = { ...(was === undefined ? {} : { from: catalogRow(was) }), to: catalogRow(after) };
  }
  if (was?.run.owner !== after.run.owner) {
    changes.owned = {
      ...(was?.run.owner === undefined ? {} : { from: was.run.owner }),
      ...(after.run.owner === undefined ? {} : { to: after.run.owner }),
    };
  }
  if (mailbox !== undefined) {
    const from = before?.mailbox.content.wake;
    if (from !== mailbox.wake) {
      changes.wake = {
        ...(from === undefined ? {} : { from: wakeRow(after, from) }),
        ...(mailbox.wake === undefined ? {} : { to: wakeRow(after, mailbox.wake) }),
      };
    }
  }
  const posted = new Set(before?.mailbox.content.answers.map((a) => a.waitId));
  // Whoever may answer a run that works for another one looks into the inbox of that one.
  if (after.run.caller !== undefined) return changes;
  const { opened, closed } = waitRows(was, after, events, posted, codec, schemas);
  if (opened.length > 0) changes.opened = opened;
  if (closed.length > 0) changes.closed = closed;
  return changes;
}

/** Most records in the middle of a run change no row. Whatever moves a status or an owner moves the mailbox. */
function movesRows(event: RecordEvent): boolean {
  return event.type === "opened" || event.type === "closed" || event.type === "resolved" ||
    event.type === "reopened";
}

/** The row of a run's wake. */
export function wakeRow(checkpoint: Checkpoint, due: number): WakeRow {
  const { runId, graphId, graphVersion } = checkpoint.run;
  return { runId, graphId, graphVersion, due };
}

function catalogRow(checkpoint: Checkpoint): CatalogRow {
  const { run } = checkpoint;
  return {
    runId: run.runId,
    graphId: run.graphId,
    graphVersion: run.graphVersion,
    status: run.status,
    ...(run.reason === undefined ? {} : { reason: run.reason }),
    tags: run.tags,
    createdAt: run.createdAt,
    updatedAt: run.updatedAt,
    step: run.step,
    revision: run.revision,
    openWaits: run.status === "interrupted" ? openWaits(checkpoint).length : 0,
  };
}

/** Every wait that can still be answered, with the execution that opened it, in order of opening. */
export function openWaits(
  checkpoint: Checkpoint,
): { readonly execution: Execution; readonly wait: WaitState }[] {
  const open: { execution: Execution; wait: WaitState }[] = [];
  for (const execution of checkpoint.executions.values()) {
    for (const wait of execution.waits.values()) {
      if (wait.kind !== "timer" && isOpen(wait)) open.push({ execution, wait });
    }
  }
  return open;
}

/** Rows for the waits opened and still open, tombstones for those closed. */
function waitRows(
  before: Checkpoint | undefined,
  after: Checkpoint,
  events: readonly RecordEvent[],
  posted: ReadonlySet<string>,
  codec: Codec,
  schemas: ((vertexId: string, name: string) => unknown) | undefined,
): { readonly opened: WaitRow[]; readonly closed: ClosedWait[] } {
  const opened = new Map<string, WaitRow>();
  const closed: ClosedWait[] = [];
  const { runId, graphId, revision } = after.run;
  const close = (waitId: string, openedAt: number | undefined, reason: string) => {
    opened.delete(waitId);
    if (openedAt !== undefined) closed.push({ runId, waitId, openedAt, reason, revision });
  };
  const open = (
    { vertexId, item }: ExecutionRef,
    { id, kind, name, key, n, openedAt, due, info }: WaitOpening,
  ) => {
    const schema = kind === "answer" ? schemas?.(vertexId, name) : undefined;
    opened.set(id, {
      runId,
      waitId: id,
      graphId,
      vertexId,
      ...(item === undefined ? {} : { item }),
      name,
      openedAt,
      ...(due === undefined ? {} : { deadline: due }),
      body: codec.encode({ kind, ...(key === undefined ? {} : { key }), n, info, schema }),
    });
  };
  for (const event of events) {
    if (event.type === "opened" && event.kind !== "timer") open(event, event);
    else if (event.type === "closed" || event.type === "resolved" || event.type === "reopened") {
      const openedNow = opened.get(event.id)?.openedAt;
      const wait = before?.executions.get(executionKey(event.vertexId, event.item))?.waits.get(event.id);
      if (wait?.kind === "timer" || (wait === undefined && openedNow === undefined)) continue;
      // An answer that was posted has left its own tombstone then.
      if (event.type === "resolved" && posted.has(event.id)) continue;
      close(
        event.id,
        openedNow ?? wait?.openedAt,
        event.type === "resolved" ? event.result.kind : event.type === "closed" ? event.reason : "refused",
      );
      if (event.type === "reopened" && wait !== undefined) {
        open(event, { ...wait, id: event.newId, openedAt: event.at });
      }
    }
  }
  return { opened: [...opened.values()], closed };
}
