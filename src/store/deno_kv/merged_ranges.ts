import { comparePlaces, type Place } from "../query.ts";
import type { Key, KeyPart, KvEntry } from "./driver.ts";
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

/** Ranges of keys that end in a time and an id, read as one, the newest first. What stands in several is read once. */
export class MergedRanges {
  readonly #session: Session;
  readonly #call: Call;
  readonly #ranges: Range[];
  #last: Place | undefined;

  /** @param after where the page before ended */
  constructor(session: Session, call: Call, prefixes: readonly Key[], after: Place | undefined) {
    this.#session = session;
    this.#call = call;
    this.#ranges = prefixes.map((start) => ({ start, end: [...start, ...after ?? [true]], read: [] }));
  }

  /** The next entries, fewer than `count` at the end. */
  async take(count: number): Promise<readonly KvEntry[]> {
    const batch = this.#ranges.length === 1
      ? count
      : Math.max(FEWEST, Math.ceil(2 * count / this.#ranges.length));
    const taken: KvEntry[] = [];
    while (taken.length < count) {
      await Promise.all(
        this.#ranges.map((range) => range.read.length === 0 && !range.isDone && this.#fill(range, batch)),
      );
      const next = this.#next();
      if (next === undefined) break;
      const place = placeOf(next);
      if (this.#last === undefined || comparePlaces(place, this.#last) !== 0) taken.push(next);
      this.#last = place;
    }
    return taken;
  }

  #next(): KvEntry | undefined {
    let first: Range | undefined;
    for (const range of this.#ranges) {
      const entry = range.read.at(-1);
      if (entry === undefined) continue;
      if (first === undefined || comparePlaces(placeOf(entry), placeOf(first.read.at(-1)!)) > 0) {
        first = range;
      }
    }
    return first?.read.pop();
  }

  async #fill(range: Range, count: number): Promise<void> {
    const { start, end } = range;
    const entries = await this.#session.list(this.#call, { start, end }, count, true);
    range.isDone = entries.length < count;
    if (entries.length > 0) range.end = entries.at(-1)!.key as readonly KeyPart[];
    range.read = [...entries].reverse();
  }
}

interface Range {
  readonly start: Key;
  end: Key;
  /** What was read and not taken, the next one last. */
  read: KvEntry[];
  isDone?: boolean;
}

function placeOf({ key }: KvEntry): Place {
  return key.slice(-2) as unknown as Place;
}
