import {
  type Checkpoint,
  type Execution,
  executionKey,
  type ExecutionRef,
  refOf,
} from "../model/checkpoint.ts";
import { defined } from "../model/defined.ts";
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

  const moved = was !== undefined && was.run.graphVersion !== after.run.graphVersion;
  if (
    was === undefined || moved || was.run.status !== after.run.status ||
    was.run.reason !== after.run.reason || was.run.queued?.permit !== after.run.queued?.permit
  ) {
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
    if (from !== mailbox.wake || moved) {
      changes.wake = {
        ...(from === undefined ? {} : { from: wakeRow(was ?? after, from) }),
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
    event.type === "reopened" || event.type === "adopted" || event.type === "migrated";
}

/** The row of a run's wake. */
function wakeRow(checkpoint: Checkpoint, due: number): WakeRow {
  const { runId, graphId, graphVersion } = checkpoint.run;
  return { runId, graphId, graphVersion, due };
}

function catalogRow(checkpoint: Checkpoint): CatalogRow {
  const { runId, graphId, graphVersion, status, reason, queued, tags, createdAt, updatedAt, step, revision } =
    checkpoint.run;
  const row = { runId, graphId, graphVersion, status, tags, createdAt, updatedAt, step, revision };
  return {
    ...row,
    ...defined(queued === undefined ? { reason } : { reason: "queued", queued: queued.permit }),
    openWaits: status === "interrupted" ? openWaits(checkpoint).length : 0,
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
  const open = (of: ExecutionRef, wait: WaitOpening) => {
    const { id: waitId, kind, name, key, n, openedAt, due: deadline, info } = wait;
    const schema = kind === "answer" ? schemas?.(of.vertexId, name) : undefined;
    const body = codec.encode({ kind, ...defined({ key }), n, info, schema });
    opened.set(waitId, {
      runId,
      waitId,
      graphId,
      ...refOf(of),
      name,
      openedAt,
      ...defined({ deadline }),
      body,
    });
  };
  for (const event of events) {
    // Whoever answers is judged by the schemas of the version that the run has moved to.
    if (event.type === "adopted" || event.type === "migrated") {
      for (const { execution, wait } of openWaits(after)) if (!posted.has(wait.id)) open(execution, wait);
    } else if (event.type === "opened" && event.kind !== "timer") open(event, event);
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
