import type { IndexChanges, MailboxEntry, MailboxState, MailboxWrite, StoredMailbox } from "../store.ts";
import { bodyOf, chunkCount, type Packed, type Packer, unpack } from "./blob.ts";
import type { Key, KvEntry } from "./driver.ts";
import { isEarlier } from "./epoch.ts";
import { corrupt } from "./frame.ts";
import { below, chunkKey, entryKey, mailboxKey } from "./keys.ts";
import { drop, type Write } from "./op.ts";
import { type Call, MovedOn, type Session } from "./session.ts";

/** The slot of a mailbox among the chunks of its blob, and that of an entry. */
export const MAILBOX_SLOT = "m";
const entrySlot = (n: number | string) => `e${n}`;

/** What the version of a mailbox tells, so that a write of the next one need read nothing. */
interface Place {
  readonly stamp: string;
  readonly epoch: string;
  /** The number of the next entry. */
  readonly next: number;
  /** How many entries stand beside it. */
  readonly count: number;
  /** When the run is to be woken, or `null`; `undefined` where that stands under a key of its own, as in the first layout. */
  readonly due: number | null | undefined;
}

const VERSION = /^([0-9a-f]{20})\/([^/]+)\/(\d+)\/(\d+)(?:\/([^/]*))?$/;

export function versionOf({ stamp, epoch, next, count, due }: Place): string {
  return `${stamp}/${epoch}/${next}/${count}${due === undefined ? "" : `/${due ?? ""}`}`;
}

/** The place that a version tells; `undefined` for one that no commit made. */
export function placeOf(version: string): Place | undefined {
  const [, stamp, epoch, next, count, due] = VERSION.exec(version) ?? [];
  if (stamp === undefined) return undefined;
  const wake = due === "" ? null : due === undefined ? undefined : Number(due);
  return { stamp, epoch: epoch!, next: Number(next), count: Number(count), due: wake };
}

/** The version of a mailbox as it was read; `null` where there is none. */
export function storedVersion(entry: KvEntry): string | null {
  return entry.versionstamp === null ? null : versionOf(headerOf(entry));
}

/** When a run is to be woken, as its mailbox says it. */
export function dueOf(entry: KvEntry): Place["due"] {
  return entry.versionstamp === null ? undefined : headerOf(entry).due;
}

/** The id of the append or post that wrote a mailbox. */
export function mailboxPostId(entry: KvEntry): string | undefined {
  return entry.versionstamp === null ? undefined : headerOf(entry).postId;
}

interface Header extends Place, Packed {
  readonly postId: string;
  readonly chunks: number;
}

function headerOf(entry: KvEntry): Header {
  const packed = unpack(entry, "a mailbox");
  // The first layout has no entries, and a row beside it that says when the run is to be woken.
  const [postId, epoch, chunks, next = 0, count = 0, due] = packed.meta;
  if (
    typeof postId !== "string" || typeof epoch !== "string" || typeof chunks !== "number" ||
    typeof next !== "number" || typeof count !== "number" ||
    (due !== undefined && due !== null && typeof due !== "number")
  ) throw corrupt("a mailbox");
  return { ...packed, stamp: entry.versionstamp!, postId, epoch, chunks, next, count, due };
}

type WakeChange = NonNullable<IndexChanges["wake"]>;

/** How a mailbox and its entries are written: `mailbox` is part of the operation itself, `entries` may follow it. */
export interface MailboxWrites {
  readonly mailbox: Write;
  readonly entries: readonly Write[];
  /** Where the mailbox is then, under the stamp of the operation. */
  readonly after: Omit<Place, "stamp">;
}

export function mailboxWrites(
  packer: Packer,
  runId: string,
  epoch: string,
  postId: string,
  { version, value, posted = [], taken = [] }: MailboxWrite,
  wake: WakeChange | undefined,
): MailboxWrites {
  const { next, count, due } = (version === null ? undefined : placeOf(version)) ?? NEW;
  const gone = new Set(taken);
  const isOld = isEarlier(epoch);
  const after = {
    epoch,
    next: next + posted.length,
    count: count + posted.length - gone.size,
    due: wake === undefined ? due : wake.to?.due ?? null,
  };
  const meta: unknown[] = [postId, epoch, chunkCount(value.length), after.next, after.count];
  if (after.due !== undefined) meta.push(after.due);
  return {
    mailbox: packer.pack(mailboxKey(runId, isOld), MAILBOX_SLOT, meta, value),
    entries: [
      ...posted.map((entry, i) => {
        const n = next + i;
        return packer.pack(entryKey(runId, n, isOld), entrySlot(n), [chunkCount(entry.length)], entry);
      }),
      ...[...gone].flatMap((id) => entryKeys(runId, epoch, id)).map(drop),
    ],
    after,
  };
}

const NEW = { next: 0, count: 0, due: null } as const;

/** The id of an entry says where all of it is. */
const ENTRY_ID = /^(\d+)(?:\/([^/]+)\/(\d+))?$/;

function entryKeys(runId: string, epoch: string, id: string): Key[] {
  const [, n, blob, chunks] = ENTRY_ID.exec(id) ?? [];
  if (n === undefined) throw corrupt("the id of a mailbox entry");
  const keys: Key[] = [entryKey(runId, Number(n), isEarlier(epoch))];
  for (let i = 0; blob !== undefined && i < Number(chunks); i++) {
    keys.push(chunkKey(epoch, blob, entrySlot(n), i));
  }
  return keys;
}

interface LongMailbox {
  readonly version: string;
  readonly keys: readonly Key[];
}

/** Reads mailboxes, and remembers the chunks of long ones so that whoever replaces one deletes them too. */
export class Mailboxes {
  readonly #session: Session;
  readonly #long = new Map<string, LongMailbox>();

  constructor(session: Session) {
    this.#session = session;
  }

  /** The mailbox without its entries. */
  async state(call: Call, runId: string, entry: KvEntry): Promise<MailboxState | null> {
    if (entry.versionstamp === null) return null;
    const header = headerOf(entry);
    const { epoch, blob, chunks } = header;
    const value = blob === undefined
      ? header.body
      : await bodyOf(this.#session, call, header, epoch, MAILBOX_SLOT);
    const version = versionOf(header);
    if (blob !== undefined) this.#note(runId, version, epoch, blob, chunks);
    return { version, value };
  }

  /** The mailbox with its entries, which are one range with it. */
  async whole(call: Call, runId: string, entry: KvEntry): Promise<StoredMailbox | null> {
    const state = await this.state(call, runId, entry);
    if (state === null) return null;
    const { epoch, count } = headerOf(entry);
    return { ...state, entries: count === 0 ? [] : await this.#entries(call, runId, entry, epoch, count) };
  }

  async #entries(
    call: Call,
    runId: string,
    { versionstamp }: KvEntry,
    epoch: string,
    count: number,
  ): Promise<readonly MailboxEntry[]> {
    const session = this.#session;
    const key = mailboxKey(runId, isEarlier(epoch));
    const [first, ...found] = await session.list(call, below(key), count + 1);
    const isAsked = (mailbox: KvEntry | undefined) => mailbox?.versionstamp === versionstamp;
    const isOneRead = count < ONE_READ;
    if (!isAsked(first) || (!isOneRead && !isAsked(await session.get(call, key)))) {
      throw new MovedOn(`the mailbox of the run was written while it was read`);
    }
    if (found.length !== count) throw corrupt("a mailbox with its entries");
    return await Promise.all(found.map(async (entry) => {
      const packed = unpack(entry, "a mailbox entry");
      const n = Number(entry.key.at(-1));
      const { blob, meta: [chunks] } = packed;
      return {
        id: blob === undefined ? `${n}` : `${n}/${blob}/${chunks}`,
        value: await bodyOf(session, call, packed, epoch, entrySlot(n)),
      };
    }));
  }

  /** The deletions that go with replacing the mailbox of that version. */
  drops(runId: string, version: string | null): Write[] {
    const long = this.#long.get(runId);
    return long === undefined || long.version !== version ? [] : long.keys.map(drop);
  }

  /** Notes what this handle has written in place of an older mailbox. */
  replaced(runId: string, version: string, epoch: string, blob: string | undefined, length: number): void {
    if (blob === undefined) this.#long.delete(runId);
    else this.#note(runId, version, epoch, blob, chunkCount(length));
  }

  #note(runId: string, version: string, epoch: string, blob: string, count: number): void {
    const keys = Array.from({ length: count }, (_, i) => chunkKey(epoch, blob, MAILBOX_SLOT, i));
    this.#long.set(runId, { version, keys });
  }
}

/** A list of fewer entries than this is of one moment. */
const ONE_READ = 500;
