import {
  CheckpointDecodeError,
  CheckpointNotFoundError,
  GraphRunMismatchError,
  isSuperstepError,
  messageOf,
  RevisionConflictError,
  RunAbortedError,
} from "../errors.ts";
import type { Checkpoint } from "../model/checkpoint.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { Appended, AppendEntry, PartRef, Store, StoredRecord, Tail } from "../store/store.ts";
import { type Codec, defaultCodec } from "./codec.ts";
import type {
  Cursor,
  FoundMailbox,
  HistoryRecord,
  LoadOptions,
  MailboxChange,
  Ownership,
  RecordWrite,
} from "./cursor.ts";
import { applyPatch } from "./delta.ts";
import { evolve, firstCheckpoint } from "./evolve.ts";
import { type AppendHints, appendHints } from "./hints.ts";
import { indexChanges } from "./index_rows.ts";
import { decodeMailbox, encodeMailbox, type Mailbox, mailboxAfter } from "./mailbox.ts";
import { type Layout, partRefs, restore, snapshot } from "./parts.ts";
import type { EventOf, RecordEvent } from "./records.ts";
import { decodeRecord, encodeRecord, type LogRecord } from "./wire.ts";

export type { Cursor, RecordWrite } from "./cursor.ts";

/**
 * The history of runs in a store: an append-only log of records, each a compare-and-append.
 *
 * 1. A record holds the events since the last one and what they changed in the state; nothing is stored twice.
 * 2. A snapshot record holds the whole run, its state as a table of parts; loading reads the newest one and at most
 *    {@link MAX_DELTAS} records after it, however long the run.
 * 3. A record that opens or closes nothing and moves no ownership never touches the mailbox; every other one checks it.
 * 4. An append whose outcome is in doubt is judged by reading, and repeated under its own id only when nothing moved.
 */
export class CheckpointLog<S> {
  readonly #store: Store;
  readonly #runtime: Runtime;
  readonly #codec: Codec;
  readonly #writer: string;
  readonly #hints: AppendHints;
  #written = 0;

  constructor(store: Store, runtime: Runtime, codec: Codec = defaultCodec) {
    this.#store = store;
    this.#runtime = runtime;
    this.#codec = codec;
    this.#hints = appendHints(store);
    // Twelve digits of chance tell the writers of one revision apart, and every record holds them.
    this.#writer = runtime.uuid().slice(-12);
  }

  /** The run as of its newest record, or `undefined` for an unknown one. */
  async load(runId: string, options: LoadOptions = {}): Promise<Cursor<S> | undefined> {
    const tail = await this.#store.tail(runId, options);
    if (tail === undefined) return undefined;
    return await this.#restored(runId, tail, this.#decoded(runId, tail.records), options);
  }

  /**
   * The run as it was at a revision, or `undefined` for an unknown one; nothing can be appended after it.
   *
   * @throws {CheckpointNotFoundError} the run has no such revision, or none any more
   */
  async at(runId: string, revision: number, options: LoadOptions = {}): Promise<Cursor<S> | undefined> {
    const { head, mailbox } = await this.#store.inspect(runId, revision, undefined, options);
    if (head === null) return undefined;
    if (revision > head.position.revision) throw new CheckpointNotFoundError(runId, revision);
    const from = Math.max(0, revision - MAX_DELTAS - 1);
    const found = await this.#store.range(runId, from, revision - from + 1, options);
    const first = found[0]?.revision;
    if (first === undefined || first > revision) throw new CheckpointNotFoundError(runId, revision, first);
    const records = this.#decoded(runId, found.slice(0, revision - first + 1));
    const base = records.findLastIndex((r) => r.snapshot !== undefined);
    // What the mailbox holds now came after every revision but the newest.
    const newest = revision === head.position.revision;
    const tail = { position: { ...head.position, revision }, mailbox: newest ? mailbox : null };
    return await this.#restored(runId, tail, records.slice(Math.max(0, base)), options);
  }

  #decoded(runId: string, records: readonly StoredRecord[]): readonly DecodedRecord[] {
    return inSequence(runId, records).map((r) => ({
      ...r,
      ...decodeRecord(r.bytes, r.revision, runId, this.#codec),
    }));
  }

  /** The run that a snapshot and the records after it come to. */
  async #restored(
    runId: string,
    tail: Pick<Tail, "position" | "mailbox">,
    [base, ...deltas]: readonly DecodedRecord[],
    options: LoadOptions,
  ): Promise<Cursor<S>> {
    if (base?.snapshot === undefined) {
      throw new CheckpointDecodeError(runId, "Record", "its history does not begin with a snapshot");
    }
    const checkpoint = deltas.reduce(
      (c, r) => evolve(c, r.events, r.revision, r.at),
      base.snapshot.checkpoint,
    );
    if (checkpoint.run.revision !== tail.position.revision) {
      throw new CheckpointDecodeError(runId, "Record", `revision ${checkpoint.run.revision + 1} is missing`);
    }
    if (checkpoint.run.runId !== runId) throw new GraphRunMismatchError(runId, checkpoint.run.runId);
    await options.verify?.(checkpoint);
    const mailbox = tail.mailbox === null
      ? noMailbox(checkpoint.run.graphVersion)
      : { version: tail.mailbox.version, content: decodeMailbox(tail.mailbox.value, this.#codec, runId) };
    const cursor: Cursor<S> = {
      checkpoint,
      position: tail.position,
      mailbox,
      state: undefined as S,
      layout: undefined,
      deltas: deltas.length,
      deltaBytes: deltas.reduce((sum, r) => sum + r.bytes.byteLength, 0),
      snapshotBytes: base.bytes.byteLength,
      snapshotRevision: base.revision,
    };
    if (options.state === false) return cursor;
    return {
      ...cursor,
      ...await this.#state(runId, tail.position.epoch, base.snapshot.table, deltas, options),
    };
  }

  /** Appends revision 0. */
  create(
    event: EventOf<"created">,
    state: S,
    write: Ownership,
    more: readonly RecordEvent[] = [],
  ): Promise<Cursor<S>> {
    const at = this.#runtime.now();
    const first = firstCheckpoint(event, at);
    const checkpoint = more.length === 0 ? first : evolve(first, more, 0, at);
    return this.begin(checkpoint, [event, ...more], state, write);
  }

  /** Appends revision 0 of a run that begins where a checkpoint says. */
  begin(
    checkpoint: Checkpoint,
    events: readonly RecordEvent[],
    state: S,
    write: Ownership,
  ): Promise<Cursor<S>> {
    const next = { state, patch: undefined };
    return this.#write(checkpoint.run.runId, undefined, { ...write, events, checkpoint, next });
  }

  /** Appends the record that follows `cursor`. */
  append(cursor: Cursor<S>, write: RecordWrite<S>): Promise<Cursor<S>> {
    return this.#write(write.checkpoint.run.runId, cursor, write);
  }

  /** Lets go of a run that a dead owner left, to be claimed when `wake` is due. */
  async defer(cursor: Cursor<S>, absent: string | undefined, wake: number): Promise<void> {
    const events: RecordEvent[] = [{ type: "released", status: "running", recovery: true }];
    const { revision, updatedAt } = cursor.checkpoint.run;
    const at = Math.max(this.#runtime.now(), updatedAt);
    const checkpoint = evolve(cursor.checkpoint, events, revision + 1, at);
    await this.append(cursor, { events, checkpoint, wake, ...(absent === undefined ? {} : { absent }) });
  }

  /** The cursor with its mailbox read anew. */
  async refresh(cursor: Cursor<S>): Promise<Cursor<S>> {
    const { runId, revision } = cursor.checkpoint.run;
    const found = await this.#store.inspect(runId, revision, undefined);
    if (found.mailbox === null) return cursor;
    const content = decodeMailbox(found.mailbox.value, this.#codec, runId);
    return { ...cursor, mailbox: { version: found.mailbox.version, content } };
  }

  /** Has another process look into the mailbox, whose version is another one afterwards. */
  async poke(cursor: Cursor<S>, owner: string): Promise<Cursor<S>> {
    const { content, version } = cursor.mailbox;
    const value = encodeMailbox(content, this.#codec);
    const mailbox = { version, value };
    const posted = await this.#store.post(cursor.checkpoint.run.runId, {
      postId: this.#nextId(),
      epoch: cursor.position.epoch,
      mailbox,
      poke: owner,
    });
    return { ...cursor, mailbox: { version: posted.mailbox, content } };
  }

  /** Changes the mailbox without moving the head; `MailboxConflictError` when it is not the one found any more. */
  async post(runId: string, epoch: string, found: FoundMailbox, change: MailboxChange): Promise<void> {
    const current = decodeMailbox(found.value, this.#codec, runId);
    const { mailbox, closed, graphId, cells } = await change(current);
    const row = { runId, graphId, graphVersion: current.graphVersion };
    await this.#store.post(runId, {
      postId: this.#nextId(),
      epoch,
      mailbox: { version: found.version, value: encodeMailbox(mailbox, this.#codec) },
      closed,
      ...(current.wake === mailbox.wake ? {} : {
        wake: {
          ...(current.wake === undefined ? {} : { from: { ...row, due: current.wake } }),
          ...(mailbox.wake === undefined ? {} : { to: { ...row, due: mailbox.wake } }),
        },
      }),
      ...(mailbox.owner === undefined ? {} : { poke: mailbox.owner }),
      ...(cells === undefined ? {} : { cells }),
    });
  }

  /** At most `limit` decoded records from revision `from` on. */
  async history(
    runId: string,
    from: number,
    limit: number,
    signal?: AbortSignal,
  ): Promise<readonly HistoryRecord[]> {
    const records = await this.#store.range(runId, from, limit, signal === undefined ? {} : { signal });
    return inSequence(runId, records).map((r) => ({
      revision: r.revision,
      bytes: r.bytes.byteLength,
      ...decodeRecord(r.bytes, r.revision, runId, this.#codec),
    }));
  }

  #nextId(): string {
    return `${this.#writer}:${this.#written++}`;
  }

  async #write(runId: string, before: Cursor<S> | undefined, write: RecordWrite<S>): Promise<Cursor<S>> {
    const { checkpoint, events, next } = write;
    const { run } = checkpoint;
    const state = next === undefined ? before!.state : next.state;
    const draft = this.#draft(before, write, state);
    const mailbox = mailboxAfter(before, checkpoint, write);
    const version = before?.mailbox.version ?? null;
    const entry: AppendEntry = {
      appendId: this.#nextId(),
      at: before?.position ?? null,
      record: draft.bytes,
      parts: draft.parts,
      snapshot: draft.snapshotRevision,
      writer: write.writer,
      absent: write.absent,
      owner: run.owner ?? null,
      mailbox: mailbox && { version, value: encodeMailbox(mailbox, this.#codec) },
      index: indexChanges(before, checkpoint, events, mailbox, this.#codec, write.schemas),
      cells: write.cells,
    };
    const appended = await this.#append(runId, run.revision, entry, write.signal);
    this.#hints.tell(runId);
    return {
      checkpoint,
      state,
      position: appended.position,
      mailbox: mailbox === undefined
        ? before?.mailbox ?? noMailbox(run.graphVersion)
        : { version: appended.mailbox ?? null, content: mailbox },
      layout: draft.layout,
      deltas: draft.deltas,
      deltaBytes: draft.deltaBytes,
      snapshotBytes: draft.snapshotBytes,
      snapshotRevision: draft.snapshotRevision,
    };
  }

  #draft(before: Cursor<S> | undefined, write: RecordWrite<S>, state: S): Draft {
    const { checkpoint, events, next, callers } = write;
    const { revision, updatedAt: at } = checkpoint.run;
    if (before !== undefined && (before.isCompleted !== true || write.stateless === true)) {
      const patch = next?.patch;
      const record: LogRecord = patch === undefined
        ? { at, events, callers }
        : { at, events, callers, patch };
      const bytes = encodeRecord(record, this.#codec);
      const deltas = before.deltas + 1;
      const deltaBytes = before.deltaBytes + bytes.byteLength;
      const boundary = checkpoint.phase === "routed" || before.checkpoint.run.status === "interrupted";
      const worthIt = deltaBytes >= Math.max(MIN_SNAPSHOT, before.snapshotBytes);
      const due = boundary && deltas > 1 && (worthIt || deltas >= USUAL_DELTAS);
      if (write.stateless === true || (deltas < MAX_DELTAS && !due)) {
        const { layout, snapshotBytes, snapshotRevision } = before;
        return { bytes, parts: NO_PARTS, layout, deltas, deltaBytes, snapshotBytes, snapshotRevision };
      }
    }
    const shot = snapshot(state, revision, before?.layout, this.#codec);
    const record: LogRecord = { at, events, callers, snapshot: { checkpoint, table: shot.table } };
    const bytes = encodeRecord(record, this.#codec);
    return {
      bytes,
      parts: shot.parts,
      layout: shot.layout,
      deltas: 0,
      deltaBytes: 0,
      snapshotBytes: bytes.byteLength + shot.newBytes,
      snapshotRevision: revision,
    };
  }

  /** Appends, and settles doubt: the outcome of a store fault is read back, never guessed. */
  async #append(
    runId: string,
    revision: number,
    entry: AppendEntry,
    signal: AbortSignal | undefined,
  ): Promise<Appended> {
    for (let attempt = 1;; attempt++) {
      try {
        return await this.#store.append(runId, revision, entry, signal === undefined ? {} : { signal });
      } catch (error) {
        if (!isSuperstepError(error, "STORE")) throw error;
        const found = await this.#store.inspect(runId, revision, entry.writer);
        if (found.appendId === entry.appendId && found.head !== null) {
          const { position } = found.head;
          if (position.revision !== revision) {
            throw new RevisionConflictError(runId, position.revision + 1, revision + 1);
          }
          return { position, ...(found.mailbox === null ? {} : { mailbox: found.mailbox.version }) };
        }
        // Anything that moved is named by the store itself when the same append is offered again.
        if (signal?.aborted) throw new RunAbortedError(runId, revision - 1, { cause: signal.reason });
        if (attempt >= MAX_DOUBTS) throw error;
      }
    }
  }

  async #state(
    runId: string,
    epoch: string,
    table: unknown,
    deltas: readonly LogRecord[],
    options: LoadOptions,
  ): Promise<{ state: S; layout: Layout | undefined }> {
    try {
      const refs = partRefs(table);
      const bytes = refs.length === 0 ? [] : await this.#store.parts(runId, epoch, refs, options);
      const parts = new Map(refs.map((ref, i) => [partKey(ref), bytes[i]!]));
      const base = restore(table, parts, this.#codec);
      const state = deltas.reduce(
        (value, r) => (r.patch === undefined ? value : applyPatch(value, r.patch)),
        base.value as S,
      );
      return { state, layout: base.layout };
    } catch (cause) {
      if (isSuperstepError(cause, "STORE")) throw cause;
      throw new CheckpointDecodeError(runId, "State", messageOf(cause), { cause });
    }
  }
}

/** The most records that loading reads after a snapshot. */
export const MAX_DELTAS = 256;

/** After this many records the next boundary writes a snapshot, however small they are. */
const USUAL_DELTAS = 64;

/** Below this many bytes of records a new snapshot is not worth its own. */
const MIN_SNAPSHOT = 16_384;

const MAX_DOUBTS = 3;

const NO_PARTS: readonly Uint8Array[] = [];

/** The records, of which none may be missing, doubled or out of place. */
function inSequence(runId: string, records: readonly StoredRecord[]): readonly StoredRecord[] {
  for (const [i, { revision }] of records.entries()) {
    const expected = records[0]!.revision + i;
    if (revision === expected) continue;
    throw new CheckpointDecodeError(
      runId,
      "Record",
      `revision ${revision} is stored where ${expected} belongs`,
    );
  }
  return records;
}

function noMailbox(graphVersion: string): { readonly version: null; readonly content: Mailbox } {
  return { version: null, content: { graphVersion, answers: [] } };
}

type DecodedRecord = StoredRecord & LogRecord;

interface Draft {
  readonly bytes: Uint8Array;
  readonly parts: readonly Uint8Array[];
  readonly layout: Layout | undefined;
  readonly deltas: number;
  readonly deltaBytes: number;
  readonly snapshotBytes: number;
  readonly snapshotRevision: number;
}

const partKey = (ref: PartRef) => `${ref.revision}/${ref.index}`;
