/** A mailbox to set if it still has the version given; `null` is the version of one that does not exist yet. */
export interface MailboxWrite {
  /** The version that it must have. */
  readonly version: string | null;
  /** What it holds afterwards, encoded; small, for every change writes it. */
  readonly value: Uint8Array;
  /** Entries to add beside it, encoded, in this order behind those that are there. */
  readonly posted?: readonly Uint8Array[] | undefined;
  /** The ids of entries to take away, as they were read with this version. */
  readonly taken?: readonly string[] | undefined;
}

/** What stands beside a mailbox. */
export interface MailboxEntry {
  /** By which it is taken away; given by the store, never made up. */
  readonly id: string;
  /** The entry, encoded. */
  readonly value: Uint8Array;
}

/** A mailbox without what stands beside it. */
export interface MailboxState {
  /** Changes with every write of the mailbox; given by the store, never made up. */
  readonly version: string;
  /** What it holds, encoded. */
  readonly value: Uint8Array;
}

/** A mailbox with what stands beside it. */
export interface StoredMailbox extends MailboxState {
  /** The entries, in the order in which they were added. */
  readonly entries: readonly MailboxEntry[];
}
