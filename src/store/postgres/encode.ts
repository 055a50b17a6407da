import type { AppendEntry, CellChange, IndexChanges, MailboxWrite, PostEntry } from "../store.ts";

/** What the database is told of a write, and all its bytes behind one another in the order in which it reads them. */
export interface Encoded {
  readonly meta: Readonly<Record<string, unknown>>;
  readonly bytes: Uint8Array;
}

/** Tokens and versions are numbers that the database gave; whatever else a caller has is that of no row. */
export function numberOf(version: string | null): string | null {
  return version === null || /^\d{1,18}$/.test(version) ? version : "-1";
}

const MAX_REVISION = 2 ** 31 - 1;

export function encodeAppend(runId: string, revision: number, entry: AppendEntry): Encoded {
  const { at, mailbox, index, cells } = entry;
  const chunks: Uint8Array[] = [entry.record];
  const meta: Record<string, unknown> = {
    r: runId,
    v: revision > MAX_REVISION ? -1 : revision,
    a: entry.appendId,
    s: entry.snapshot,
    o: entry.owner,
    rl: entry.record.length,
  };
  const isPossible = revision <= MAX_REVISION &&
    (at === null ? revision === 0 : at.revision + 1 === revision);
  if (!isPossible) meta["no"] = true;
  if (at !== null) {
    meta["e"] = numberOf(at.epoch);
    meta["t"] = numberOf(at.token);
  }
  if (entry.writer !== undefined) meta["w"] = entry.writer;
  if (entry.absent !== undefined) meta["x"] = entry.absent;
  if (mailbox !== undefined) {
    meta["ml"] = mailbox.value.length;
    meta["mv"] = numberOf(mailbox.version);
    chunks.push(mailbox.value);
  }
  if (entry.parts.length > 0) meta["p"] = lengths(entry.parts, chunks);
  if (mailbox !== undefined) encodeEntries(meta, mailbox, chunks);
  if (index !== undefined) meta["i"] = encodeIndex(index, chunks);
  if (cells !== undefined) meta["c"] = encodeCells(cells, chunks);
  return { meta, bytes: joined(chunks) };
}

export function encodePost(runId: string, entry: PostEntry): Encoded {
  const { mailbox, closed, wake, cells } = entry;
  const chunks: Uint8Array[] = [mailbox.value];
  const meta: Record<string, unknown> = {
    r: runId,
    a: entry.postId,
    e: numberOf(entry.epoch),
    ml: mailbox.value.length,
    mv: numberOf(mailbox.version),
  };
  encodeEntries(meta, mailbox, chunks);
  if (closed !== undefined || wake !== undefined) {
    meta["i"] = encodeIndex(
      { ...(closed === undefined ? {} : { closed }), ...(wake === undefined ? {} : { wake }) },
      chunks,
    );
  }
  if (entry.poke !== undefined) meta["pk"] = entry.poke;
  if (cells !== undefined) meta["c"] = encodeCells(cells, chunks);
  return { meta, bytes: joined(chunks) };
}

/** Changes of cells; the bytes of what is set go behind the others. */
export function encodeCells(cells: readonly CellChange[], chunks: Uint8Array[]): unknown {
  return cells.map(({ space, name, version, value }) => {
    const cell: Record<string, unknown> = { s: space, n: name };
    if (version !== undefined) cell["v"] = numberOf(version);
    if (value === null) cell["d"] = true;
    else if (value !== undefined) {
      cell["l"] = value.length;
      chunks.push(value);
    }
    return cell;
  });
}

function encodeEntries(meta: Record<string, unknown>, mailbox: MailboxWrite, chunks: Uint8Array[]): void {
  const { posted = [], taken = [] } = mailbox;
  if (taken.length > 0) meta["mt"] = taken.map(numberOf);
  if (posted.length > 0) meta["mp"] = lengths(posted, chunks);
}

function encodeIndex(
  { catalog, opened = [], closed = [], wake, owned }: IndexChanges,
  chunks: Uint8Array[],
): unknown {
  const index: Record<string, unknown> = {};
  if (catalog !== undefined) index["c"] = catalog.to;
  if (opened.length > 0) {
    index["op"] = opened.map(({ body, ...row }) => {
      chunks.push(body);
      return { ...row, bl: body.length };
    });
  }
  if (closed.length > 0) index["cl"] = closed;
  if (wake !== undefined) index["wk"] = wake.to ?? {};
  if (owned !== undefined) index["ow"] = owned;
  return index;
}

function lengths(parts: readonly Uint8Array[], chunks: Uint8Array[]): readonly number[] {
  return parts.map((part) => {
    chunks.push(part);
    return part.length;
  });
}

/** A copy of all bytes, so that their owners may do with them what they like. */
export function joined(chunks: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(chunks.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return bytes;
}
