import type { CellChange } from "../store.ts";

/** Transactions in flight at once; what comes meanwhile waits for one of them to end. */
const MAX_IN_FLIGHT = 2;
const MAX_MEMBERS = 50;
const MAX_BYTES = 4_000_000;
/** Each cell is a lock of the database, which has thousands of them. */
const MAX_CELLS = 128;

/** A write of one run that may share a transaction with those of others. */
export interface WriteRequest {
  readonly runId: string;
  /** What the database is told, but for where its bytes begin. */
  readonly meta: Readonly<Record<string, unknown>>;
  readonly bytes: Uint8Array;
  readonly cells: readonly CellChange[];
  /** Throws when the write is not wanted any more by the time that its turn comes. */
  readonly check: () => void;
}

/** Makes writes as one transaction; answers what became of each. */
export type Flush = (members: readonly WriteRequest[]) => Promise<readonly unknown[]>;

interface Member extends WriteRequest {
  readonly resolve: (answer: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Writes of different runs that wait while others are in flight are made as one (SPEC S5). A lone one never waits.
 *
 * 1. No two members of a transaction are of one run, and none sets a cell that another one names (STORE-10).
 * 2. Members go in the order of their runs, so that transactions that share runs wait for each other in that order.
 * 3. When a transaction fails as a whole, its members are made one by one: none fails for the sake of another.
 */
export class GroupCommit {
  readonly #flush: Flush;
  #waiting: Member[] = [];
  #inFlight = 0;

  /** `flush` rejects only when nothing is there or nothing is known. */
  constructor(flush: Flush) {
    this.#flush = flush;
  }

  /** Makes a write, at once or with others; answers what became of it. */
  write(request: WriteRequest): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ ...request, resolve, reject });
      this.#next();
    });
  }

  #next(): void {
    while (this.#inFlight < MAX_IN_FLIGHT && this.#waiting.length > 0) {
      const members = this.#take();
      if (members.length === 0) continue;
      this.#inFlight++;
      void this.#together(members).finally(() => {
        this.#inFlight--;
        this.#next();
      });
    }
  }

  /** Those that may share a transaction, in order of their runs; of one run the earliest. */
  #take(): Member[] {
    const taken: Member[] = [];
    const later: Member[] = [];
    const pack = new Pack();
    for (const member of this.#waiting) {
      if (!isWanted(member)) continue;
      (pack.takes(member) ? taken : later).push(member);
    }
    this.#waiting = later;
    return taken.sort((a, b) => a.runId < b.runId ? -1 : 1);
  }

  /** Settles each member; never rejects. */
  async #together(members: readonly Member[]): Promise<void> {
    try {
      const answers = await this.#flush(members);
      members.forEach(({ resolve }, i) => resolve(answers[i]));
    } catch (error) {
      if (members.length === 1) return members[0]!.reject(error);
      for (const member of members) await this.#together([member]);
    }
  }
}

function isWanted({ check, reject }: Member): boolean {
  try {
    check();
    return true;
  } catch (error) {
    reject(error);
    return false;
  }
}

/** What one transaction holds so far. */
class Pack {
  readonly #runs = new Set<string>();
  /** Cells by name, and whether one of the members sets it. */
  readonly #cells = new Map<string, boolean>();
  #members = 0;
  #bytes = 0;

  takes({ runId, bytes, cells }: WriteRequest): boolean {
    const isFirstOfRun = !this.#runs.has(runId);
    // What follows of this run waits for it, taken or not.
    this.#runs.add(runId);
    if (!isFirstOfRun || !this.#fits(bytes.length, cells)) return false;
    this.#members++;
    this.#bytes += bytes.length;
    for (const cell of cells) {
      const key = keyOf(cell);
      this.#cells.set(key, this.#cells.get(key) === true || isSet(cell));
    }
    return true;
  }

  #fits(size: number, cells: readonly CellChange[]): boolean {
    if (this.#members === 0) return true;
    if (this.#members >= MAX_MEMBERS || this.#bytes + size > MAX_BYTES) return false;
    if (this.#cells.size + cells.length > MAX_CELLS) return false;
    return cells.every((cell) => {
      const sets = this.#cells.get(keyOf(cell));
      return sets === undefined || (!sets && !isSet(cell));
    });
  }
}

const keyOf = ({ space, name }: CellChange) => `${space}\0${name}`;
const isSet = ({ value }: CellChange) => value !== undefined;
