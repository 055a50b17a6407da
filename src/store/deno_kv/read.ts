import { CheckpointNotFoundError, StoreError } from "../../errors.ts";
import type { Inspection, PartRef, StoredRecord, Tail, WaitLookup, WaitRow } from "../store.ts";
import { bodyOf, readChunks, unpack } from "./blob.ts";
import type { KvEntry } from "./driver.ts";
import { corrupt, unframe } from "./frame.ts";
import { chunkKey, cutKey, ownerKey, partKey, recordKey, waitKey } from "./keys.ts";
import { RECORD_SLOT } from "./plan.ts";
import { storedWait } from "./rows.ts";
import type { Mailboxes } from "./mailboxes.ts";
import { appendIdAt, type Head, look, recordMeta } from "./run_state.ts";
import { type Call, type Session, TornRead } from "./session.ts";
import { entriesOf, joinedRecords, type SlicedRecord } from "./slices.ts";
import { firstOf } from "./trim.ts";

/** What the read paths share. */
export interface Readers {
  readonly session: Session;
  readonly mailboxes: Mailboxes;
}

/** Two reads, however long the run is: head and mailbox, then the records since the snapshot and what was posted. */
export async function tail(
  { session, mailboxes }: Readers,
  call: Call,
  runId: string,
): Promise<Tail | undefined> {
  return await session.whole(call, async () => {
    const { head, mailbox } = await look(session, call, runId);
    if (head === undefined) return undefined;
    const { position, owner, snapshot } = head;
    const [read, records] = await Promise.all([
      mailboxes.whole(call, runId, mailbox),
      readRecords(session, call, head, snapshot, position.revision + 1),
    ]);
    return { position, owner, mailbox: read, records };
  });
}

export async function range(
  { session }: Readers,
  call: Call,
  runId: string,
  from: number,
  limit: number,
): Promise<readonly StoredRecord[]> {
  return await session.whole(call, async () => {
    const { head, others } = await look(session, call, runId, () => [cutKey(runId)]);
    if (head === undefined) return [];
    const start = Math.max(0, from, firstOf(others[0]!, head.position.epoch));
    return await readRecords(session, call, head, start, Math.min(start + limit, head.position.revision + 1));
  });
}

/** The records `from` ≤ revision < `to`, which the head says are all there. */
async function readRecords(
  session: Session,
  call: Call,
  head: Head,
  from: number,
  to: number,
): Promise<readonly StoredRecord[]> {
  const { epoch } = head.position;
  const keys = { start: recordKey(epoch, from), end: recordKey(epoch, to) };
  const entries = await session.list(call, keys, entriesOf(to - from));
  const records = joinedRecords(entries, keys.start.length);
  return await Promise.all(
    expectRun(records, from, to).map(async ({ packed }, i) => {
      const { appendId } = recordMeta(packed);
      const bytes = packed.blob === undefined
        ? packed.body
        : await bodyOf(session, call, packed, epoch, RECORD_SLOT);
      return { revision: from + i, appendId, bytes };
    }),
  );
}

function expectRun(records: readonly SlicedRecord[], from: number, to: number): readonly SlicedRecord[] {
  const first = records.findIndex(({ key }, i) => key.at(-1) !== from + i);
  if (first >= 0 || records.length < to - from) {
    throw new TornRead(`record ${from + (first < 0 ? records.length : first)} of the run is missing`);
  }
  return records;
}

export async function parts(
  { session }: Readers,
  call: Call,
  runId: string,
  epoch: string,
  refs: readonly PartRef[],
): Promise<readonly Uint8Array[]> {
  if (refs.length === 0) return [];
  const keys = refs.map(({ revision, index }) => partKey(epoch, revision, index));
  try {
    const entries = await session.getMany(call, keys);
    const staged = await stagedParts(
      session,
      call,
      epoch,
      refs.filter((_, i) => entries[i]!.versionstamp === null),
    );
    return await Promise.all(entries.map((entry, i) => {
      if (entry.versionstamp === null) return staged.get(nameOf(refs[i]!))!;
      return bodyOf(session, call, unpack(entry, "a part"), epoch, refs[i]!.index);
    }));
  } catch (error) {
    if (!(error instanceof TornRead)) throw error;
    const { head } = await look(session, call, runId);
    // Parts are never edited: what is missing was purged, or was never there.
    if (head?.position.epoch !== epoch) throw new CheckpointNotFoundError(runId);
    throw new StoreError("parts", error.message, { runId, cause: error });
  }
}

function nameOf(ref: PartRef): string {
  return `${ref.revision}/${ref.index}`;
}

/** Parts of records that were staged: their record names the blob, and most take one chunk. */
async function stagedParts(
  session: Session,
  call: Call,
  epoch: string,
  refs: readonly PartRef[],
): Promise<Map<string, Uint8Array>> {
  const found = new Map<string, Uint8Array>();
  if (refs.length === 0) return found;
  const revisions = [...new Set(refs.map(({ revision }) => revision))];
  const records = await session.getMany(call, revisions.map((revision) => recordKey(epoch, revision)));
  const blobs = new Map(records.map((entry, i) => {
    const blob = entry.versionstamp === null ? undefined : recordMeta(unpack(entry, "a record")).partsBlob;
    if (blob === undefined) throw new TornRead(`revision ${revisions[i]} does not have the parts asked for`);
    return [revisions[i]!, blob];
  }));
  const firsts = await session.getMany(
    call,
    refs.map(({ revision, index }) => chunkKey(epoch, blobs.get(revision)!, index, 0)),
  );
  await Promise.all(firsts.map(async (entry, i) => {
    const ref = refs[i]!;
    if (entry.versionstamp === null) throw new TornRead(`revision ${ref.revision} has no part ${ref.index}`);
    const { meta, body } = unframe(entry.value, "a chunk");
    const blob = blobs.get(ref.revision)!;
    found.set(nameOf(ref), meta[0] === 1 ? body : await readChunks(session, call, epoch, blob, ref.index));
  }));
  return found;
}

export async function inspect(
  { session, mailboxes }: Readers,
  call: Call,
  runId: string,
  revision: number,
  writer: string | undefined,
): Promise<Inspection> {
  return await session.whole(call, async () => {
    const { head, mailbox, others } = await look(
      session,
      call,
      runId,
      () => writer === undefined ? [] : [ownerKey(writer)],
    );
    const [read, written] = await Promise.all([
      mailboxes.whole(call, runId, mailbox),
      appendIdAt(session, call, head, revision),
    ]);
    return {
      head: placeOf(head),
      appendId: written?.appendId ?? null,
      mailbox: read,
      writer: writer === undefined || others[0]!.versionstamp !== null,
    };
  });
}

export async function wait(
  { session, mailboxes }: Readers,
  call: Call,
  runId: string,
  waitId: string,
): Promise<WaitLookup> {
  return await session.whole(call, async () => {
    const { head, mailbox, others } = await look(
      session,
      call,
      runId,
      (isOld) => [waitKey(runId, waitId, isOld)],
    );
    const read = await mailboxes.state(call, runId, mailbox);
    const found = { head: placeOf(head), mailbox: read, open: null, closed: null };
    const entry = others[0]!;
    if (head === undefined || entry.versionstamp === null) return found;
    const stored = storedWait(unpack(entry, "the row of a wait"));
    if (stored.epoch !== head.position.epoch) return found;
    return stored.state === "closed"
      ? { ...found, closed: stored.row }
      : { ...found, open: await openWait(session, call, entry) ?? null };
  });
}

/** The row of an open wait with its body; `undefined` when the wait is not open. */
export async function openWait(session: Session, call: Call, entry: KvEntry): Promise<WaitRow | undefined> {
  if (entry.versionstamp === null) return undefined;
  const packed = unpack(entry, "the row of a wait");
  const stored = storedWait(packed);
  if (stored.state !== "open") return undefined;
  if (typeof stored.row.waitId !== "string") throw corrupt("the row of a wait");
  return { ...stored.row, body: await bodyOf(session, call, packed, stored.epoch, `w${stored.row.waitId}`) };
}

function placeOf(head: Head | undefined): Inspection["head"] {
  return head === undefined ? null : { position: head.position, owner: head.owner };
}
