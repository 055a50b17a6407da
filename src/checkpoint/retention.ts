import { CheckpointDecodeError, CheckpointNotFoundError, messageOf } from "../errors.ts";
import type { PartRef, Store } from "../store/store.ts";
import { type Codec, defaultCodec } from "./codec.ts";
import { MAX_DELTAS } from "./next_record.ts";
import { partRefs } from "./parts.ts";
import { decodeRecord, type StoredSnapshot } from "./wire.ts";

/**
 * Cuts the beginning of a history off, at the newest snapshot that leaves at least `lastN` records; answers the first
 * revision that is kept.
 *
 * The parts that this snapshot refers to are kept. Every later snapshot shares parts with the one before it and has the rest
 * of its own, so that nothing else from before the cut is ever asked for: not by those that stand, and not by those that an
 * owner at work is about to write.
 */
export async function retainLast(
  store: Store,
  runId: string,
  lastN: number,
  codec: Codec = defaultCodec,
): Promise<number> {
  const { head } = await store.inspect(runId, 0, undefined);
  if (head === null) throw new CheckpointNotFoundError(runId);
  const { revision, epoch } = head.position;
  const latest = Math.max(0, revision - lastN + 1);
  const from = Math.max(0, latest - MAX_DELTAS - 1);
  const records = await store.range(runId, from, latest - from + 1);
  const first = records[0]?.revision;
  if (first === undefined) throw new CheckpointNotFoundError(runId);
  for (const record of records.toReversed()) {
    if (record.revision > latest) continue;
    const { snapshot } = decodeRecord(record.bytes, record.revision, runId, codec);
    if (snapshot === undefined) continue;
    const before = record.revision;
    const keep = referredTo(snapshot, runId).filter((ref) => ref.revision < before);
    await store.trim(runId, { epoch, before, keep });
    return before;
  }
  return first;
}

function referredTo({ table, ledger }: StoredSnapshot, runId: string): readonly PartRef[] {
  try {
    return [...partRefs(table), ...(ledger === undefined ? [] : partRefs(ledger))];
  } catch (cause) {
    throw new CheckpointDecodeError(runId, "State", messageOf(cause), { cause });
  }
}
