import { CheckpointDecodeError, GraphRunMismatchError, isSuperstepError, messageOf } from "../errors.ts";
import type { Checkpoint } from "../model/checkpoint.ts";
import type { PartRef, Store, StoredRecord, Tail } from "../store/store.ts";
import type { Codec } from "./codec.ts";
import type { Cursor, LoadOptions, Written } from "./cursor.ts";
import { applyPatch } from "./delta.ts";
import { evolve } from "./evolve.ts";
import type { Ledger } from "./ledger.ts";
import { decodeMailbox, noMailbox } from "./mailbox.ts";
import { type Layout, partRefs, restore } from "./parts.ts";
import { placesAfter } from "./view.ts";
import { decodeRecord, type LogRecord, type StoredSnapshot, withGrowing } from "./wire.ts";

/** A record with its place. */
export type DecodedRecord = StoredRecord & LogRecord;

/** The records decoded, of which none may be missing, doubled or out of place. */
export function decodedRecords(
  runId: string,
  records: readonly StoredRecord[],
  codec: Codec,
): readonly DecodedRecord[] {
  return records.map((record, i) => {
    const expected = records[0]!.revision + i;
    if (record.revision === expected) {
      return { ...record, ...decodeRecord(record.bytes, expected, runId, codec) };
    }
    throw new CheckpointDecodeError(
      runId,
      "Record",
      `revision ${record.revision} is stored where ${expected} belongs`,
    );
  });
}

/** Makes runs of what the store holds of them. */
export class Restorer<S> {
  readonly #store: Store;
  readonly #codec: Codec;

  constructor(store: Store, codec: Codec) {
    this.#store = store;
    this.#codec = codec;
  }

  /** The run that a snapshot and the records after it come to. */
  async run(
    runId: string,
    tail: Pick<Tail, "position" | "mailbox">,
    [base, ...deltas]: readonly DecodedRecord[],
    options: LoadOptions,
  ): Promise<Cursor<S>> {
    if (base?.snapshot === undefined) {
      throw new CheckpointDecodeError(runId, "Record", "its history does not begin with a snapshot");
    }
    const { epoch, revision } = tail.position;
    const evolved = (from: Checkpoint) =>
      deltas.reduce((c, r) => evolve(c, r.events, r.revision, r.at), from);
    // Executions are not needed to tell which run it is.
    const known = evolved(base.snapshot.checkpoint);
    const { run } = known;
    if (run.revision !== revision) {
      throw new CheckpointDecodeError(runId, "Record", `revision ${run.revision + 1} is missing`);
    }
    if (run.runId !== runId) throw new GraphRunMismatchError(runId, run.runId);
    await options.verify?.(run);
    const { start, ledger } = await this.#start(runId, epoch, base.snapshot, options);
    const mailbox = tail.mailbox === null
      ? noMailbox(run.graphVersion)
      : { version: tail.mailbox.version, content: decodeMailbox(tail.mailbox, this.#codec, runId) };
    const written: Written = {
      layout: undefined,
      ledger,
      deltas: deltas.length,
      deltaBytes: deltas.reduce((sum, r) => sum + r.bytes.byteLength, 0),
      snapshotBytes: base.bytes.byteLength,
      places: deltas.reduce(
        (places, r) => placesAfter(places, r.events, r.revision),
        placesAfter(undefined, [], base.revision),
      ),
    };
    const cursor = {
      checkpoint: start === base.snapshot.checkpoint ? known : evolved(start),
      position: tail.position,
      mailbox,
      state: undefined as S,
      written,
    };
    if (options.state === false) return cursor;
    const { value, layout } = await this.#parts(runId, epoch, "State", base.snapshot.table, options);
    const state = decoding(
      runId,
      "State",
      () => deltas.reduce((s, r) => r.patch === undefined ? s : applyPatch(s, r.patch), value as S),
    );
    return { ...cursor, state, written: { ...written, layout } };
  }

  /** The checkpoint of a snapshot, with what it holds in parts. */
  async #start(
    runId: string,
    epoch: string,
    { checkpoint, ledger: table }: StoredSnapshot,
    options: LoadOptions,
  ): Promise<{ readonly start: Checkpoint; readonly ledger: Ledger | undefined }> {
    if (table === undefined) return { start: checkpoint, ledger: undefined };
    const { value, layout } = await this.#parts(runId, epoch, "Executions", table, options);
    const start = decoding(runId, "Executions", () => withGrowing(checkpoint, value));
    return { start, ledger: { layout, executions: start.executions } };
  }

  /** What a table and its parts stand for. */
  async #parts(
    runId: string,
    epoch: string,
    field: string,
    table: unknown,
    options: LoadOptions,
  ): Promise<{ readonly value: unknown; readonly layout: Layout }> {
    const refs = decoding(runId, field, () => partRefs(table));
    try {
      const bytes = refs.length === 0 ? [] : await this.#store.parts(runId, epoch, refs, options);
      const parts = new Map(refs.map((ref, i) => [partKey(ref), bytes[i]!]));
      return restore(table, parts, this.#codec);
    } catch (cause) {
      if (isSuperstepError(cause, "STORE", "CHECKPOINT_NOT_FOUND")) throw cause;
      throw new CheckpointDecodeError(runId, field, messageOf(cause), { cause });
    }
  }
}

const partKey = (ref: PartRef) => `${ref.revision}/${ref.index}`;

function decoding<T>(runId: string, field: string, decode: () => T): T {
  try {
    return decode();
  } catch (cause) {
    throw new CheckpointDecodeError(runId, field, messageOf(cause), { cause });
  }
}
