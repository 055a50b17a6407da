/**
 * Snapshots that write only what is new. A value is stored as a table and parts: small things stand in the table,
 * large ones are parts of their own, and a large container is split into groups of consecutive entries. A group that
 * is still the same is not written again; the table refers to the part, of whatever revision, that holds it.
 *
 * 1. All references stand in the table: a snapshot loads with one read of its record and one of its parts.
 * 2. Whether a group is the same is decided by identity, which canonical values make exact: what has not been
 *    replaced is the same object.
 * 3. A group that is not full is rewritten when entries join it, so a growing list rewrites its last group only.
 * 4. Where groups would be rewritten for the sake of a few entries, the change since the last snapshot is written in their
 *    place, as a part that is applied to the groups as they are stored; until changes have come to twice those groups.
 */

import type { PartRef } from "../store/store.ts";
import type { Codec } from "./codec.ts";
import { between } from "./delta.ts";
import { type Container, type Entries, entriesOf } from "./entries.ts";
import { sizeOf } from "./canonical_tag.ts";
import { kindOf } from "./kinds.ts";
import { applyPatch, type Patch } from "./patch.ts";
import { encodeTable, type Group, type Node, patchRefs, readTable, withPatches } from "./table.ts";

export { partRefs } from "./table.ts";

/** What is at most this large stands in the table. */
const INLINE = 1024;
/** An entry larger than this becomes a node of its own instead of joining a group. */
const LARGE = 4 * 1024;
/** A group is closed when it has reached this size. */
const FULL = 8 * 1024;
/** A container up to this size is written as one part. */
const WHOLE = 12 * 1024;
/** So many changes are applied to groups when a snapshot is loaded, at most. */
const MOST_PATCHES = 128;

/** Where everything of a snapshot is stored, kept in memory for the next one. */
export interface Layout {
  /** What the table without the changes stands for. */
  readonly root: Node;
  /** What it stands for with them. */
  readonly value: unknown;
  /** The parts that hold the changes, in order, and how many bytes these are. */
  readonly patches: readonly PartRef[];
  readonly patchBytes: number;
}

/** A value ready to be appended. */
interface Snapshot {
  /** Goes into the record; the codec can encode it. */
  readonly table: unknown;
  /** The parts of this revision, by index. */
  readonly parts: Uint8Array[];
  /** The bytes of the parts that are new. */
  readonly newBytes: number;
  readonly layout: Layout;
}

/**
 * Lays out a canonical value for revision `revision`.
 *
 * @param previous The layout of an earlier snapshot of the same run, whose parts are still stored.
 * @param parts What the revision stores already; what is new is added.
 */
export function snapshot(
  value: unknown,
  revision: number,
  previous: Layout | undefined,
  codec: Codec,
  parts: Uint8Array[] = [],
): Snapshot {
  const before = parts.length;
  const layout = laidOut(value, revision, previous, codec, parts);
  let newBytes = 0;
  for (let i = before; i < parts.length; i++) newBytes += parts[i]!.byteLength;
  return { table: withPatches(encodeTable(layout.root), layout.patches), parts, newBytes, layout };
}

function laidOut(
  value: unknown,
  revision: number,
  previous: Layout | undefined,
  codec: Codec,
  parts: Uint8Array[],
): Layout {
  if (previous !== undefined && Object.is(previous.value, value)) return previous;
  const writer = new Writer(revision, parts.length);
  const root = writer.root(value, previous?.root);
  if (previous !== undefined && writer.bytes > FULL && previous.patches.length < MOST_PATCHES) {
    const { patch } = between(previous.value, value);
    if (patch === undefined) return previous;
    const bytes = codec.encode(patch);
    const patchBytes = previous.patchBytes + bytes.byteLength;
    if (writer.bytes > 1.25 * bytes.byteLength + FULL && writer.bytes > patchBytes / 2) {
      const patches = [...previous.patches, { revision, index: parts.push(bytes) - 1 }];
      return { root: previous.root, value, patches, patchBytes };
    }
  }
  for (const part of writer.parts) parts.push(codec.encode(part));
  return { root, value, patches: [], patchBytes: 0 };
}

/**
 * The canonical value of a table and its parts.
 *
 * @param parts The bytes of each part of {@link partRefs}, by `<revision>/<index>`.
 * @throws {CodecError | SerializationError} When the table or a part is not what `snapshot` wrote.
 */
export function restore(
  table: unknown,
  parts: ReadonlyMap<string, Uint8Array>,
  codec: Codec,
): { readonly value: unknown; readonly layout: Layout } {
  const root = readTable(table, parts, codec);
  const patches = patchRefs(table);
  let value = root.value;
  let patchBytes = 0;
  for (const { revision, index } of patches) {
    const bytes = parts.get(`${revision}/${index}`)!;
    value = applyPatch(value, codec.decode(bytes) as Patch);
    patchBytes += bytes.byteLength;
  }
  return { value, layout: { root, value, patches, patchBytes } };
}

/** Lays a value out, and gathers the parts that this takes. */
class Writer {
  readonly parts: unknown[] = [];
  bytes = 0;

  constructor(readonly revision: number, readonly first: number) {}

  root(value: unknown, old: Node | undefined): Node {
    if (old !== undefined && Object.is(old.value, value)) return old;
    const kind = containerKind(value);
    if (kind === undefined || sizeOf(value) <= INLINE) return this.#place(value, old);
    return this.#split(value as object, kind, old, kind === "object" ? INLINE : LARGE);
  }

  #place(value: unknown, old: Node | undefined): Node {
    if (old !== undefined && Object.is(old.value, value)) return old;
    const size = sizeOf(value);
    if (size <= INLINE) return { type: "inline", value };
    const kind = containerKind(value);
    if (kind === undefined || size <= WHOLE) return { type: "part", value, ref: this.#write(value, size) };
    return this.#split(value as object, kind, old, LARGE);
  }

  #split(value: object, kind: Container, old: Node | undefined, large: number): Node {
    const entries = entriesOf(value, kind);
    const match = new Matcher(old?.type === "split" && old.kind === kind ? old : undefined);
    const groups: Group[] = [];
    let start = 0;
    let size = 0;

    const close = (end: number): void => {
      const count = end - start;
      if (count === 0) return;
      if (size <= INLINE) groups.push({ type: "inline", start, count });
      else {groups.push({
          type: "part",
          start,
          count,
          size,
          ref: this.#write(entries.flat(start, count), size),
        });}
    };

    for (let i = 0; i < entries.length;) {
      const same = match.group(entries, i, size > 0);
      if (same !== undefined) {
        close(i);
        groups.push({ ...same, start: i });
        i += same.count;
        start = i;
        size = 0;
        continue;
      }
      const entry = entries.values[i];
      if (sizeOf(entry) > large && (entries.keys === undefined || sizeOf(entries.keys[i]) <= INLINE)) {
        close(i);
        groups.push({ type: "node", start: i, count: 1, node: this.#place(entry, match.node(entries, i)) });
        start = ++i;
        size = 0;
        continue;
      }
      size += entries.size(i++);
      if (size < FULL) continue;
      close(i);
      start = i;
      size = 0;
    }
    close(entries.length);
    return { type: "split", value, kind, entries, groups };
  }

  #write(value: unknown, size: number): PartRef {
    this.bytes += size;
    return { revision: this.revision, index: this.first + this.parts.push(value) - 1 };
  }
}

/** Finds the groups of the previous layout again, each at most once and in their order. */
class Matcher {
  readonly #entries: Entries | undefined;
  readonly #groups: readonly Group[];
  readonly #byFirst = new Map<unknown, number>();
  #next = 0;

  constructor(old: (Node & { type: "split" }) | undefined) {
    this.#entries = old?.entries;
    this.#groups = old?.groups ?? [];
    // From the last to the first, so that the first group that begins with an entry is the one found.
    for (let g = this.#groups.length - 1; g >= 0; g--) {
      this.#byFirst.set(this.#entries!.identity(this.#groups[g]!.start), g);
    }
  }

  /** The stored group that begins at entry `i`, all its entries unchanged; `pending`: entries before it are not stored. */
  group(entries: Entries, i: number, pending: boolean): Extract<Group, { type: "part" }> | undefined {
    const g = this.#find(entries, i);
    const group = g === undefined ? undefined : this.#groups[g];
    if (group?.type !== "part" || !this.#same(group, entries, i)) return undefined;
    if (group.size < FULL) {
      const after = i + group.count;
      if (pending || (after < entries.length && this.#find(entries, after) !== g! + 1)) return undefined;
    }
    this.#next = g! + 1;
    return group;
  }

  /** The stored node of a large entry, the same or an earlier state of it. */
  node(entries: Entries, i: number): Node | undefined {
    let g = this.#find(entries, i);
    if (g === undefined && entries.keys === undefined && this.#groups[this.#next]?.type === "node") {
      g = this.#next;
    }
    const group = g === undefined ? undefined : this.#groups[g];
    if (group?.type !== "node") return undefined;
    this.#next = g! + 1;
    return group.node;
  }

  #find(entries: Entries, i: number): number | undefined {
    const identity = entries.identity(i);
    const next = this.#groups[this.#next];
    if (next !== undefined && Object.is(this.#entries!.identity(next.start), identity)) return this.#next;
    const found = this.#byFirst.get(identity);
    return found !== undefined && found >= this.#next ? found : undefined;
  }

  #same(group: Group, entries: Entries, i: number): boolean {
    if (i + group.count > entries.length) return false;
    for (let n = 0; n < group.count; n++) {
      if (!this.#entries!.same(group.start + n, entries, i + n)) return false;
    }
    return true;
  }
}

function containerKind(value: unknown): Container | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const kind = kindOf(value);
  return kind === "date" || kind === "bytes" ? undefined : kind;
}
