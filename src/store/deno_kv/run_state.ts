import type { Position } from "../store.ts";
import { type Packed, unpack } from "./blob.ts";
import type { Key, KvEntry } from "./driver.ts";
import { isEarlier } from "./epoch.ts";
import { corrupt, frame, unframe } from "./frame.ts";
import { headKey, mailboxKey, recordKey, restKey } from "./keys.ts";
import type { Write } from "./op.ts";
import { applyRest } from "./rest.ts";
import type { Call, Session } from "./session.ts";

/** The head of a run, compact: it is written with every record. */
export interface Head {
  readonly position: Position;
  readonly stamp: string;
  readonly owner: string | null;
  /** The newest revision that is a snapshot. */
  readonly snapshot: number;
  readonly appendId: string;
}

/** The position that a commit under `stamp` made. Its token holds all of it, so that no mixed-up one is taken for a head. */
export function positionOf(epoch: string, revision: number, stamp: string): Position {
  return { revision, epoch, token: `${stamp}/${revision}/${epoch}` };
}

const STAMP = /^[0-9a-f]{20}$/;

/** The versionstamp of the head at a position; `undefined` for a position that no commit made. */
export function stampAt({ revision, epoch, token }: Position): string | undefined {
  const stamp = token.slice(0, 20);
  return STAMP.test(stamp) && token === `${stamp}/${revision}/${epoch}` ? stamp : undefined;
}

export function headWrite(
  runId: string,
  head: Pick<Head, "snapshot" | "owner" | "appendId">,
  epoch: string,
  revision: number,
): Write {
  return { key: headKey(runId), value: frame([epoch, revision, head.snapshot, head.owner, head.appendId]) };
}

/** What stands in the place of the head from the beginning of a purge to its end, so that no run of that id begins. */
export const GONE = frame([null]);

/** Whether a run is being purged. */
export function isGone(entry: KvEntry): boolean {
  return entry.versionstamp !== null && unframe(entry.value, "the head of a run").meta[0] === null;
}

/** Reads a head, without trusting it. */
export function headOf(entry: KvEntry): Head | undefined {
  if (entry.versionstamp === null || isGone(entry)) return undefined;
  const [epoch, revision, snapshot, owner, appendId] = unframe(entry.value, "the head of a run").meta;
  if (
    typeof epoch !== "string" || typeof appendId !== "string" ||
    (owner !== null && typeof owner !== "string") ||
    !isRevision(revision) || !isRevision(snapshot) || snapshot > revision
  ) throw corrupt("the head of a run");
  const { versionstamp } = entry;
  return {
    position: positionOf(epoch, revision, versionstamp),
    stamp: versionstamp,
    owner,
    snapshot,
    appendId,
  };
}

function isRevision(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** What one read of a run finds, apart from further keys asked for. */
export interface Look {
  readonly head: Head | undefined;
  readonly mailbox: KvEntry;
  readonly others: readonly KvEntry[];
}

/**
 * Reads head, mailbox and up to seven other keys at one moment, with every index row in place. Where the keys of a run are is
 * known by its head: those of the first layout are read by a second read.
 */
export async function look(
  session: Session,
  call: Call,
  runId: string,
  others: (isEarlier: boolean) => readonly Key[] = () => [],
): Promise<Look> {
  for (let isOld = false;;) {
    const entries = await session.getMany(call, [
      headKey(runId),
      mailboxKey(runId, isOld),
      restKey(runId),
      ...others(isOld),
    ]);
    const head = headOf(entries[0]!);
    if (head !== undefined && isEarlier(head.position.epoch) !== isOld) {
      isOld = !isOld;
      continue;
    }
    const rest = entries[2]!;
    if (rest.versionstamp === null) {
      return { head, mailbox: entries[1]!, others: entries.slice(3) };
    }
    await applyRest(session, call, rest);
  }
}

/** The append id of the record at `revision`, with the versionstamp that it was written under. */
export async function appendIdAt(
  session: Session,
  call: Call,
  head: Head | undefined,
  revision: number,
): Promise<{ readonly appendId: string; readonly stamp: string } | undefined> {
  if (head === undefined || head.position.revision < revision) return undefined;
  if (head.position.revision === revision) return { appendId: head.appendId, stamp: head.stamp };
  const entry = await session.get(call, recordKey(head.position.epoch, revision));
  if (entry.versionstamp === null) return undefined;
  return { appendId: recordMeta(unpack(entry, "a record")).appendId, stamp: entry.versionstamp };
}

/** What a record says beside its bytes: its append id, and where its parts are when they were staged. */
export function recordMeta(
  packed: Packed,
): { readonly appendId: string; readonly partsBlob: string | undefined } {
  const [appendId, partsBlob] = packed.meta;
  if (typeof appendId !== "string" || (partsBlob !== 0 && typeof partsBlob !== "string")) {
    throw corrupt("a record");
  }
  return { appendId, partsBlob: partsBlob === 0 ? undefined : partsBlob };
}
