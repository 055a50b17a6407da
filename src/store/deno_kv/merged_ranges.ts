import { comparePlaces, type Place } from "../query.ts";
import type { Key, KvEntry } from "./driver.ts";
import { corrupt } from "./frame.ts";
import type { Call, Session } from "./session.ts";

/**
 * The prefixes of the keys below `root` whose next parts are those wanted, one after another; for one that is `undefined`
 * whichever there are. One read for each that is found.
 */
export async function branches(
  session: Session,
  call: Call,
  root: Key,
  [wanted, ...others]: readonly (string | undefined)[],
): Promise<Key[]> {
  const parts = wanted === undefined ? await partsBelow(session, call, root) : [wanted];
  const found = parts.map((part): Key => [...root, part]);
  if (others.length === 0) return found;
  return (await Promise.all(found.map((key) => branches(session, call, key, others)))).flat();
}

async function partsBelow(session: Session, call: Call, root: Key): Promise<string[]> {
  const found: string[] = [];
  const end: Key = [...root, true];
  for (let start = root;;) {
    const [entry] = await session.list(call, { start, end }, 1);
    if (entry === undefined) return found;
    const part = entry.key[root.length];
    if (typeof part !== "string") throw corrupt("a key of the catalog");
    found.push(part);
    // The first key behind those of a text is that text with a NUL, which no id holds.
    start = [...root, `${part}\0`];
  }
}

const FEWEST = 16;

/** What ranges have in common. */
interface RangeOrder {
  /** How many parts at the end of a key say its place. */
  readonly parts: number;
  /** Whether the last place comes first. @default false */
  readonly reverse?: boolean;
}

/** Ranges of keys that are in the order of their last parts, read as one. What stands in several of them is read once. */
export class MergedRanges {
  readonly #session: Session;
  readonly #call: Call;
  readonly #order: Required<RangeOrder>;
  readonly #ranges: Range[];
  #last: Place | undefined;

  constructor(
    session: Session,
    call: Call,
    ranges: readonly { readonly start: Key; readonly end: Key }[],
    { parts, reverse = false }: RangeOrder,
  ) {
    this.#session = session;
    this.#call = call;
    this.#order = { parts, reverse };
    this.#ranges = ranges.map((range) => ({ ...range, read: [], isDone: false }));
  }

  /** The next entries, fewer than `count` at the end. */
  async take(count: number): Promise<readonly KvEntry[]> {
    const n = this.#ranges.length;
    const batch = n === 1 ? count : Math.max(FEWEST, Math.ceil(2 * count / n));
    const taken: KvEntry[] = [];
    while (taken.length < count) {
      const empty = this.#ranges.filter(({ read, isDone }) => read.length === 0 && !isDone);
      if (empty.length > 0) await Promise.all(empty.map((range) => this.#fill(range, batch)));
      const next = this.#next();
      if (next === undefined) break;
      const place = this.#placeOf(next);
      if (this.#last === undefined || comparePlaces(place, this.#last) !== 0) taken.push(next);
      this.#last = place;
    }
    return taken;
  }

  #next(): KvEntry | undefined {
    let first: Range | undefined;
    for (const range of this.#ranges) {
      if (range.read.length > 0 && (first === undefined || this.#isBefore(range, first))) first = range;
    }
    return first?.read.pop();
  }

  #isBefore(a: Range, b: Range): boolean {
    const order = comparePlaces(this.#placeOf(a.read.at(-1)!), this.#placeOf(b.read.at(-1)!));
    return this.#order.reverse ? order > 0 : order < 0;
  }

  async #fill(range: Range, count: number): Promise<void> {
    const { reverse } = this.#order;
    const entries = await this.#session.list(this.#call, range, count, reverse);
    range.isDone = entries.length < count;
    const last = entries.at(-1)?.key as Key | undefined;
    if (last !== undefined && reverse) range.end = last;
    else if (last !== undefined) range.start = [...last, true];
    range.read = [...entries].reverse();
  }

  #placeOf({ key }: KvEntry): Place {
    return key.slice(-this.#order.parts) as unknown as Place;
  }
}

interface Range {
  start: Key;
  end: Key;
  /** What was read and not taken, the next one last. */
  read: KvEntry[];
  isDone: boolean;
}
