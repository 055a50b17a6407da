import { keyTextProblem, queryProblem } from "../model/key_texts.ts";
import { StoreError } from "../errors.ts";
import type {
  AppendEntry,
  CatalogRow,
  ClosedWait,
  Cut,
  EmitsWrite,
  IndexChanges,
  Position,
  PostEntry,
  WaitRow,
  WakeRow,
} from "./store.ts";

/**
 * What every store refuses, so that a run that works on one works on all. A text of a key takes at most 512 bytes and
 * a key has at most three of them, which keeps every key below the 2 KiB of Deno KV.
 */
const MAX_TAGS = 64;
/** Bytes of a batch of emits. */
const MAX_BATCH = 61_440;

/** Refuses a text that cannot be part of a key. */
export function checkKeyText(op: string, what: string, value: string): void {
  const problem = keyTextProblem(value);
  if (problem !== undefined) throw new StoreError(op, `the ${what} ${problem}`);
}

/** Refuses a query that no row could match, since no key holds such a text. */
export function checkQuery(op: string, query: object): void {
  const problem = queryProblem(query);
  if (problem !== undefined) throw new StoreError(op, problem);
}

/** Refuses an append that a store could not hold; the run id is checked by its caller. */
export function checkAppend(revision: number, entry: AppendEntry): void {
  if (!Number.isSafeInteger(revision) || revision < 0) {
    throw new StoreError("append", `the revision ${revision} is not a whole number from 0 on`);
  }
  checkKeyText("append", "append id", entry.appendId);
  if (entry.owner !== null) checkKeyText("append", "owner id", entry.owner);
  if (entry.absent !== undefined) checkKeyText("append", "owner id", entry.absent);
  if (entry.writer !== undefined) checkKeyText("append", "owner id", entry.writer);
  if (entry.index !== undefined) checkIndex(entry.index);
}

/** Refuses a write to a channel that a store could not hold; the run id is checked by its caller. */
export function checkEmits({ revision }: Position, { batch }: EmitsWrite): void {
  if (batch === undefined) return;
  if (batch.revision !== revision || !Number.isSafeInteger(batch.number) || batch.number < 0) {
    throw new StoreError(
      "emits",
      `a batch has the place ${batch.revision}.${batch.number} at revision ${revision}; give it that revision`,
    );
  }
  if (batch.bytes.length > MAX_BATCH) {
    throw new StoreError("emits", `a batch has ${batch.bytes.length} bytes; at most ${MAX_BATCH} are kept`);
  }
}

/** Refuses a cut that no history can have. */
export function checkCut({ epoch, before }: Cut): void {
  checkKeyText("trim", "epoch", epoch);
  if (!Number.isSafeInteger(before) || before < 0) {
    throw new StoreError("trim", `the revision ${before} is not a whole number from 0 on`);
  }
}

/** Refuses a post that a store could not hold; the run id is checked by its caller. */
export function checkPost(entry: PostEntry): void {
  checkKeyText("post", "post id", entry.postId);
  checkKeyText("post", "epoch", entry.epoch);
  if (entry.poke !== undefined) checkKeyText("post", "owner id", entry.poke);
  for (const closed of entry.closed ?? []) checkClosed("post", closed);
  checkWake("post", entry.wake?.to);
}

function checkIndex(index: IndexChanges): void {
  if (index.catalog !== undefined) checkCatalogRow(index.catalog.to);
  for (const row of index.opened ?? []) checkWaitRow(row);
  for (const closed of index.closed ?? []) checkClosed("append", closed);
  checkWake("append", index.wake?.to);
  if (index.owned?.to !== undefined) checkKeyText("append", "owner id", index.owned.to);
}

function checkCatalogRow(row: CatalogRow): void {
  checkKeyText("append", "run id", row.runId);
  checkKeyText("append", "graph id", row.graphId);
  checkKeyText("append", "graph version", row.graphVersion);
  checkKeyText("append", "status", row.status);
  if (row.reason !== undefined) checkKeyText("append", "reason", row.reason);
  if (row.tags.length > MAX_TAGS) {
    throw new StoreError(
      "append",
      `the run has ${row.tags.length} tags, at most ${MAX_TAGS} are kept; use fewer`,
      {
        runId: row.runId,
      },
    );
  }
  for (const tag of row.tags) checkKeyText("append", "tag", tag);
}

function checkWaitRow(row: WaitRow): void {
  checkKeyText("append", "run id", row.runId);
  checkKeyText("append", "wait id", row.waitId);
  checkKeyText("append", "graph id", row.graphId);
  checkKeyText("append", "vertex id", row.vertexId);
  checkKeyText("append", "wait name", row.name);
}

function checkClosed(op: string, closed: ClosedWait): void {
  checkKeyText(op, "run id", closed.runId);
  checkKeyText(op, "wait id", closed.waitId);
}

function checkWake(op: string, wake: WakeRow | undefined): void {
  if (wake === undefined) return;
  checkKeyText(op, "run id", wake.runId);
  checkKeyText(op, "graph id", wake.graphId);
  checkKeyText(op, "graph version", wake.graphVersion);
}
