/** How the layout of a snapshot is written into its record, and read back from bytes that are not trusted. */

import type { PartRef } from "../store/store.ts";
import { canonicalStored } from "./canonical.ts";
import type { Codec } from "./codec.ts";
import { CodecError } from "./codec_error.ts";
import { type Container, containerOf, type Entries, entriesOf } from "./entries.ts";
import { sizeOf } from "./canonical_tag.ts";

/** Where a value is stored: in the table, in a part of its own, or group by group. */
export type Node =
  | { readonly type: "inline"; readonly value: unknown }
  | { readonly type: "part"; readonly value: unknown; readonly ref: PartRef }
  | {
    readonly type: "split";
    readonly value: object;
    readonly kind: Container;
    readonly entries: Entries;
    readonly groups: readonly Group[];
  };

/** `count` consecutive entries of a container, from `start` on. */
export type Group =
  | { readonly type: "inline"; readonly start: number; readonly count: number }
  | {
    readonly type: "part";
    readonly start: number;
    readonly count: number;
    readonly size: number;
    readonly ref: PartRef;
  }
  | { readonly type: "node"; readonly start: number; readonly count: 1; readonly node: Node };

const INLINE = 0;
const PART = 1;
const NODE = 2;
const KINDS: readonly Container[] = ["object", "array", "map", "set"];
/** A node with one of these tags is split; what is left is its kind. */
const SPLIT = 2;
/** Changes come after the node. */
const PATCHED = 6;

/**
 * A node as plain data: `[0, value]`, `[1, revision, index]`, or `[2 + kind, groups]`. A group: `[0, entries]`,
 * `[1, revision, index]`, or `[2, node]` with the key after it where the container has keys.
 */
export function encodeTable(node: Node): unknown {
  switch (node.type) {
    case "inline":
      return [INLINE, node.value];
    case "part":
      return [PART, node.ref.revision, node.ref.index];
    case "split":
      return [SPLIT + KINDS.indexOf(node.kind), node.groups.map((group) => encodeGroup(group, node.entries))];
  }
}

function encodeGroup(group: Group, entries: Entries): unknown {
  switch (group.type) {
    case "inline":
      return [INLINE, entries.flat(group.start, group.count)];
    case "part":
      return [PART, group.ref.revision, group.ref.index];
    case "node": {
      const node = encodeTable(group.node);
      return entries.keys === undefined ? [NODE, node] : [NODE, node, entries.keys[group.start]];
    }
  }
}

/** A table with changes to be applied to what it stands for, in order: `[6, node, [[1, revision, index], …]]`. */
export function withPatches(table: unknown, patches: readonly PartRef[]): unknown {
  if (patches.length === 0) return table;
  return [PATCHED, table, patches.map(({ revision, index }) => [PART, revision, index])];
}

/** The parts that hold the changes of a table, in order. */
export function patchRefs(table: unknown): PartRef[] {
  const [tag, , patches] = list(table);
  return tag === PATCHED ? list(patches).map((item) => refOf(list(item))) : [];
}

function unpatched(table: unknown): unknown {
  const [tag, node] = list(table);
  return tag === PATCHED ? node : table;
}

/**
 * Every part that a table refers to, each once.
 *
 * @param table Comes from the store and is not trusted.
 * @throws {CodecError} When it is not a table.
 */
export function partRefs(table: unknown): PartRef[] {
  const refs = new Map<string, PartRef>();

  const part = (ref: PartRef): void => {
    if (refs.has(keyOf(ref))) throw malformed(`part ${keyOf(ref)} stands in it twice`);
    refs.set(keyOf(ref), ref);
  };
  const visit = (node: unknown): void => {
    const item = list(node);
    if (item[0] === PART) return part(refOf(item));
    if (item[0] === INLINE) return;
    kindOfTag(item[0]);
    for (const encoded of list(item[1])) {
      const group = list(encoded);
      if (group[0] === PART) part(refOf(group));
      else if (group[0] === NODE) visit(group[1]);
      else if (group[0] !== INLINE) throw malformed("a group has an unknown tag");
    }
  };

  visit(unpatched(table));
  patchRefs(table).forEach(part);
  return [...refs.values()];
}

/** The layout that a table describes without its changes, its values read from the parts. */
export function readTable(table: unknown, parts: ReadonlyMap<string, Uint8Array>, codec: Codec): Node {
  partRefs(table);

  const read = (ref: PartRef): unknown => {
    const bytes = parts.get(keyOf(ref));
    if (bytes === undefined) throw malformed(`part ${keyOf(ref)} is missing`);
    return canonicalStored(codec.decode(bytes), `part ${keyOf(ref)}`);
  };
  const node = (encoded: unknown): Node => {
    const item = list(encoded);
    if (item[0] === INLINE) return { type: "inline", value: canonicalStored(item[1], "a snapshot") };
    if (item[0] === PART) {
      const ref = refOf(item);
      return { type: "part", value: read(ref), ref };
    }
    return split(kindOfTag(item[0]), list(item[1]));
  };
  const split = (kind: Container, encoded: readonly unknown[]): Node => {
    const keyed = kind === "object" || kind === "map";
    const flat: unknown[] = [];
    const groups: Group[] = [];
    const take = (entries: unknown): number => {
      const items = list(entries);
      if (keyed && items.length % 2 !== 0) throw malformed("a group ends with a key");
      for (const item of items) flat.push(item);
      return keyed ? items.length / 2 : items.length;
    };
    let start = 0;
    for (const item of encoded) {
      const group = list(item);
      if (group[0] === NODE) {
        const inner = node(group[1]);
        take(keyed ? [canonicalStored(group[2], "a snapshot"), inner.value] : [inner.value]);
        groups.push({ type: "node", start, count: 1, node: inner });
        start++;
      } else if (group[0] === PART) {
        const ref = refOf(group);
        const entries = read(ref);
        const count = take(entries);
        groups.push({ type: "part", start, count, size: sizeOf(entries), ref });
        start += count;
      } else {
        const count = take(canonicalStored(group[1], "a snapshot"));
        groups.push({ type: "inline", start, count });
        start += count;
      }
    }
    const value = containerOf(kind, flat);
    const entries = entriesOf(value, kind);
    if (entries.length !== start) throw malformed("an entry stands in it twice");
    return { type: "split", value, kind, entries, groups };
  };

  return node(unpatched(table));
}

function keyOf(ref: PartRef): string {
  return `${ref.revision}/${ref.index}`;
}

function refOf(item: readonly unknown[]): PartRef {
  const [, revision, index] = item;
  if (!isCount(revision) || !isCount(index)) throw malformed("a reference is not two numbers");
  return { revision, index };
}

function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}

function kindOfTag(tag: unknown): Container {
  const kind = typeof tag === "number" ? KINDS[tag - SPLIT] : undefined;
  if (kind === undefined) throw malformed("a node has an unknown tag");
  return kind;
}

function list(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw malformed("a list is missing");
  return value;
}

function malformed(problem: string): CodecError {
  return new CodecError("malformed", `the table of parts is damaged: ${problem}`);
}
