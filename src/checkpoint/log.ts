import {
  CheckpointNotFoundError,
  isSuperstepError,
  RevisionConflictError,
  RunAbortedError,
  UNREADABLE,
} from "../errors.ts";
import type { Checkpoint } from "../model/checkpoint.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { Appended, AppendEntry, Position, Store } from "../store/store.ts";
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
import { firstCheckpoint } from "./beginning.ts";
import { evolve } from "./evolve.ts";
import { type AppendHints, appendHints } from "./hints.ts";
import { indexChanges } from "./index_rows.ts";
import { decodeMailbox, encodeMailbox, encodePost, mailboxAfter, noMailbox, takenFrom } from "./mailbox.ts";
import { MAX_DELTAS, nextRecord } from "./next_record.ts";
import type { EventOf, RecordEvent } from "./records.ts";
import { type DecodedRecord, decodedRecords, Restorer } from "./restored.ts";
import { viewOf } from "./wire.ts";

export type { Cursor, RecordWrite } from "./cursor.ts";
export { MAX_DELTAS } from "./next_record.ts";

/**
 * The history of runs in a store: an append-only log of records, each a compare-and-append.
 *
 * 1. A record holds the events since the last one and what they changed in the state; nothing is stored twice.
 * 2. A snapshot record holds the whole run, its state as a table of parts; loading reads the newest one and at most
 *    {@link MAX_DELTAS} records after it, however long the run.
 * 3. A record that opens or closes nothing and moves no ownership never touches the mailbox; every other one checks it.
 * 4. An append whose outcome is in doubt is judged by reading, and repeated under its own id only when nothing moved.
 * 5. A reader that meets a purge or a cut between two reads reads again: it answers what is there now, or that nothing is.
 */
export class CheckpointLog<S> {
  readonly #store: Store;
  readonly #runtime: Runtime;
  readonly #codec: Codec;
  readonly #writer: string;
  readonly #hints: AppendHints;
  readonly #restorer: Restorer<S>;
  #written = 0;

  constructor(store: Store, runtime: Runtime, codec: Codec = defaultCodec) {
    this.#store = store;
    this.#runtime = runtime;
    this.#codec = codec;
    this.#hints = appendHints(store);
    this.#restorer = new Restorer(store, codec);
    // Twelve digits of chance tell the writers of one revision apart, and every record holds them.
    this.#writer = runtime.uuid().slice(-12);
  }

  /** The run as of its newest record, or `undefined` for an unknown one. */
  load(runId: string, options: LoadOptions = {}): Promise<Cursor<S> | undefined> {
    return readAgain(() => this.#load(runId, options));
  }

  async #load(runId: string, options: LoadOptions): Promise<Cursor<S> | undefined> {
    const tail = await this.#store.tail(runId, options);
    if (tail === undefined) return undefined;
    return await this.#restorer.run(runId, tail, decodedRecords(runId, tail.records, this.#codec), options);
  }

  /**
   * The run as it was at a revision, or `undefined` for an unknown one; nothing can be appended after it.
   *
   * @throws {CheckpointNotFoundError} the run has no such revision, or none any more
   */
  at(runId: string, revision: number, options: LoadOptions = {}): Promise<Cursor<S> | undefined> {
    return readAgain(() => this.#at(runId, revision, options));
  }

  async #at(runId: string, revision: number, options: LoadOptions): Promise<Cursor<S> | undefined> {
    const { head, mailbox } = await this.#store.inspect(runId, revision, undefined, options);
    if (head === null) return undefined;
    if (revision > head.position.revision) throw new CheckpointNotFoundError(runId, revision);
    const records = await this.#upTo(runId, revision, options);
    // What the mailbox holds now came after every revision but the newest.
    const newest = revision === head.position.revision;
    const tail = { position: { ...head.position, revision }, mailbox: newest ? mailbox : null };
    return await this.#restorer.run(runId, tail, records, options);
  }

  /** The snapshot that a revision needs, and the records from there to it. */
  async #upTo(runId: string, revision: number, options: LoadOptions): Promise<readonly DecodedRecord[]> {
    const found = await this.#store.range(runId, revision, 1, options);
    const [last] = decodedRecords(runId, found, this.#codec);
    if (last?.revision !== revision) throw new CheckpointNotFoundError(runId, revision, last?.revision);
    if (last.snapshot !== undefined) return [last];
    // Records of earlier code do not say where their snapshot is.
    const from = viewOf(last, revision)?.snapshot ?? Math.max(0, revision - MAX_DELTAS - 1);
    const earlier = await this.#store.range(runId, from, revision - from, options);
    const before = decodedRecords(runId, earlier, this.#codec);
    const first = before[0]?.revision;
    if (first === undefined || first >= revision) throw new CheckpointNotFoundError(runId, revision, first);
    return [...before.slice(Math.max(0, before.findLastIndex((r) => r.snapshot !== undefined))), last];
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
    const content = decodeMailbox(found.mailbox, this.#codec, runId);
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

  /** Changes the mailbox without moving the head, and returns what it is then; `MailboxConflictError` when it is not the one found any more. */
  async post(
    runId: string,
    epoch: string,
    found: FoundMailbox,
    change: MailboxChange,
  ): Promise<FoundMailbox> {
    const { version } = found;
    const current = decodeMailbox({ value: found.value }, this.#codec, runId);
    const { mailbox, posted: entries = [], closed, graphId, cells } = await change(current);
    const row = { runId, graphId, graphVersion: current.graphVersion };
    const value = encodeMailbox(mailbox, this.#codec);
    const posted = await this.#store.post(runId, {
      postId: this.#nextId(),
      epoch,
      mailbox: { version, value, posted: entries.map((entry) => encodePost(entry, this.#codec)) },
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
    return { version: posted.mailbox, value };
  }

  /** At most `limit` decoded records from revision `from` on. */
  async history(
    runId: string,
    from: number,
    limit: number,
    signal?: AbortSignal,
  ): Promise<readonly HistoryRecord[]> {
    const records = await this.#store.range(runId, from, limit, signal === undefined ? {} : { signal });
    return decodedRecords(runId, records, this.#codec).map(({ bytes, ...r }) => ({
      ...r,
      bytes: bytes.byteLength,
    }));
  }

  /** Where the head of a run is, or `undefined` for an unknown one. */
  async head(runId: string): Promise<Position | undefined> {
    return (await this.#store.inspect(runId, 0, undefined)).head?.position;
  }

  #nextId(): string {
    return `${this.#writer}:${this.#written++}`;
  }

  async #write(runId: string, before: Cursor<S> | undefined, write: RecordWrite<S>): Promise<Cursor<S>> {
    const { checkpoint, events, next } = write;
    const { run } = checkpoint;
    const state = next === undefined ? before!.state : next.state;
    const { bytes, parts, written } = nextRecord(before, write, state, this.#codec);
    const mailbox = mailboxAfter(before, checkpoint, write);
    const version = before?.mailbox.version ?? null;
    const entry: AppendEntry = {
      appendId: this.#nextId(),
      at: before?.position ?? null,
      record: bytes,
      parts,
      snapshot: written.places.snapshot,
      writer: write.writer,
      absent: write.absent,
      owner: run.owner ?? null,
      mailbox: mailbox && {
        version,
        value: encodeMailbox(mailbox, this.#codec),
        taken: takenFrom(before?.mailbox.content, mailbox),
      },
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
      written,
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
}

const MAX_DOUBTS = 3;
const MAX_READS = 4;

/** Reads again when the parts of what was read are gone; what is damaged fails each time. */
async function readAgain<T>(read: () => Promise<T>): Promise<T> {
  for (let reads = 1;; reads++) {
    try {
      return await read();
    } catch (error) {
      const isTorn = isSuperstepError(error, ...UNREADABLE) ||
        (isSuperstepError(error, "CHECKPOINT_NOT_FOUND") && error.fields["revision"] === undefined) ||
        (isSuperstepError(error, "STORE") && error.fields["op"] === "parts");
      if (!isTorn || reads >= MAX_READS) throw error;
    }
  }
}
