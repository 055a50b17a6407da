import type { AppendEntry, PostEntry } from "../store.ts";
import { inlineValue, Packer } from "./blob.ts";
import { catalogWrites } from "./catalog.ts";
import { cellWrites } from "./cells.ts";
import { partKey, pokeIndex, recordKey } from "./keys.ts";
import { fits, type Write } from "./op.ts";
import { MAILBOX_SLOT, type MailboxWrites, mailboxWrites } from "./mailboxes.ts";
import { packRest } from "./rest.ts";
import { mark, ownedWrites, waitWrites, wakeWrites } from "./rows.ts";
import { headWrite } from "./run_state.ts";
import { slicedWrites } from "./slices.ts";

/**
 * How an append or a post is written. Sizes are known before anything is: what fits goes in one operation; what does
 * not is staged as chunks first; rows of waits and mailbox entries that still do not fit become a rest.
 */
export interface Plan {
  /** The writes of the operation that makes it happen. */
  readonly writes: readonly Write[];
  /** What must be there before; empty when one operation does it all. */
  readonly staged: readonly Write[];
  /** Whether a rest has to be put in place afterwards. */
  readonly rest: boolean;
  /** The mailbox that it leaves, without the stamp, and the blob that holds it, when it is a long one. */
  readonly mailbox: (MailboxWrites["after"] & { readonly blob: string | undefined }) | undefined;
}

const BARE = { staged: [], rest: false, mailbox: undefined } as const;

/** The longest payload that stays in its value when chunks are staged anyway. */
const STAGED_INLINE = 2048;

/** Where a record's bytes are among the chunks of its blob; its parts are in slots 0, 1, … */
export const RECORD_SLOT = "r";

interface Draft {
  readonly rows: readonly Write[];
  /** What may follow as a rest. */
  readonly later: readonly Write[];
  readonly mailbox: MailboxWrites | undefined;
}

export function planAppend(
  runId: string,
  revision: number,
  epoch: string,
  entry: AppendEntry,
  newBlob: () => string,
): Plan {
  const { appendId, index, mailbox, cells } = entry;
  const head = headWrite(runId, entry, epoch, revision);
  const record = recordKey(epoch, revision);
  const sliced = slicedWrites(record, [appendId, 0], entry.record);
  if (index === undefined && mailbox === undefined && cells === undefined && entry.parts.length === 0) {
    // A common step: nothing but a head and a short record.
    if (sliced !== undefined) return { ...BARE, writes: [head, ...sliced] };
    const value = inlineValue([appendId, 0], entry.record);
    if (value !== undefined) return { ...BARE, writes: [head, { key: record, value }] };
  }
  const fixed = [
    head,
    ...(index?.catalog === undefined ? [] : catalogWrites(epoch, index.catalog)),
    ...(index?.owned === undefined ? [] : ownedWrites(runId, epoch, index.owned)),
    ...(index?.wake === undefined ? [] : wakeWrites(runId, epoch, index.wake, mailbox)),
    ...(cells === undefined ? [] : cellWrites(cells, appendId)),
  ];
  return plan(runId, epoch, newBlob, mailbox?.value.length, (packer, blob) => {
    const partsBlob = blob !== undefined && entry.parts.length > 0 ? blob : 0;
    const rows = [
      ...fixed,
      ...sliced !== undefined && partsBlob === 0
        ? sliced
        : [packer.pack(record, RECORD_SLOT, [appendId, partsBlob], entry.record)],
    ];
    entry.parts.forEach((part, i) => {
      if (partsBlob !== 0) packer.cut(i, part);
      else rows.push(packer.pack(partKey(epoch, revision, i), i, [], part));
    });
    return drafted(
      rows,
      mailbox && mailboxWrites(packer, runId, epoch, appendId, mailbox, index?.wake),
      index === undefined ? [] : waitWrites(packer, epoch, index.opened ?? [], index.closed ?? []),
    );
  });
}

export function planPost(runId: string, epoch: string, entry: PostEntry, newBlob: () => string): Plan {
  const fixed = [
    ...(entry.wake === undefined ? [] : wakeWrites(runId, epoch, entry.wake, entry.mailbox)),
    ...(entry.poke === undefined ? [] : [mark([...pokeIndex(entry.poke), runId])]),
    ...(entry.cells === undefined ? [] : cellWrites(entry.cells, entry.postId)),
  ];
  return plan(runId, epoch, newBlob, entry.mailbox.value.length, (packer) =>
    drafted(
      fixed,
      mailboxWrites(packer, runId, epoch, entry.postId, entry.mailbox, entry.wake),
      waitWrites(packer, epoch, [], entry.closed ?? []),
    ));
}

function drafted(rows: readonly Write[], mailbox: MailboxWrites | undefined, waits: readonly Write[]): Draft {
  return mailbox === undefined
    ? { rows, later: waits, mailbox }
    : { rows: [...rows, mailbox.mailbox], later: [...waits, ...mailbox.entries], mailbox };
}

/** @param draft packs everything; a blob is given when whatever can be staged shall be */
function plan(
  runId: string,
  epoch: string,
  newBlob: () => string,
  mailboxLength: number | undefined,
  draft: (packer: Packer, blob: string | undefined) => Draft,
): Plan {
  let blob: string | undefined;
  const blobOf = () => blob ??= newBlob();
  const done = (
    writes: readonly Write[],
    staged: readonly Write[],
    inline: number,
    rest: boolean,
    mailbox: MailboxWrites | undefined,
  ): Plan => ({
    writes,
    staged,
    rest,
    mailbox: mailbox && { ...mailbox.after, blob: mailboxLength! > inline ? blob : undefined },
  });

  const packer = new Packer(epoch, blobOf);
  const { rows, later, mailbox } = draft(packer, undefined);
  const single = [...rows, ...later, ...packer.chunks];
  if (fits(single)) {
    const isLong = packer.chunks.some(({ key }) => key.includes(MAILBOX_SLOT));
    return done(single, [], isLong ? 0 : Infinity, false, mailbox);
  }

  const stager = new Packer(epoch, blobOf, STAGED_INLINE);
  const staged = draft(stager, blobOf());
  const main = [...staged.rows, ...staged.later];
  if (fits(main)) return done(main, stager.chunks, STAGED_INLINE, false, staged.mailbox);

  const rest = packRest(stager, runId, epoch, staged.later);
  return done([...staged.rows, rest], stager.chunks, STAGED_INLINE, true, staged.mailbox);
}
