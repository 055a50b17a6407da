/**
 * The Deno KV store: one file, the same on Deno (its own KV), Bun and Node (`@deno/kv`).
 *
 * @module
 */
import { StoreError } from "../../errors.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { systemRuntime } from "../../runtime/system.ts";
import { checkCells } from "../cell_limits.ts";
import { checkAppend, checkCut, checkKeyText, checkPost } from "../limits.ts";
import type { CallOptions, Store } from "../store.ts";
import { append, post, type Writers } from "./append.ts";
import { kvCells } from "./cells.ts";
import { type KvDriver, openDriver, PACKAGE_CHECKS } from "./driver.ts";
import { kvEmits } from "./emits.ts";
import { LayoutMark } from "./layout.ts";
import { list } from "./catalog.ts";
import { waits, wakes } from "./listing.ts";
import { Mailboxes } from "./mailboxes.ts";
import { OwnerStamps } from "./owner_stamps.ts";
import { kvOwners } from "./owners.ts";
import { finishPurges, purge } from "./purge.ts";
import { inspect, parts, range, type Readers, tail, wait } from "./read.ts";
import { SameFile } from "./same_file.ts";
import { type CommitEvent, Session } from "./session.ts";
import { sweepStaging } from "./stage.ts";
import { trim } from "./trim.ts";

export type { Key, KeyPart, KvAtomic, KvDriver, KvEntry } from "./driver.ts";
export type { CommitEvent, CommitKind } from "./session.ts";

/** How a Deno KV store is opened. */
export interface DenoKvOptions {
  /**
   * The most checks that one operation may carry.
   * @default what the driver takes: 100 on Deno, 10 elsewhere
   */
  readonly maxChecks?: number;
  /**
   * How long a call waits, in milliseconds, while other processes keep the file busy.
   * @default 30000
   */
  readonly lockDeadline?: number;
  /**
   * The age, in milliseconds, after which an unfinished large append is taken for abandoned and swept.
   * @default 3600000
   */
  readonly sweepAfter?: number;
  /** The clock, timers, ids and randomness. @default the system's */
  readonly runtime?: Runtime;
  /** An open handle to use instead of opening `path`; `close` closes it. */
  readonly kv?: KvDriver;
  /** Called before and after every commit; an error that it throws ends the call there, as a crash would. */
  readonly onCommit?: (event: CommitEvent) => void | Promise<void>;
}

/** A store on a Deno KV file. */
export interface DenoKvStore extends Store {
  /**
   * Removes what processes that stopped in the middle of a large append or of a purge left behind; answers how many they
   * were. A store does this by itself whenever a process registers as an owner.
   *
   * @param options `olderThan`: only what is at least that many milliseconds old; by default `sweepAfter`
   */
  sweep(options?: CallOptions & { readonly olderThan?: number }): Promise<number>;
}

const LOCK_DEADLINE = 30_000;
const SWEEP_AFTER = 3_600_000;

/**
 * Opens the Deno KV file at `path`. Several processes, also of different runtimes, may have it open at the same time.
 *
 * @param path The file; made when there is none, in a folder that exists. `:memory:` is a store that is lost.
 * @throws {StoreError} when the file cannot be opened, was changed by a newer version of superstep, or this system has no
 *   native build of `@deno/kv`
 *
 * @example
 * ```ts
 * const store = await denoKv("./runs.db");
 * assert.deepEqual((await store.list({})).rows, []);
 * await store.close();
 * ```
 */
export async function denoKv(path: string, options: DenoKvOptions = {}): Promise<DenoKvStore> {
  const { runtime = systemRuntime, lockDeadline = LOCK_DEADLINE, sweepAfter = SWEEP_AFTER } = options;
  if (options.kv === undefined && (typeof path !== "string" || path === "")) {
    throw new StoreError(
      "open",
      `the path is ${JSON.stringify(path)}; give that of a file, such as "./runs.db"`,
    );
  }
  const opened = options.kv === undefined
    ? await openDriver(path)
    : { kv: options.kv, maxChecks: options.maxChecks ?? PACKAGE_CHECKS };
  const maxChecks = options.maxChecks ?? opened.maxChecks;
  if (!Number.isSafeInteger(maxChecks) || maxChecks < PACKAGE_CHECKS) {
    throw new StoreError("open", `maxChecks is ${maxChecks}; an append needs up to ${PACKAGE_CHECKS}`);
  }
  const session = new Session(opened.kv, {
    runtime,
    lockDeadline,
    maxChecks,
    file: options.kv === undefined ? await SameFile.of(path) : undefined,
    onCommit: options.onCommit,
  });
  const layout = new LayoutMark(session);
  await session.run("open", undefined, undefined, (call) => layout.open(call)).catch((error) => {
    session.close();
    throw error;
  });
  const stamps = new OwnerStamps(session);
  const mailboxes = new Mailboxes(session);
  const writers: Writers = { session, stamps, mailboxes };
  const readers: Readers = writers;

  return {
    info: { name: "deno-kv", durable: true },
    owners: kvOwners(session, stamps, layout, sweepAfter),
    cells: kvCells(session),
    emits: kvEmits(session),
    append: (runId, revision, entry, options) =>
      session.run("append", runId, options, (call) => {
        checkAppend(revision, entry);
        if (entry.cells !== undefined) checkCells("append", entry.cells);
        return append(writers, call, runId, revision, entry);
      }),
    post: (runId, entry, options) =>
      session.run("post", runId, options, (call) => {
        checkPost(entry);
        if (entry.cells !== undefined) checkCells("post", entry.cells);
        return post(writers, call, runId, entry);
      }),
    tail: (runId, options) => session.run("tail", runId, options, (call) => tail(readers, call, runId)),
    range: (runId, from, limit, options) =>
      session.run("range", runId, options, (call) => range(readers, call, runId, from, limit)),
    parts: (runId, epoch, refs, options) =>
      session.run("parts", runId, options, (call) => parts(readers, call, runId, epoch, refs)),
    inspect: (runId, revision, writer, options) =>
      session.run("inspect", runId, options, (call) => inspect(readers, call, runId, revision, writer)),
    wait: (runId, waitId, options) =>
      session.run("wait", runId, options, (call) => {
        checkKeyText("wait", "wait id", waitId);
        return wait(readers, call, runId, waitId);
      }),
    list: (query, options) => session.run("list", undefined, options, (call) => list(session, call, query)),
    waits: (query, options) =>
      session.run("waits", undefined, options, (call) => waits(session, call, query)),
    wakes: (until, limit, options) =>
      session.run(
        "wakes",
        undefined,
        options,
        (call) => wakes(session, call, until, limit, options?.after),
      ),
    trim: (runId, cut, options) =>
      session.run("trim", runId, options, (call) => {
        checkCut(cut);
        return trim(session, call, runId, cut);
      }),
    purge: (runId, options) =>
      session.run("purge", runId, options, (call) => purge(session, call, runId, options?.epoch)),
    sweep: ({ olderThan = sweepAfter, ...options } = {}) =>
      session.run(
        "sweep",
        undefined,
        options,
        async (call) => {
          const until = runtime.now() - olderThan;
          return await sweepStaging(session, call, until) + await finishPurges(session, call, until);
        },
      ),
    // deno-lint-ignore require-await
    async close() {
      session.close();
    },
  };
}
