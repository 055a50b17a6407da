import { bodyOf, type Packer, unpack } from "./blob.ts";
import type { Key, KvEntry } from "./driver.ts";
import { corrupt, unframe } from "./frame.ts";
import { below, chunkKey, restKey, restRoot } from "./keys.ts";
import { slices, type Write } from "./op.ts";
import { type Call, type Session, TornRead } from "./session.ts";

/**
 * A step that opens a thousand waits has more rows than one operation takes. The operation then holds the rows as one
 * payload, the rest, and they are put in place right after it, by its writer or, after a crash, by whoever reads the
 * run or the inbox next. So nobody ever sees the head without the rows. Replaying is idempotent, every slice demands
 * that the rest is still there, and a run is not written to before its rest is in place.
 */
const SLOT = "t";
const MAX_HEALED = 100;

/** The write that keeps rows for later. */
export function packRest(packer: Packer, runId: string, epoch: string, writes: readonly Write[]): Write {
  const lengths = writes.map(({ key, value }) => [key, value === null ? -1 : value.length]);
  const bytes = new Uint8Array(writes.reduce((sum, { value }) => sum + (value?.length ?? 0), 0));
  let at = 0;
  for (const { value } of writes) {
    if (value === null) continue;
    bytes.set(value, at);
    at += value.length;
  }
  const list = new TextEncoder().encode(JSON.stringify(lengths));
  const payload = new Uint8Array(4 + list.length + bytes.length);
  new DataView(payload.buffer).setUint32(0, list.length);
  payload.set(list, 4);
  payload.set(bytes, 4 + list.length);
  return packer.pack(restKey(runId), SLOT, [epoch, runId], payload);
}

/** Puts the rows of a rest in place; someone else may be doing the same. */
export async function applyRest(session: Session, call: Call, entry: KvEntry): Promise<void> {
  const packed = unpack(entry, "the rest of an append");
  const [epoch, runId] = packed.meta;
  if (typeof epoch !== "string" || typeof runId !== "string") throw corrupt("the rest of an append");
  const key = restKey(runId);
  let payload: Uint8Array;
  try {
    payload = await bodyOf(session, call, packed, epoch, SLOT);
  } catch (error) {
    if (!(error instanceof TornRead)) throw error;
    if ((await session.get(call, key)).versionstamp !== entry.versionstamp) return;
    throw corrupt("the rest of an append", error);
  }
  const held = { key, versionstamp: entry.versionstamp };
  const remove = [key, ...await chunkKeys(session, call, packed.blob, epoch)].map((key) => ({
    key,
    value: null,
  }));
  for (const writes of [...slices(rowsOf(payload)), remove]) {
    if (!await session.writeWhile(call, "rest", held, writes)) return;
  }
}

/** Puts every rest of the store in place. */
export async function applyAllRests(session: Session, call: Call): Promise<void> {
  for (const entry of await session.list(call, below(restRoot), MAX_HEALED)) {
    await applyRest(session, call, entry);
  }
}

async function chunkKeys(
  session: Session,
  call: Call,
  blob: string | undefined,
  epoch: string,
): Promise<Key[]> {
  if (blob === undefined) return [];
  const [first] = await session.list(call, below(chunkKey(epoch, blob, SLOT, 0).slice(0, -1)), 1);
  const count = first === undefined ? 0 : Number(unframe(first.value, "a chunk").meta[0]);
  return Array.from({ length: count }, (_, i) => chunkKey(epoch, blob, SLOT, i));
}

function rowsOf(payload: Uint8Array): Write[] {
  if (payload.length < 4) throw corrupt("the rest of an append");
  const length = new DataView(payload.buffer, payload.byteOffset).getUint32(0);
  let at = 4 + length;
  const list = JSON.parse(new TextDecoder().decode(payload.subarray(4, at))) as [Key, number][];
  return list.map(([key, size]) => {
    if (size < 0) return { key, value: null };
    at += size;
    return { key, value: payload.subarray(at - size, at) };
  });
}
