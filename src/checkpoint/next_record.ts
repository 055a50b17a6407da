import type { Codec } from "./codec.ts";
import type { Cursor, RecordWrite, Written } from "./cursor.ts";
import { growing } from "./ledger.ts";
import { snapshot } from "./parts.ts";
import { packView, placesAfter } from "./view.ts";
import { encodeRecord, type LogRecord } from "./wire.ts";

/** The most records that loading reads after a snapshot. */
export const MAX_DELTAS = 256;

/** After this many records the next boundary writes a snapshot that costs less than they did. */
const USUAL_DELTAS = 64;

/** Below this many bytes of records a new snapshot is not worth its own. */
const MIN_SNAPSHOT = 16_384;

const NO_PARTS: readonly Uint8Array[] = [];

/** A record ready to be appended, and what the next one has to know of it. */
interface NextRecord {
  readonly bytes: Uint8Array;
  readonly parts: readonly Uint8Array[];
  readonly written: Written;
}

/** The record of a write: what happened, or a snapshot where that saves more than it costs. */
export function nextRecord<S>(
  before: Cursor<S> | undefined,
  write: RecordWrite<S>,
  state: S,
  codec: Codec,
): NextRecord {
  const { checkpoint, events, next, callers } = write;
  const { revision, updatedAt: at } = checkpoint.run;
  const was = before?.written;
  if (
    before !== undefined && was !== undefined && (before.isCompleted !== true || write.stateless === true)
  ) {
    const places = placesAfter(was.places, events, revision);
    const view = packView(places, checkpoint.run, checkpoint.phase);
    const patch = next?.patch;
    const record: LogRecord = { at, events, callers, view, ...(patch === undefined ? {} : { patch }) };
    const bytes = encodeRecord(record, codec);
    const deltas = was.deltas + 1;
    const deltaBytes = was.deltaBytes + bytes.byteLength;
    const boundary = checkpoint.phase === "routed" || before.checkpoint.run.status === "interrupted";
    const worth = deltas < USUAL_DELTAS ? Math.max(MIN_SNAPSHOT, was.snapshotBytes) : was.snapshotBytes;
    const due = boundary && deltas > 1 && deltaBytes >= worth;
    if (write.stateless === true || (deltas < MAX_DELTAS && !due)) {
      return { bytes, parts: NO_PARTS, written: { ...was, deltas, deltaBytes, places } };
    }
  }
  const parts: Uint8Array[] = [];
  const { executions } = checkpoint;
  const shot = snapshot(state, revision, was?.layout, codec, parts);
  const grown = snapshot(growing(checkpoint, was?.ledger), revision, was?.ledger?.layout, codec, parts);
  const { type } = grown.layout.root;
  const inline = type === "inline" && grown.layout.patches.length === 0;
  const bytes = encodeRecord({
    at,
    events,
    callers,
    snapshot: { checkpoint, table: shot.table, ...(inline ? {} : { ledger: grown.table }) },
  }, codec);
  return {
    bytes,
    parts,
    written: {
      layout: shot.layout,
      ledger: { layout: grown.layout, executions },
      deltas: 0,
      deltaBytes: 0,
      snapshotBytes: bytes.byteLength + shot.newBytes + grown.newBytes,
      places: placesAfter(undefined, events, revision),
    },
  };
}
