import type { RunnerDeps } from "../runner_deps.ts";

/** The moment at which a record of a run was written, as the runs that work for it know it. */
export interface Moment {
  /** The revision of that record. */
  readonly revision: number;
  /** How many runs are between that run and the one that is asked: 0 for one that it called itself. */
  readonly level: number;
}

/**
 * The newest record that a called run had at a moment: the last one that was written while its caller was at an earlier
 * revision. So whatever the caller had recorded of it by then is in, nothing is that it came to by a later record of its
 * caller, and of a step that had not begun there is nothing.
 *
 * @returns `undefined` when the run began later; `unknown` when its records do not tell, or not any more.
 */
export async function revisionAt<S>(
  { log, store }: RunnerDeps<S>,
  runId: string,
  { revision, level }: Moment,
): Promise<number | "unknown" | undefined> {
  const { head } = await store.inspect(runId, 0, undefined);
  if (head === null) return "unknown";
  /** The first record from `from` on that tells where the caller was. */
  const telling = async (from: number, to: number) => {
    for (let next = from, limit = 1; next <= to; limit = Math.min(2 * limit, MOST_READ)) {
      const records = await log.history(runId, next, Math.min(limit, to - next + 1));
      for (const record of records) {
        const caller = record.callers?.[level];
        if (record.revision <= to && caller !== undefined) return { revision: record.revision, caller };
      }
      next = (records.at(-1)?.revision ?? to) + 1;
    }
    return undefined;
  };
  let found: number | undefined;
  let [low, high] = [0, head.position.revision];
  // Most often the newest record is the one.
  for (let middle = high; low <= high; middle = (low + high) >>> 1) {
    const record = await telling(middle, high);
    if (record === undefined || record.caller >= revision) high = middle - 1;
    else {
      found = record.revision;
      low = found + 1;
    }
  }
  if (found !== undefined) return found;
  const [first] = await log.history(runId, 0, 1);
  return first?.revision === 0 && first.callers?.[level] !== undefined ? undefined : "unknown";
}

const MOST_READ = 64;
