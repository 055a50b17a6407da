import type { ClosedWait, IndexChanges, MailboxWrite, WaitRow } from "../store.ts";
import type { Packed, Packer } from "./blob.ts";
import type { Key } from "./driver.ts";
import { isEarlier } from "./epoch.ts";
import { corrupt, frame } from "./frame.ts";
import { inboxKeys, ownedIndex, waitKey, wakeKey, wakeOfKey } from "./keys.ts";
import { placeOf } from "./mailboxes.ts";
import { drop, type Write } from "./op.ts";

/**
 * Index rows. A row is kept once, under its own key; the keys of the indices hold no more than what filters them.
 */
const MARK = frame([]);

export function mark(key: Key): Write {
  return { key, value: MARK };
}

/** The writes that move a run from one owner to another. */
export function ownedWrites(
  runId: string,
  epoch: string,
  { from, to }: NonNullable<IndexChanges["owned"]>,
): Write[] {
  if (from === to) return [];
  const keyOf = (ownerId: string) => [...ownedIndex(ownerId, isEarlier(epoch)), runId];
  const writes = from === undefined ? [] : [drop(keyOf(from))];
  return to === undefined ? writes : [...writes, mark(keyOf(to))];
}

/** The writes that open and close waits. */
export function waitWrites(
  packer: Packer,
  epoch: string,
  opened: readonly WaitRow[],
  closed: readonly ClosedWait[],
): Write[] {
  const isOld = isEarlier(epoch);
  const writes: Write[] = [];
  for (const row of opened) {
    const { body, ...rest } = row;
    writes.push(
      packer.pack(waitKey(row.runId, row.waitId, isOld), `w${row.waitId}`, ["open", epoch, rest], body),
    );
    for (const key of inboxKeys(row, isOld)) {
      writes.push({ key, value: frame([row.graphId, row.name]) });
    }
  }
  for (const wait of closed) {
    writes.push({ key: waitKey(wait.runId, wait.waitId, isOld), value: frame([0, "closed", epoch, wait]) });
    for (const key of inboxKeys(wait, isOld)) writes.push(drop(key));
  }
  return writes;
}

/**
 * The writes that move the wake of a run. The mailbox says when it is, so that a purge finds the row; where no mailbox is
 * written, and until it is in a file of the first layout, a row of the run says it.
 */
export function wakeWrites(
  runId: string,
  epoch: string,
  { from, to }: NonNullable<IndexChanges["wake"]>,
  mailbox: MailboxWrite | undefined,
): Write[] {
  const writes: Write[] = [];
  if (from !== undefined && from.due !== to?.due) writes.push(drop(wakeKey(from, isEarlier(epoch))));
  if (to !== undefined) writes.push({ key: wakeKey(to, isEarlier(epoch)), value: frame([to]) });
  if (mailbox === undefined) {
    writes.push(to === undefined ? drop(wakeOfKey(runId)) : { key: wakeOfKey(runId), value: frame([to]) });
  } else if (mailbox.version !== null && placeOf(mailbox.version)?.due === undefined) {
    writes.push(drop(wakeOfKey(runId)));
  }
  return writes;
}

/** What the row of a wait says. */
export type StoredWait =
  | { readonly state: "open"; readonly epoch: string; readonly row: Omit<WaitRow, "body"> }
  | { readonly state: "closed"; readonly epoch: string; readonly row: ClosedWait };

/** Reads the row of a wait, apart from its body. */
export function storedWait(packed: Packed): StoredWait {
  const [state, epoch, row] = packed.meta;
  if (
    (state !== "open" && state !== "closed") || typeof epoch !== "string" || typeof row !== "object" ||
    row === null
  ) {
    throw corrupt("the row of a wait");
  }
  return { state, epoch, row } as StoredWait;
}

/** Reads a row that is kept as one object. */
export function storedRow<T extends { readonly runId: string }>(meta: readonly unknown[], what: string): T {
  const row = meta[0] as Partial<T> | null | undefined;
  if (typeof row?.runId !== "string") throw corrupt(what);
  return row as T;
}
