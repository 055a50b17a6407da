import { CellConflictError, CheckpointNotFoundError, MailboxConflictError, StoreError } from "../errors.ts";
import { type AppendClaim, judgeAppend } from "./doubt.ts";
import { checkCells } from "./cell_limits.ts";
import { checkAppend, checkCut, checkKeyText, checkPost } from "./limits.ts";
import { memoryCells } from "./memory_cells.ts";
import { memoryEmits } from "./memory_emits.ts";
import { memoryOwners } from "./memory_owners.ts";
import {
  copyCatalog,
  copyWait,
  headOf,
  type Mailbox,
  mailboxOf,
  pageOf,
  partOf,
  recordAt,
  recordsOf,
  type Run,
  setMailbox,
  trimRun,
  wholeMailboxOf,
} from "./memory_run.ts";
import {
  catalogPlace,
  comparePlaces,
  limitOf,
  matchesCatalog,
  matchesWait,
  type Place,
  placeOf,
  waitPlace,
} from "./query.ts";
import { checkSignal } from "./signal.ts";
import type {
  Appended,
  AppendEntry,
  CallOptions,
  CatalogRow,
  ClosedWait,
  IndexChanges,
  Inspection,
  Position,
  Posted,
  Store,
  WaitRow,
  WakeRow,
} from "./store.ts";

const NO_PARTS: readonly Uint8Array[] = [];

function appended(position: Position, mailbox: string | undefined, cells: string | undefined): Appended {
  return {
    position,
    ...(mailbox === undefined ? {} : { mailbox }),
    ...(cells === undefined ? {} : { cells }),
  };
}

function posted({ version, cells }: Mailbox): Posted {
  return { mailbox: version, ...(cells === undefined ? {} : { cells }) };
}

/**
 * A store in the memory of this process: the contract of the durable ones, for tests and for runs that may be lost.
 *
 * @example
 * ```ts
 * const store = memoryStore();
 * assert.deepEqual(store.info, { name: "memory", durable: false });
 * ```
 */
export function memoryStore(): Store {
  const runs = new Map<string, Run>();
  const waking = new Map<string, WakeRow>();
  let epochs = 0;
  let versions = 0;
  let closed = false;

  function open(op: string): void {
    if (closed) throw new StoreError(op, "the store is closed");
  }

  function begin(op: string, runId: string, options: CallOptions | undefined): Run | undefined {
    open(op);
    if (options !== undefined) checkSignal(op, options, runId);
    const run = runs.get(runId);
    if (run === undefined) checkKeyText(op, "run id", runId);
    return run;
  }

  const emits = memoryEmits(begin);
  const owners = memoryOwners(open);
  const cells = memoryCells(open, () => `c${++versions}`);

  function inspection(run: Run | undefined, revision: number, writer: string | undefined): Inspection {
    return {
      head: headOf(run),
      appendId: recordAt(run, revision)?.appendId ?? null,
      mailbox: wholeMailboxOf(run),
      writer: writer === undefined || owners.alive(writer),
    };
  }

  /** Gives up unless everything that the append demands holds; answers the position of an append that is there already. */
  function settled(
    run: Run | undefined,
    runId: string,
    revision: number,
    entry: AppendEntry,
  ): Position | undefined {
    const { at, writer, absent, mailbox } = entry;
    const follows = run === undefined
      ? at === null && revision === 0
      : at !== null && at.revision + 1 === revision && at.revision === run.position.revision &&
        at.epoch === run.position.epoch && at.token === run.position.token;
    const writerAlive = writer === undefined || owners.alive(writer);
    const absentPresent = absent !== undefined && owners.alive(absent);
    const mailboxHolds = mailbox === undefined || (run?.mailbox?.version ?? null) === mailbox.version;
    const changedCell = cells.changed(entry.cells);
    if (follows && writerAlive && !absentPresent && mailboxHolds && changedCell === undefined) {
      return undefined;
    }
    const claim: AppendClaim = {
      runId,
      revision,
      appendId: entry.appendId,
      at,
      ...(writer === undefined ? {} : { writer }),
      ...(absent === undefined ? {} : { absent }),
      ...(mailbox === undefined ? {} : { mailbox: mailbox.version }),
    };
    const verdict = judgeAppend(claim, inspection(run, revision, writer), absentPresent, changedCell);
    if (verdict.kind === "done") return verdict.position;
    throw verdict.kind === "refused"
      ? verdict.error
      : new StoreError("append", "the append demands what no store can hold", { runId });
  }

  function closeWait(run: Run, wait: ClosedWait): void {
    run.open.delete(wait.waitId);
    run.closed.set(wait.waitId, { ...wait });
  }

  function setWake(runId: string, wake: WakeRow | undefined): void {
    if (wake === undefined) waking.delete(runId);
    else waking.set(runId, { ...wake });
  }

  function changeIndex(runId: string, run: Run, index: IndexChanges): void {
    if (index.catalog !== undefined) run.catalog = copyCatalog(index.catalog.to);
    for (const row of index.opened ?? []) {
      run.open.set(row.waitId, copyWait(row));
      run.closed.delete(row.waitId);
    }
    for (const wait of index.closed ?? []) closeWait(run, wait);
    if (index.wake !== undefined) setWake(runId, index.wake.to);
    if (index.owned !== undefined) owners.own(runId, index.owned);
  }

  return {
    info: { name: "memory", durable: false },
    owners,
    cells,
    emits,

    // deno-lint-ignore require-await
    async append(runId, revision, entry, options) {
      let run = begin("append", runId, options);
      checkAppend(revision, entry);
      if (entry.cells !== undefined) checkCells("append", entry.cells);
      const before = settled(run, runId, revision, entry);
      if (before !== undefined) {
        const written = recordAt(run, revision);
        return appended(before, written?.mailbox, written?.cells);
      }
      const position = {
        revision,
        epoch: run === undefined ? `e${++epochs}` : run.position.epoch,
        token: String(revision),
      };
      if (run === undefined) {
        run = {
          position,
          owner: null,
          snapshot: 0,
          first: 0,
          records: [],
          kept: new Map(),
          mailbox: null,
          entries: new Map(),
          emits: [],
          catalog: undefined,
          open: new Map(),
          closed: new Map(),
        };
        runs.set(runId, run);
      }
      run.position = position;
      run.owner = entry.owner;
      run.snapshot = entry.snapshot;
      const mailbox = entry.mailbox && `m${++versions}`;
      if (mailbox !== undefined) {
        setMailbox(run, entry.mailbox!, { version: mailbox, postId: entry.appendId });
      }
      const version = entry.cells === undefined ? undefined : cells.set(entry.cells, entry.appendId);
      run.records.push({
        appendId: entry.appendId,
        bytes: entry.record.slice(),
        parts: entry.parts.length === 0 ? NO_PARTS : entry.parts.map((part) => part.slice()),
        mailbox,
        cells: version,
      });
      if (entry.index !== undefined) changeIndex(runId, run, entry.index);
      return appended(position, mailbox, version);
    },

    // deno-lint-ignore require-await
    async post(runId, entry, options) {
      const run = begin("post", runId, options);
      checkPost(entry);
      if (entry.cells !== undefined) checkCells("post", entry.cells);
      if (run === undefined || run.position.epoch !== entry.epoch) throw new CheckpointNotFoundError(runId);
      if (run.mailbox?.postId === entry.postId) return posted(run.mailbox);
      if ((run.mailbox?.version ?? null) !== entry.mailbox.version) throw new MailboxConflictError(runId);
      const conflict = cells.changed(entry.cells);
      if (conflict !== undefined) throw new CellConflictError(conflict.space, conflict.name, runId);
      const version = entry.cells === undefined ? undefined : cells.set(entry.cells, entry.postId);
      setMailbox(run, entry.mailbox, { version: `m${++versions}`, postId: entry.postId, cells: version });
      for (const wait of entry.closed ?? []) closeWait(run, wait);
      if (entry.wake !== undefined) setWake(runId, entry.wake.to);
      if (entry.poke !== undefined) owners.poke(entry.poke, runId);
      return posted(run.mailbox!);
    },

    // deno-lint-ignore require-await
    async tail(runId, options) {
      const run = begin("tail", runId, options);
      return run && {
        position: run.position,
        owner: run.owner,
        mailbox: wholeMailboxOf(run),
        records: recordsOf(run, run.snapshot, run.position.revision + 1),
      };
    },

    // deno-lint-ignore require-await
    async range(runId, from, limit, options) {
      const run = begin("range", runId, options);
      if (run === undefined) return [];
      const start = Math.max(run.first, from);
      return recordsOf(run, start, start + limit);
    },

    // deno-lint-ignore require-await
    async parts(runId, epoch, refs, options) {
      const run = begin("parts", runId, options);
      if (run === undefined || run.position.epoch !== epoch) throw new CheckpointNotFoundError(runId);
      return refs.map(({ revision, index }) => {
        const part = partOf(run, { revision, index });
        if (part === undefined) {
          throw new StoreError("parts", `revision ${revision} has no part ${index}`, { runId });
        }
        return part.slice();
      });
    },

    // deno-lint-ignore require-await
    async inspect(runId, revision, writer, options) {
      return inspection(begin("inspect", runId, options), revision, writer);
    },

    // deno-lint-ignore require-await
    async wait(runId, waitId, options) {
      const run = begin("wait", runId, options);
      checkKeyText("wait", "wait id", waitId);
      const row = run?.open.get(waitId);
      const tombstone = run?.closed.get(waitId);
      return {
        head: headOf(run),
        mailbox: mailboxOf(run),
        open: row === undefined ? null : copyWait(row),
        closed: tombstone === undefined ? null : { ...tombstone },
      };
    },

    // deno-lint-ignore require-await
    async list(query, options) {
      open("list");
      checkSignal("list", options);
      const rows: CatalogRow[] = [];
      for (const { catalog } of runs.values()) {
        if (catalog !== undefined && matchesCatalog(catalog, query)) rows.push(catalog);
      }
      rows.sort((a, b) => comparePlaces(catalogPlace(b), catalogPlace(a)));
      const after = placeOf("list", query, 1);
      const rest = after === undefined
        ? rows
        : rows.filter((row) => comparePlaces(catalogPlace(row), after) < 0);
      return pageOf(rest, limitOf("list", query.limit), catalogPlace, copyCatalog);
    },

    // deno-lint-ignore require-await
    async waits(query, options) {
      open("waits");
      checkSignal("waits", options);
      const rows: WaitRow[] = [];
      for (const run of runs.values()) {
        for (const row of run.open.values()) if (matchesWait(row, query)) rows.push(row);
      }
      rows.sort((a, b) => comparePlaces(waitPlace(a), waitPlace(b)));
      const after = placeOf("waits", query, 2);
      const rest = after === undefined
        ? rows
        : rows.filter((row) => comparePlaces(waitPlace(row), after) > 0);
      return pageOf(rest, limitOf("waits", query.limit), waitPlace, copyWait);
    },

    // deno-lint-ignore require-await
    async wakes(until, limit, options) {
      open("wakes");
      checkSignal("wakes", options);
      const after: Place | undefined = options?.after && [options.after.due, options.after.runId];
      const due = [...waking.values()].filter((row) =>
        row.due <= until && (after === undefined || comparePlaces([row.due, row.runId], after) > 0)
      );
      due.sort((a, b) => comparePlaces([a.due, a.runId], [b.due, b.runId]));
      return due.slice(0, limitOf("wakes", limit)).map((row) => ({ ...row }));
    },

    // deno-lint-ignore require-await
    async trim(runId, cut, options) {
      const run = begin("trim", runId, options);
      checkCut(cut);
      if (run === undefined || run.position.epoch !== cut.epoch) throw new CheckpointNotFoundError(runId);
      if (cut.before > run.snapshot) {
        throw new StoreError(
          "trim",
          `the run is read from revision ${run.snapshot} on, records before ${cut.before} cannot be cut off`,
          { runId },
        );
      }
      trimRun(run, cut);
    },

    // deno-lint-ignore require-await
    async purge(runId, options) {
      const run = begin("purge", runId, options);
      if (run === undefined || (options?.epoch ?? run.position.epoch) !== run.position.epoch) return;
      runs.delete(runId);
      waking.delete(runId);
      if (run.owner !== null) owners.own(runId, { from: run.owner });
    },

    // deno-lint-ignore require-await
    async close() {
      closed = true;
    },
  };
}
