import { messageOf, StoreError } from "../../errors.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { checkKeyText } from "../limits.ts";
import { checkSignal } from "../signal.ts";
import type { CallOptions } from "../store.ts";
import type { Key, KvDriver, KvEntry } from "./driver.ts";
import { ValueFault } from "./frame.ts";
import { GroupCommit } from "./group_commit.ts";
import type { Check, Op, Outcome } from "./op.ts";
import { reasonInWords } from "./reasons.ts";
import type { SameFile } from "./same_file.ts";

/** A commit, as a fault seam sees it: the `n`-th of this handle, about to be made or made. */
export interface CommitEvent {
  /** What it is for. */
  readonly kind: CommitKind;
  /** Its number, from 1. */
  readonly n: number;
  /** How many calls it is for: appends and posts of different runs that meet are one commit. */
  readonly members: number;
  /** Whether it is about to be made, or made. */
  readonly phase: "before" | "after";
}

/** What a commit is for. */
export type CommitKind =
  | "append"
  | "post"
  | "stage"
  | "rest"
  | "owner"
  | "poke"
  | "cells"
  | "emits"
  | "purge"
  | "trim"
  | "sweep"
  | "layout";

/** One call of the store while it is at work. */
export interface Call {
  readonly op: string;
  readonly runId: string | undefined;
  readonly signal: AbortSignal | undefined;
  /** When patience with a locked file ends. */
  readonly until: number;
}

/** A commit that is repeated until it is there or refused. */
export interface Conditional<T> {
  /** Builds the operation anew for each try; `undefined`: it cannot succeed as things are, judge at once. */
  build(): Op | undefined | Promise<Op | undefined>;
  /** What the call answers when the commit succeeded. */
  done(stamp: string): T;
  /** Reads back after doubt: an answer when it is there, a thrown error when it cannot be, `undefined` to try again. */
  judge(): Promise<{ readonly value: T } | undefined>;
}

/** How a session treats its driver. */
export interface SessionOptions {
  readonly runtime: Runtime;
  readonly lockDeadline: number;
  readonly maxChecks: number;
  /** The file, where there is one. */
  readonly file?: SameFile | undefined;
  readonly onCommit?: ((event: CommitEvent) => void | Promise<void>) | undefined;
}

/** Calls that a process at work makes every few seconds: the file is looked at before them. */
const WATCHING: ReadonlySet<string> = new Set(["register", "beat", "wakes"]);

/** Why a handle is used no more, as the fields of its errors tell it. */
export interface StoreEnd {
  readonly layout?: number;
  readonly lost?: true;
}

/** Bytes that were there a moment ago: a purge or a newer version removed them while they were read. */
export class TornRead extends ValueFault {}

/** What was being read is another one by now: read again, as often as that happens. */
export class MovedOn extends TornRead {}

/** Tries after doubt that no lock explains. */
const MAX_TRIES = 16;
const MAX_TORN = 5;
const MAX_MOVED = 1_000;
const READ_KEYS = 10;
const READ_ROWS = 500;
const FIRST_DELAY = 4;
const LONGEST_DELAY = 100;

/** A handle on a file with its patience: every read and commit goes through here. */
export class Session {
  readonly #kv: KvDriver;
  readonly #options: SessionOptions;
  readonly #group: GroupCommit;
  /** Whether the file may hold runs of the first layout. */
  hasEarlier = true;
  #commits = 0;
  #closed = false;
  #over: { readonly problem: string; readonly fields: StoreEnd } | undefined;

  constructor(kv: KvDriver, options: SessionOptions) {
    this.#kv = kv;
    this.#options = options;
    this.#group = new GroupCommit({
      maxChecks: options.maxChecks,
      commit: ({ kind, op }, members) => this.#make(kind, op, members),
      stamps: async (keys) => (await this.#entries(keys)).map(({ versionstamp }) => versionstamp),
    });
  }

  get runtime(): Runtime {
    return this.#options.runtime;
  }

  /** Makes a call of the store, unless it is closed or the signal is aborted; whatever it throws is typed. */
  async run<T>(
    op: string,
    runId: string | undefined,
    options: CallOptions | undefined,
    work: (call: Call) => Promise<T>,
  ): Promise<T> {
    const { runtime, lockDeadline } = this.#options;
    const call = { op, runId, signal: options?.signal, until: runtime.elapsed() + lockDeadline };
    this.#check(call);
    if (runId !== undefined) checkKeyText(op, "run id", runId);
    if (WATCHING.has(op)) await this.#checkFile(call);
    try {
      return await work(call);
    } catch (error) {
      throw error instanceof ValueFault ? this.#fault(call, error.message, error) : error;
    }
  }

  async #checkFile(call: Call): Promise<void> {
    const problem = await this.#options.file?.problem();
    if (problem !== undefined) throw this.end(call, problem, { lost: true });
  }

  async get(call: Call, key: Key): Promise<KvEntry> {
    return (await this.getMany(call, [key]))[0]!;
  }

  /** Up to ten keys are one read, of one moment; more are read ten at a time, side by side. */
  async getMany(call: Call, keys: readonly Key[]): Promise<readonly KvEntry[]> {
    return await this.#read(call, () => this.#entries(keys));
  }

  async #entries(keys: readonly Key[]): Promise<readonly KvEntry[]> {
    if (keys.length <= READ_KEYS) return await this.#kv.getMany(keys, { consistency: "strong" });
    const batches: Promise<readonly KvEntry[]>[] = [];
    for (let i = 0; i < keys.length; i += READ_KEYS) {
      batches.push(this.#entries(keys.slice(i, i + READ_KEYS)));
    }
    return (await Promise.all(batches)).flat();
  }

  /** At most `limit` entries of a range; up to 500 are one read, of one moment. */
  async list(
    call: Call,
    range: { readonly start: Key; readonly end: Key },
    limit: number,
    reverse = false,
  ): Promise<readonly KvEntry[]> {
    if (limit <= 0) return [];
    return await this.#read(call, async () => {
      const entries: KvEntry[] = [];
      const batchSize = Math.min(limit, READ_ROWS);
      const options = { limit, batchSize, reverse, consistency: "strong" } as const;
      for await (const entry of this.#kv.list(range, options)) entries.push(entry);
      return entries;
    });
  }

  /** Commits once, together with what else there is to append or post; throws like {@link Session.run}. */
  async #commit(call: Call, kind: CommitKind, op: Op): Promise<Outcome> {
    this.#check(call);
    if (op.checks.length > this.#options.maxChecks) {
      throw this.#fault(
        call,
        `an operation has ${op.checks.length} checks, ${this.#options.maxChecks} are allowed`,
      );
    }
    if (kind !== "append" && kind !== "post") return await this.#make(kind, op, 1);
    return await this.#group.commit({ kind, op, check: () => this.#check(call) });
  }

  /** Commits once. Only the fault seam makes it throw; a fault of the driver is an outcome in doubt. */
  async #make(kind: CommitKind, op: Op, members: number): Promise<Outcome> {
    const { onCommit } = this.#options;
    const n = ++this.#commits;
    if (onCommit !== undefined) await onCommit({ kind, n, members, phase: "before" });
    const atomic = this.#kv.atomic();
    for (const check of op.checks) atomic.check(check);
    for (const { key, value } of op.writes) value === null ? atomic.delete(key) : atomic.set(key, value);
    let outcome: Outcome;
    try {
      const result = await atomic.commit();
      outcome = result.ok ? { stamp: result.versionstamp } : {};
    } catch (error) {
      outcome = { error };
    }
    if (onCommit !== undefined) await onCommit({ kind, n, members, phase: "after" });
    return outcome;
  }

  /** Commits until it is there or refused. */
  async settle<T>(call: Call, kind: CommitKind, work: Conditional<T>): Promise<T> {
    for (let tries = 0;; tries++) {
      // What can be built at once is on its way before the caller goes on.
      const building = work.build();
      const op = building instanceof Promise ? await building : building;
      const outcome: Outcome = op === undefined ? {} : await this.#commit(call, kind, op);
      if (outcome.stamp !== undefined) return work.done(outcome.stamp);
      const found = await work.judge();
      if (found !== undefined) return found.value;
      await this.#patience(call, tries, outcome.error);
    }
  }

  /** Commits writes that may be repeated and demand nothing. */
  async write(call: Call, kind: CommitKind, writes: Op["writes"]): Promise<void> {
    await this.settle(call, kind, {
      build: () => ({ checks: [], writes }),
      done: () => {},
      judge: async () => await this.#landed(call, writes) ? { value: undefined } : undefined,
    });
  }

  /** Commits writes that may be repeated while a key is unchanged; false once it is not. */
  async writeWhile(call: Call, kind: CommitKind, held: Check, writes: Op["writes"]): Promise<boolean> {
    return await this.settle(call, kind, {
      build: () => ({ checks: [held], writes }),
      done: () => true,
      judge: async () => {
        if ((await this.get(call, held.key)).versionstamp !== held.versionstamp) return { value: false };
        return await this.#landed(call, writes) ? { value: true } : undefined;
      },
    });
  }

  /** Reads again when what was being read was removed meanwhile. */
  async whole<T>(call: Call, read: () => Promise<T>): Promise<T> {
    for (let tries = 0;; tries++) {
      try {
        return await read();
      } catch (error) {
        if (!(error instanceof TornRead)) throw error;
        if (tries >= (error instanceof MovedOn ? MAX_MOVED : MAX_TORN)) {
          throw this.#fault(call, `${error.message}; the file is damaged`, error);
        }
      }
    }
  }

  /** From now on nothing is read or written: the file is not, or no longer, one that this handle may be used for. */
  end({ op }: Call, problem: string, fields: StoreEnd): StoreError {
    this.#over = { problem, fields };
    return new StoreError(op, problem, fields);
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#kv.close();
  }

  /** Whether writes of one operation are there already, told by the last of them. */
  async #landed(call: Call, writes: Op["writes"]): Promise<boolean> {
    const last = writes.at(-1);
    if (last === undefined) return true;
    const { value, versionstamp } = await this.get(call, last.key);
    if (last.value === null || versionstamp === null) return last.value === null && versionstamp === null;
    return value instanceof Uint8Array && value.length === last.value.length &&
      last.value.every((byte, i) => byte === value[i]);
  }

  async #read<T>(call: Call, read: () => Promise<T>): Promise<T> {
    for (let tries = 0;; tries++) {
      this.#check(call);
      try {
        return await read();
      } catch (error) {
        if (!isLocked(error)) {
          throw this.#fault(
            call,
            `the driver could not read: ${reasonInWords(error) ?? "see the cause"}`,
            error,
          );
        }
        await this.#patience(call, tries, error);
      }
    }
  }

  #check(call: Call): void {
    if (this.#closed) throw this.#fault(call, "the store is closed");
    if (this.#over !== undefined) throw this.end(call, this.#over.problem, this.#over.fields);
    if (call.signal !== undefined) checkSignal(call.op, { signal: call.signal }, call.runId);
  }

  /** Waits before the next try, or gives up. */
  async #patience(call: Call, tries: number, error: unknown): Promise<void> {
    const { runtime } = this.#options;
    if (this.#closed) throw this.#fault(call, "the store was closed before the outcome was known", error);
    if (isLocked(error) ? runtime.elapsed() >= call.until : tries + 1 >= MAX_TRIES) {
      throw this.#fault(
        call,
        isLocked(error)
          ? `other processes kept the file busy for ${this.#options.lockDeadline} ms; use fewer of them or raise lockDeadline`
          : error === undefined
          ? `the store refused ${tries + 1} times although nothing stands against it`
          : `the driver failed ${tries + 1} times: ${
            reasonInWords(error) ?? "see the cause"
          }; the outcome is not known`,
        error,
      );
    }
    const delay = runtime.random() * Math.min(LONGEST_DELAY, FIRST_DELAY * 2 ** Math.min(tries, 10));
    await new Promise<void>((resolve) => {
      const stop = () => {
        timer.cancel();
        resolve();
      };
      const timer = runtime.wakeIn(delay, () => {
        call.signal?.removeEventListener("abort", stop);
        resolve();
      });
      call.signal?.addEventListener("abort", stop, { once: true });
    });
    this.#check(call);
  }

  #fault(call: Call, problem: string, cause?: unknown): StoreError {
    return new StoreError(call.op, problem, {
      ...(cause === undefined ? {} : { cause }),
      ...(call.runId === undefined ? {} : { runId: call.runId }),
    });
  }
}

/** SQLite says so at once when another process is writing. */
function isLocked(error: unknown): boolean {
  return error !== undefined && /\blocked\b|\bbusy\b/i.test(messageOf(error));
}
