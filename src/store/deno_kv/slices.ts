import { type Packed, unpack } from "./blob.ts";
import type { Key, KvEntry } from "./driver.ts";
import { corrupt, frame, unframe } from "./frame.ts";
import type { Write } from "./op.ts";
import { TornRead } from "./session.ts";

/**
 * SQLite keeps a row of up to about a quarter of a page where it is; what is longer takes a page for its rest alone, of which
 * a record of one or two kilobytes leaves most empty. So such a record is cut into slices that stay in place: three times as
 * many records fit into a file, and a commit writes fewer pages. Longer ones fill their pages and are stored whole.
 */
const SLICE = 860;
const MAX_SLICES = 3;

/** The writes of a record in slices; `undefined` for one that is better stored whole. */
export function slicedWrites(key: Key, meta: readonly unknown[], record: Uint8Array): Write[] | undefined {
  const count = Math.ceil(record.length / SLICE);
  if (count < 2 || count > MAX_SLICES) return undefined;
  const length = Math.ceil(record.length / count);
  return Array.from({ length: count }, (_, i) => {
    const body = record.subarray(i * length, (i + 1) * length);
    return i === 0
      ? { key, value: frame([0, ...meta, count], body) }
      : { key: [...key, i], value: frame([], body) };
  });
}

/** A record with the slices that follow it. */
export interface SlicedRecord {
  readonly key: Key;
  readonly packed: Packed;
}

/** The records of a range, each put together from its slices. */
export function joinedRecords(entries: readonly KvEntry[], keyLength: number): SlicedRecord[] {
  const records: SlicedRecord[] = [];
  for (let i = 0; i < entries.length;) {
    const entry = entries[i++]!;
    const key = entry.key as Key;
    if (key.length !== keyLength) throw new TornRead("a slice stands where a record belongs");
    const packed = unpack(entry, "a record");
    const count = packed.meta[2] ?? 1;
    if (typeof count !== "number" || count > MAX_SLICES) throw corrupt("a record");
    if (count === 1) {
      records.push({ key, packed });
      continue;
    }
    const bodies = [packed.body];
    for (let n = 1; n < count; n++) {
      const next = entries[i++];
      if (next?.key.length !== keyLength + 1 || next.key.at(-1) !== n || next.key.at(-2) !== key.at(-1)) {
        throw new TornRead(`slice ${n} of record ${key.at(-1)} is missing`);
      }
      bodies.push(unframe(next.value, "a slice of a record").body);
    }
    records.push({ key, packed: { ...packed, body: joined(bodies) } });
  }
  return records;
}

function joined(bodies: readonly Uint8Array[]): Uint8Array {
  const body = new Uint8Array(bodies.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of bodies) {
    body.set(part, at);
    at += part.length;
  }
  return body;
}

/** How many entries so many records take at most. */
export function entriesOf(records: number): number {
  return records * MAX_SLICES;
}
