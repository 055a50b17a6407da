import type { Key } from "./driver.ts";
import { keyBytes } from "./keys.ts";
import { MAX_KEY_BYTES, MAX_MUTATIONS, MAX_OP_BYTES, type Op, type Outcome } from "./op.ts";

/** Commits in flight at once; what comes meanwhile waits for one of them to end. */
const MAX_IN_FLIGHT = 2;
const MAX_MEMBERS = 50;

/** What a group does to the file. */
export interface GroupHost {
  readonly maxChecks: number;
  /** Commits the operation of so many members; throws only what ends all of them. */
  commit(of: Pick<CommitRequest, "kind" | "op">, members: number): Promise<Outcome>;
  /** The versionstamps of keys; rejects when they cannot be read. */
  stamps(keys: readonly Key[]): Promise<readonly (string | null)[]>;
}

/** A commit that may be made together with others. */
export interface CommitRequest {
  readonly kind: "append" | "post";
  readonly op: Op;
  /** Throws when the commit is not wanted any more by the time that its turn comes. */
  readonly check: () => void;
}

/**
 * Operations of different runs that wait while others are in flight are made as one (SPEC S5). A lone one never waits.
 *
 * 1. Members of a group neither write nor check what another one writes, so each of them could have been the only one.
 * 2. When a group is refused, those whose checks no longer hold leave; the rest goes once more, then one by one.
 * 3. A member gets the outcome of its last commit, and judges a refusal or a doubt by itself.
 */
export class GroupCommit {
  readonly #host: GroupHost;
  #waiting: Member[] = [];
  #inFlight = 0;

  constructor(host: GroupHost) {
    this.#host = host;
  }

  /** Commits an operation once, at once or with others. */
  async commit(request: CommitRequest): Promise<Outcome> {
    if (this.#inFlight < MAX_IN_FLIGHT) return await this.#inTurn(() => this.#host.commit(request, 1));
    return await new Promise<Outcome>((resolve, reject) =>
      this.#waiting.push({ ...request, resolve, reject })
    );
  }

  async #inTurn<T>(work: () => Promise<T>): Promise<T> {
    this.#inFlight++;
    try {
      return await work();
    } finally {
      this.#inFlight--;
      this.#next();
    }
  }

  #next(): void {
    while (this.#inFlight < MAX_IN_FLIGHT && this.#waiting.length > 0) {
      const members = this.#take();
      if (members.length > 0) void this.#inTurn(() => this.#together(members));
    }
  }

  /** The longest beginning of what waits that may share an operation, without those who changed their minds. */
  #take(): Member[] {
    const pack = new Pack(this.#host.maxChecks);
    let taken = 0;
    for (const member of this.#waiting) {
      if (isWanted(member) && !pack.add(member)) break;
      taken++;
    }
    this.#waiting = this.#waiting.slice(taken);
    return pack.members;
  }

  /** Commits members as one, and settles each of them; never rejects. */
  async #together(all: Member[]): Promise<void> {
    let members = all;
    try {
      for (let isAgain = false;; isAgain = true) {
        const outcome = await this.#host.commit(
          { kind: members[0]!.kind, op: merged(members) },
          members.length,
        );
        if (members.length === 1 || outcome.stamp !== undefined || outcome.error !== undefined) {
          for (const { resolve } of members) resolve(outcome);
          return;
        }
        members = await this.#remaining(members);
        if (isAgain) break;
        if (members.length === 0) return;
      }
      for (const member of members) member.resolve(await this.#host.commit(member, 1));
    } catch (error) {
      for (const { reject } of members) reject(error);
    }
  }

  /** Those whose checks hold; the others are refused. */
  async #remaining(members: readonly Member[]): Promise<Member[]> {
    const checks = members.flatMap(({ op }) => op.checks);
    const stamps = await this.#host.stamps(checks.map(({ key }) => key)).catch((error: unknown) => ({
      error,
    }));
    let i = 0;
    return members.filter(({ op, resolve }) => {
      if ("error" in stamps) return resolve(stamps);
      const holds = op.checks.map(({ versionstamp }) => stamps[i++] === versionstamp);
      return holds.every(Boolean) || resolve({});
    });
  }
}

/** An operation that waits for its turn. */
interface Member extends CommitRequest {
  readonly resolve: (outcome: Outcome) => void;
  readonly reject: (error: unknown) => void;
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

/** Members that may share an operation, as long as it is one that the driver takes. */
class Pack {
  readonly members: Member[] = [];
  readonly #maxChecks: number;
  /** What is demanded of each key that is checked or written; `undefined`: another member writes it. */
  readonly #demands = new Map<string, string | null | undefined>();
  #checks = 0;
  #writes = 0;
  #keyBytes = 0;
  #bytes = 0;

  constructor(maxChecks: number) {
    this.#maxChecks = maxChecks;
  }

  /** Adds a member, unless it does not fit. The first one always does. */
  add(member: Member): boolean {
    const { checks, writes } = member.op;
    const checked = checks.map(({ key, versionstamp }) => [text(key), versionstamp] as const);
    const written = writes.map(({ key }) => text(key));
    const isFirst = this.members.length === 0;
    const newChecks = checked.filter(([key]) => !this.#demands.has(key)).length;
    let [keys, bytes] = [this.#keyBytes, this.#bytes];
    for (const { key, value } of writes) {
      const size = keyBytes(key);
      keys += size;
      bytes += size + (value?.length ?? 0);
    }
    const fits = this.members.length < MAX_MEMBERS && this.#checks + newChecks <= this.#maxChecks &&
      this.#writes + writes.length <= MAX_MUTATIONS && keys <= MAX_KEY_BYTES && bytes <= MAX_OP_BYTES &&
      checked.every(([key, stamp]) => !this.#demands.has(key) || this.#demands.get(key) === stamp) &&
      !written.some((key) => this.#demands.has(key));
    if (!fits && !isFirst) return false;
    for (const [key, stamp] of checked) this.#demands.set(key, stamp);
    for (const key of written) this.#demands.set(key, undefined);
    this.#checks += newChecks;
    this.#writes += writes.length;
    this.#keyBytes = keys;
    this.#bytes = bytes;
    this.members.push(member);
    return true;
  }
}

/** The operation that makes those of all members; checks that several of them have are made once. */
function merged(members: readonly Member[]): Op {
  if (members.length === 1) return members[0]!.op;
  const checks = new Map(members.flatMap(({ op }) => op.checks.map((check) => [text(check.key), check])));
  return { checks: [...checks.values()], writes: members.flatMap(({ op }) => op.writes) };
}

/** A key as a text; no part of a key holds a NUL. */
function text(key: Key): string {
  return key.join("\0");
}
