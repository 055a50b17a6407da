import type { WakeRow } from "../store.ts";
import { unpack } from "./blob.ts";
import { catalogKeysOf } from "./catalog.ts";
import type { Key } from "./driver.ts";
import { isEarlier } from "./epoch.ts";
import { corrupt, frame, unframe } from "./frame.ts";
import {
  below,
  chunkKey,
  cutKey,
  emitsKey,
  entryKey,
  goneKey,
  goneRoot,
  headKey,
  inboxKeys,
  mailboxKey,
  ownedIndex,
  partKey,
  recordKey,
  waitKey,
  waitsOf,
  wakeKey,
  wakeOfKey,
} from "./keys.ts";
import { dueOf } from "./mailboxes.ts";
import { type Check, drop } from "./op.ts";
import { storedRow, storedWait } from "./rows.ts";
import { GONE, type Head, isGone, look } from "./run_state.ts";
import type { Call, Session } from "./session.ts";
import { deleteRange } from "./stage.ts";

const WAITS_AT_ONCE = 100;

/**
 * Removes a run. One operation takes the head and whatever leads to the run away and notes that it is gone; the rest
 * follows. Until then the place of the head is held, so that no run of that id can begin and meet anything of the old one.
 */
export async function purge(
  session: Session,
  call: Call,
  runId: string,
  epoch: string | undefined,
): Promise<void> {
  const isOver = (head: Head | undefined) =>
    head === undefined || (epoch ?? head.position.epoch) !== head.position.epoch;
  await session.settle(call, "purge", {
    build: async () => {
      const { head, mailbox, others: [wake] } = await look(session, call, runId, () => [wakeOfKey(runId)]);
      if (head === undefined || isOver(head)) return undefined;
      const isOld = isEarlier(head.position.epoch);
      const keys: Key[] = [
        mailboxKey(runId, isOld),
        wakeOfKey(runId),
        cutKey(runId),
        ...await catalogKeysOf(session, call, runId, head.position.epoch),
      ];
      const due = dueOf(mailbox);
      if (typeof due === "number") keys.push(wakeKey({ due, runId }, isOld));
      if (wake!.versionstamp !== null) {
        keys.push(wakeKey(storedRow<WakeRow>(unframe(wake!.value, "a wake").meta, "a wake"), isOld));
      }
      if (head.owner !== null) keys.push([...ownedIndex(head.owner, isOld), runId]);
      return {
        checks: [
          { key: headKey(runId), versionstamp: head.stamp },
          { key: mailboxKey(runId, isOld), versionstamp: mailbox.versionstamp },
        ],
        writes: [
          ...keys.map(drop),
          { key: headKey(runId), value: GONE },
          { key: goneKey(runId), value: frame([head.position.epoch, session.runtime.now()]) },
        ],
      };
    },
    done: () => {},
    judge: async () => isOver((await look(session, call, runId)).head) ? { value: undefined } : undefined,
  });
  await finishPurge(session, call, runId);
  await finishPurges(session, call, session.runtime.now() - LEFT_BEHIND);
}

/** How old a purge is, in milliseconds, that nobody is taken to be at work on any more. */
const LEFT_BEHIND = 60_000;
const FINISHED_AT_ONCE = 100;

/** Finishes purges that began before `until` and were left in the middle; answers how many. */
export async function finishPurges(session: Session, call: Call, until: number): Promise<number> {
  let finished = 0;
  for (const { key, value } of await session.list(call, below(goneRoot), FINISHED_AT_ONCE)) {
    const runId = key.at(-1);
    const [, at] = unframe(value, "a note of a purge").meta;
    if (typeof runId !== "string" || (typeof at === "number" && at > until)) continue;
    await finishPurge(session, call, runId);
    finished++;
  }
  return finished;
}

/**
 * Finishes a purge that has begun, here or in a process that ended. Two may do so at once, so whatever another run of
 * the same id could have too is deleted only while the note is there.
 */
export async function finishPurge(session: Session, call: Call, runId: string): Promise<void> {
  const gone = await session.get(call, goneKey(runId));
  if (gone.versionstamp === null) return;
  const [epoch] = unframe(gone.value, "a note of a purge").meta;
  if (typeof epoch !== "string") throw corrupt("a note of a purge");
  const note = { key: goneKey(runId), versionstamp: gone.versionstamp };
  const head = await session.get(call, headKey(runId));
  // Code of the first layout holds no place for the head, where another run may be by now.
  if (head.versionstamp === null || isGone(head)) {
    if (!await purgeRows(session, call, runId, isEarlier(epoch), note)) return;
  }
  const prefixes = [
    recordKey(epoch, 0),
    partKey(epoch, 0, 0).slice(0, -1),
    chunksOf(epoch),
    emitsKey(epoch, 0, 0).slice(0, -1),
  ];
  for (const prefix of prefixes) {
    await deleteRange(session, call, "purge", below(prefix.slice(0, -1)));
  }
  const last = isGone(head) ? [goneKey, headKey] : [goneKey];
  await session.writeWhile(call, "purge", note, last.map((key) => drop(key(runId))));
}

/** Deletes what stands under the id of a run; false once somebody else has finished the purge. */
async function purgeRows(
  session: Session,
  call: Call,
  runId: string,
  isOld: boolean,
  note: Check,
): Promise<boolean> {
  const range = below(waitsOf(runId, isOld));
  for (;;) {
    const entries = await session.list(call, range, WAITS_AT_ONCE);
    const keys = entries.flatMap((entry) => {
      const { row } = storedWait(unpack(entry, "the row of a wait"));
      return [waitKey(runId, row.waitId, isOld), ...inboxKeys({ ...row, runId }, isOld)];
    });
    if (keys.length === 0) break;
    if (!await session.writeWhile(call, "purge", note, keys.map(drop))) return false;
  }
  for (const range = entriesOf(runId, isOld);;) {
    const entries = await session.list(call, range, WAITS_AT_ONCE);
    if (entries.length === 0) return true;
    const writes = entries.map(({ key }) => drop(key as Key));
    if (!await session.writeWhile(call, "purge", note, writes)) return false;
  }
}

/** What stands beside a mailbox, without it. */
function entriesOf(runId: string, isOld: boolean): ReturnType<typeof below> {
  return { start: entryKey(runId, 0, isOld), end: below(mailboxKey(runId, isOld)).end };
}

function chunksOf(epoch: string): Key {
  return chunkKey(epoch, "", 0, 0).slice(0, -2);
}
