import { CheckpointNotFoundError, StoreError } from "../../errors.ts";
import type { Cut } from "../store.ts";
import { unpack } from "./blob.ts";
import type { Key, KeyPart, KvEntry } from "./driver.ts";
import { corrupt, frame, unframe } from "./frame.ts";
import { below, chunkKey, cutKey, partKey, recordKey } from "./keys.ts";
import { RECORD_SLOT } from "./plan.ts";
import { type Look, look, recordMeta } from "./run_state.ts";
import type { Call, Session } from "./session.ts";

/**
 * Cutting the beginning of a history off. One operation moves the cut, and from then on readers see nothing before it; what
 * lies there is deleted afterwards. Whoever trims the run next, or purges it, finishes what a process that ended has left.
 * Neither the head nor the mailbox is touched, so that the owner of the run notices nothing.
 */
export async function trim(session: Session, call: Call, runId: string, cut: Cut): Promise<void> {
  const { epoch, before } = cut;
  const kept = new Set(cut.keep.map(({ revision, index }) => `${revision}/${index}`));
  await moveCut(session, call, runId, cut);
  await dropParts(session, call, epoch, before, kept);
  await dropRecords(session, call, epoch, before, kept);
  const { head, others } = await look(session, call, runId, () => [cutKey(runId)]);
  // The run was purged meanwhile: nothing of it stays behind.
  if (head?.position.epoch !== epoch && epochOf(others[0]!) === epoch) {
    const held = { key: cutKey(runId), versionstamp: others[0]!.versionstamp };
    await session.writeWhile(call, "trim", held, [{ key: cutKey(runId), value: null }]);
  }
}

/** The first revision of a run that is kept, told from a read of its cut. */
export function firstOf(entry: KvEntry, epoch: string): number {
  if (entry.versionstamp === null) return 0;
  const [of, first] = unframe(entry.value, "the cut of a history").meta;
  if (typeof of !== "string" || typeof first !== "number") throw corrupt("the cut of a history");
  return of === epoch ? first : 0;
}

function epochOf(entry: KvEntry): unknown {
  return entry.versionstamp === null ? undefined : unframe(entry.value, "the cut of a history").meta[0];
}

async function moveCut(session: Session, call: Call, runId: string, { epoch, before }: Cut): Promise<void> {
  const read = async () =>
    judged(await look(session, call, runId, () => [cutKey(runId)]), runId, epoch, before);
  let seen = await read();
  if (seen.first >= before) return;
  await session.settle(call, "trim", {
    build: () => ({
      checks: [{ key: cutKey(runId), versionstamp: seen.versionstamp }],
      writes: [{ key: cutKey(runId), value: frame([epoch, before]) }],
    }),
    done: () => {},
    judge: async () => {
      seen = await read();
      return seen.first >= before ? { value: undefined } : undefined;
    },
  });
}

function judged(
  { head, others }: Look,
  runId: string,
  epoch: string,
  before: number,
): { readonly first: number; readonly versionstamp: string | null } {
  if (head?.position.epoch !== epoch) throw new CheckpointNotFoundError(runId);
  if (before > head.snapshot) {
    throw new StoreError(
      "trim",
      `the run is read from revision ${head.snapshot} on, records before ${before} cannot be cut off`,
      { runId },
    );
  }
  const [entry] = others;
  return { first: firstOf(entry!, epoch), versionstamp: entry!.versionstamp };
}

async function dropParts(
  session: Session,
  call: Call,
  epoch: string,
  before: number,
  kept: ReadonlySet<string>,
): Promise<void> {
  const start = partKey(epoch, 0, 0).slice(0, -2);
  for await (const entry of entriesOf(session, call, [...start, 0], [...start, before])) {
    const [revision, index] = entry.key.slice(-2) as [number, number];
    if (kept.has(`${revision}/${index}`)) continue;
    const { blob } = unpack(entry, "a part");
    const chunks = blob === undefined ? [] : await chunksOf(session, call, epoch, blob, index);
    await drop(session, call, [...chunks, partKey(epoch, revision, index)]);
  }
}

/** Drops records with the parts that were staged for them; one of which a staged part is kept stays to name its place. */
async function dropRecords(
  session: Session,
  call: Call,
  epoch: string,
  before: number,
  kept: ReadonlySet<string>,
): Promise<void> {
  let keys: Key[] = [];
  for await (const entry of entriesOf(session, call, recordKey(epoch, 0), recordKey(epoch, before))) {
    const revision = entry.key[3] as number;
    if (entry.key.length > recordKey(epoch, revision).length) {
      keys.push(entry.key as Key); // A slice of the record before.
      continue;
    }
    const packed = unpack(entry, "a record");
    const { partsBlob } = recordMeta(packed);
    let isNeeded = false;
    if (packed.blob !== undefined) {
      keys.push(...await chunksOf(session, call, epoch, packed.blob, RECORD_SLOT));
    }
    if (partsBlob !== undefined) {
      for (const key of await chunksOf(session, call, epoch, partsBlob)) {
        const slot = key.at(-2);
        // Chunks of other slots hold rows and the mailbox, which live on.
        if (typeof slot !== "number") continue;
        if (kept.has(`${revision}/${slot}`)) isNeeded = true;
        else keys.push(key);
      }
    }
    if (!isNeeded) keys.push(recordKey(epoch, revision));
    if (keys.length < DROPPED_AT_ONCE) continue;
    await drop(session, call, keys);
    keys = [];
  }
  await drop(session, call, keys);
}

/** The keys of the chunks of a blob, or of one slot of it. */
async function chunksOf(
  session: Session,
  call: Call,
  epoch: string,
  blob: string,
  slot?: KeyPart,
): Promise<Key[]> {
  const prefix = slot === undefined
    ? chunkKey(epoch, blob, 0, 0).slice(0, -2)
    : chunkKey(epoch, blob, slot, 0).slice(0, -1);
  const { start, end } = below(prefix);
  const keys: Key[] = [];
  for await (const { key } of entriesOf(session, call, start, end)) keys.push(key as Key);
  return keys;
}

const READ_AT_ONCE = 100;
const DROPPED_AT_ONCE = 100;

/** Every entry of a range, read some at a time. */
async function* entriesOf(session: Session, call: Call, start: Key, end: Key): AsyncIterable<KvEntry> {
  for (let from = start;;) {
    const entries = await session.list(call, { start: from, end }, READ_AT_ONCE);
    yield* entries;
    if (entries.length < READ_AT_ONCE) return;
    from = [...entries.at(-1)!.key as Key, 0];
  }
}

async function drop(session: Session, call: Call, keys: readonly Key[]): Promise<void> {
  for (let i = 0; i < keys.length; i += DROPPED_AT_ONCE) {
    const writes = keys.slice(i, i + DROPPED_AT_ONCE).map((key) => ({ key, value: null }));
    await session.write(call, "trim", writes);
  }
}
