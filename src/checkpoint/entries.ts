import { CodecError } from "./codec_error.ts";
import type { Kind } from "./kinds.ts";
import { sizeOf, textSize } from "./canonical_tag.ts";
import { sealArray, sealMap, sealRecord, sealSet } from "./seal.ts";

/** The kinds that hold entries. */
export type Container = Exclude<Kind, "date" | "bytes">;

/** The entries of a canonical container in order, one shape for all four kinds. */
export class Entries {
  constructor(
    /** The keys of an object or a Map. */
    readonly keys: readonly unknown[] | undefined,
    readonly values: readonly unknown[],
  ) {}

  get length(): number {
    return this.values.length;
  }

  /** What tells entry `i` from the others: its key, or the element itself. */
  identity(i: number): unknown {
    return this.keys === undefined ? this.values[i] : this.keys[i];
  }

  /** Whether entry `i` is entry `j` of `other`. */
  same(i: number, other: Entries, j: number): boolean {
    return Object.is(this.values[i], other.values[j]) &&
      (this.keys === undefined || Object.is(this.keys[i], other.keys?.[j]));
  }

  /** The encoded bytes of entry `i`. */
  size(i: number): number {
    const key = this.keys?.[i];
    const keySize = this.keys === undefined ? 0 : typeof key === "string" ? textSize(key) : sizeOf(key);
    return keySize + sizeOf(this.values[i]);
  }

  /** The entries from `start` on as a list: elements, or keys and values in turn. */
  flat(start: number, count: number): unknown[] {
    if (this.keys === undefined) return this.values.slice(start, start + count);
    const flat: unknown[] = [];
    for (let i = start; i < start + count; i++) flat.push(this.keys[i], this.values[i]);
    return flat;
  }
}

/** The entries of a canonical container. */
export function entriesOf(value: object, kind: Container): Entries {
  switch (kind) {
    case "array":
      return new Entries(undefined, value as readonly unknown[]);
    case "set":
      return new Entries(undefined, [...value as ReadonlySet<unknown>]);
    case "map": {
      const map = value as ReadonlyMap<unknown, unknown>;
      return new Entries([...map.keys()], [...map.values()]);
    }
    case "object":
      return new Entries(Object.keys(value), Object.values(value));
  }
}

/** The canonical container of flat canonical entries. @throws {CodecError} When they are not entries of that kind. */
export function containerOf(kind: Container, flat: readonly unknown[]): object {
  switch (kind) {
    case "array":
      return sealArray([...flat]);
    case "set":
      return sealSet(new Set(flat));
    case "map": {
      const map = new Map<unknown, unknown>();
      for (let i = 0; i < flat.length; i += 2) map.set(flat[i], flat[i + 1]);
      return sealMap(map);
    }
    case "object": {
      const record: Record<string, unknown> = {};
      for (let i = 0; i < flat.length; i += 2) {
        const key = flat[i];
        if (typeof key !== "string" || key === "__proto__") {
          throw new CodecError("malformed", "a stored object has a key that is none");
        }
        record[key] = flat[i + 1];
      }
      return sealRecord(record);
    }
  }
}
