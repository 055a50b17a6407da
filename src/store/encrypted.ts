/**
 * Encryption at rest, as a store around a store.
 *
 * @module
 */
import { IntegrityError, StoreError } from "../errors.ts";
import { decrypt, encrypt, KEY_BYTES } from "../runtime/aead.ts";
import { fromBase64 } from "../runtime/base64.ts";
import type {
  Emits,
  MailboxState,
  MailboxWrite,
  Store,
  StoredMailbox,
  StoredRecord,
  WaitRow,
} from "./store.ts";

/** The keys of an encrypted store. */
export interface EncryptedOptions {
  /** Every key that values were encrypted under, by its id: 32 bytes, or these as base64. An id has 1 to 64 characters. */
  readonly keys: Readonly<Record<string, string | Uint8Array>>;
  /** The id of the key that new values are encrypted under. */
  readonly current: string;
}

/**
 * A store that keeps what runs hold by AES-256-GCM: records, parts of states, mailboxes and what is posted to them, infos and
 * schemas of waits. What is needed to find runs stays readable: ids, names, tags, keys of limits, statuses and times.
 *
 * Every value is bound to its run and its place there, so one that was changed or moved elsewhere is refused. An older copy of
 * a whole run is not told from the run itself.
 *
 * To change the key, give every process the new one beside the old, then make it `current`. What is written from then on is
 * under the new key; the old one is needed as long as runs that began before are kept.
 *
 * @throws {StoreError} when `current` is not among the keys, or a key has not 32 bytes
 *
 * @example
 * ```ts
 * const key = crypto.getRandomValues(new Uint8Array(32)); // from the environment, in earnest
 * const store = encrypted(memoryStore(), { keys: { "2026-12": key }, current: "2026-12" });
 * assert.equal(store.info.name, "encrypted memory");
 * ```
 */
export function encrypted(store: Store, options: EncryptedOptions): Store {
  const { seal, open } = new Cipher(options);
  const write = (runId: string, mailbox: MailboxWrite): MailboxWrite => ({
    ...mailbox,
    value: seal(["mailbox", runId], mailbox.value),
    ...(mailbox.posted && { posted: mailbox.posted.map((entry) => seal(["entry", runId], entry)) }),
  });
  const state = <M extends MailboxState>(runId: string, mailbox: M): M => ({
    ...mailbox,
    value: open(["mailbox", runId], mailbox.value),
  });
  const stored = (runId: string, mailbox: StoredMailbox | null): StoredMailbox | null =>
    mailbox && {
      ...state(runId, mailbox),
      entries: mailbox.entries.map(({ id, value }) => ({ id, value: open(["entry", runId], value) })),
    };
  const record = (runId: string, { bytes, ...rest }: StoredRecord): StoredRecord => ({
    ...rest,
    bytes: open(["record", runId, rest.revision], bytes),
  });
  const shown = (row: WaitRow): WaitRow => ({
    ...row,
    body: open(["wait", row.runId, row.waitId], row.body),
  });
  // One that cannot be decrypted is listed as it is stored: it keeps none of the others from being seen.
  const listed = (row: WaitRow): WaitRow => {
    try {
      return shown(row);
    } catch {
      return row;
    }
  };
  const hiddenEmits = (emits: Emits): Emits => ({
    add: (runId, at, { batch, dropped }, call) => {
      if (batch === undefined) return emits.add(runId, at, { dropped }, call);
      const bytes = seal(["emits", runId, batch.revision, batch.number], batch.bytes);
      return emits.add(runId, at, { batch: { ...batch, bytes }, dropped }, call);
    },
    read: async (runId, epoch, after, limit, call) =>
      (await emits.read(runId, epoch, after, limit, call)).map(({ bytes, ...place }) => ({
        ...place,
        bytes: open(["emits", runId, place.revision, place.number], bytes),
      })),
  });
  const hidden = (row: WaitRow): WaitRow => ({
    ...row,
    body: seal(["wait", row.runId, row.waitId], row.body),
  });

  return {
    info: { ...store.info, name: `encrypted ${store.info.name}` },
    owners: store.owners,
    cells: store.cells,
    ...(store.emits && { emits: hiddenEmits(store.emits) }),
    ...(store.leases && { leases: store.leases }),
    ...(store.hints && { hints: store.hints.bind(store) }),
    append: async (runId, revision, entry, call) =>
      await store.append(runId, revision, {
        ...entry,
        record: seal(["record", runId, revision], entry.record),
        parts: entry.parts.map((part, index) => seal(["part", runId, revision, index], part)),
        ...(entry.mailbox && { mailbox: write(runId, entry.mailbox) }),
        ...(entry.index?.opened && { index: { ...entry.index, opened: entry.index.opened.map(hidden) } }),
      }, call),
    post: async (runId, entry, call) =>
      await store.post(runId, { ...entry, mailbox: write(runId, entry.mailbox) }, call),
    tail: async (runId, call) => {
      const tail = await store.tail(runId, call);
      return tail && {
        ...tail,
        mailbox: stored(runId, tail.mailbox),
        records: tail.records.map((one) => record(runId, one)),
      };
    },
    range: async (runId, from, limit, call) =>
      (await store.range(runId, from, limit, call)).map((one) => record(runId, one)),
    parts: async (runId, epoch, refs, call) => {
      const parts = await store.parts(runId, epoch, refs, call);
      return parts.map((part, i) => open(["part", runId, refs[i]!.revision, refs[i]!.index], part));
    },
    inspect: async (runId, revision, writer, call) => {
      const found = await store.inspect(runId, revision, writer, call);
      return { ...found, mailbox: stored(runId, found.mailbox) };
    },
    wait: async (runId, waitId, call) => {
      const found = await store.wait(runId, waitId, call);
      return {
        ...found,
        mailbox: found.mailbox && state(runId, found.mailbox),
        open: found.open && shown(found.open),
      };
    },
    waits: async (query, call) => {
      const page = await store.waits(query, call);
      return { ...page, rows: page.rows.map(listed) };
    },
    list: (query, call) => store.list(query, call),
    wakes: (until, limit, call) => store.wakes(until, limit, call),
    trim: (runId, cut, call) => store.trim(runId, cut, call),
    purge: (runId, call) => store.purge(runId, call),
    close: () => store.close(),
  };
}

/** Where a value is: what it is, its run, and which one of that run. */
type Slot = readonly [
  kind: "record" | "part" | "mailbox" | "entry" | "wait" | "emits",
  runId: string,
  ...(string | number)[],
];

/** The first byte of every encrypted value; the length of the key's id and that id follow. */
const FORMAT = 0xe1;
const MAX_ID = 64;
const utf8 = new TextEncoder();
const text = new TextDecoder();

class Cipher {
  readonly #keys = new Map<string, Uint8Array>();
  readonly #current: Uint8Array;
  readonly #header: Uint8Array;

  constructor({ keys, current }: EncryptedOptions) {
    for (const [id, given] of Object.entries(keys)) {
      if (!/^[\x21-\x7e]+$/.test(id) || id.length > MAX_ID) {
        throw new StoreError(
          "open",
          `the id of a key is ${JSON.stringify(id)}; give 1 to ${MAX_ID} plain characters`,
        );
      }
      const key = typeof given === "string" ? fromBase64(given) : given;
      if (!(key instanceof Uint8Array) || key.length !== KEY_BYTES) {
        throw new StoreError("open", `the key ${id} has not ${KEY_BYTES} bytes; give those, or their base64`);
      }
      this.#keys.set(id, key.slice());
    }
    const key = this.#keys.get(current);
    if (key === undefined) {
      throw new StoreError(
        "open",
        `the current key is ${JSON.stringify(current)}, which is not among the keys`,
      );
    }
    this.#current = key;
    const id = utf8.encode(current);
    this.#header = new Uint8Array([FORMAT, id.length, ...id]);
  }

  readonly seal = (slot: Slot, bytes: Uint8Array): Uint8Array => {
    const body = encrypt(this.#current, bound(slot), bytes);
    const value = new Uint8Array(this.#header.length + body.length);
    value.set(this.#header);
    value.set(body, this.#header.length);
    return value;
  };

  readonly open = (slot: Slot, value: Uint8Array): Uint8Array => {
    const [format, length = 0] = value;
    if (format !== FORMAT || length === 0 || length > MAX_ID) {
      throw new IntegrityError(
        slot,
        "it is not encrypted; copy the runs of an open store into an encrypted one",
      );
    }
    const id = text.decode(value.subarray(2, 2 + length));
    const key = this.#keys.get(id);
    if (key === undefined) {
      throw new IntegrityError(
        slot,
        `it is encrypted under the key ${JSON.stringify(id)}, which is not among the keys`,
      );
    }
    const bytes = decrypt(key, bound(slot), value.subarray(2 + length));
    if (bytes === undefined) {
      throw new IntegrityError(
        slot,
        `it was changed, belongs elsewhere, or the key ${id} is another one; restore it`,
      );
    }
    return bytes;
  };
}

function bound(slot: Slot): Uint8Array {
  return utf8.encode(JSON.stringify(slot));
}
