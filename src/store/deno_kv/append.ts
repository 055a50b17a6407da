import { CellConflictError, CheckpointNotFoundError, MailboxConflictError } from "../../errors.ts";
import { type AppendClaim, judgeAppend } from "../doubt.ts";
import type {
  Appended,
  AppendEntry,
  CellChange,
  MailboxWrite,
  Position,
  Posted,
  PostEntry,
} from "../store.ts";
import { cellChecks, changedCell } from "./cells.ts";
import { isEarlier, newEpoch } from "./epoch.ts";
import { cellKey, goneKey, headKey, mailboxKey, ownerKey, restKey } from "./keys.ts";
import type { Check, Write } from "./op.ts";
import type { OwnerStamps } from "./owner_stamps.ts";
import { planAppend, planPost } from "./plan.ts";
import { Prepared } from "./prepared.ts";
import { finishPurge } from "./purge.ts";
import { applyRest } from "./rest.ts";
import { type Mailboxes, mailboxPostId, placeOf, storedVersion, versionOf } from "./mailboxes.ts";
import { appendIdAt, type Look, look as lookAt, positionOf, stampAt } from "./run_state.ts";
import type { Call, Session } from "./session.ts";

/** What the write paths share. */
export interface Writers {
  readonly session: Session;
  readonly stamps: OwnerStamps;
  readonly mailboxes: Mailboxes;
}

/**
 * Compare-and-append: one operation that demands the head, the writer's owner key and whatever else the entry names.
 * A common step is two checks and two writes.
 */
export async function append(
  writers: Writers,
  call: Call,
  runId: string,
  revision: number,
  entry: AppendEntry,
): Promise<Appended> {
  const { session, stamps, mailboxes } = writers;
  const { at, mailbox } = entry;
  const epoch = at?.epoch ?? newEpoch(session.runtime);
  const prepared = new Prepared(
    session,
    call,
    epoch,
    (blob) => planAppend(runId, revision, epoch, entry, blob),
  );
  const head = at === null ? null : stampAt(at);
  const place = mailbox && placeAt(mailbox.version);
  const possible = (at === null ? revision === 0 : at.revision + 1 === revision) && place !== null;

  const answer = (position: Position, stamp: string): Appended => {
    const cells = entry.cells === undefined ? {} : { cells: stamp };
    if (mailbox === undefined) return { position, ...cells };
    return { position, mailbox: written(mailboxes, runId, stamp, prepared, mailbox), ...cells };
  };

  const appended = await prepared.outcome(session.settle(call, "append", {
    build: () => {
      if (!possible || head === undefined) return undefined;
      const { writer } = entry;
      const op = (stamp: string | null | undefined) => {
        if (stamp === null) return undefined;
        const drops = mailbox === undefined ? NOTHING : mailboxes.drops(runId, mailbox.version);
        return prepared.op(checksOf(runId, epoch, head, entry, stamp, place ?? undefined), drops);
      };
      const stamp = writer === undefined ? undefined : stamps.known(writer);
      if (writer === undefined || stamp !== undefined) return op(stamp);
      return stamps.read(call, writer).then(op);
    },
    done: (stamp) => answer(positionOf(epoch, revision, stamp), stamp),
    judge: async () => {
      const found = await judge(writers, call, runId, revision, entry);
      return found && { value: answer(found.position, found.stamp) };
    },
  }));
  if (prepared.rest) await putRest(session, call, runId);
  return appended;
}

const NOTHING: readonly Write[] = [];

/** What a mailbox of that version demands: its place, no mailbox (`undefined`), or what can never be (`null`). */
function placeAt(version: string | null): ReturnType<typeof placeOf> | null {
  return version === null ? undefined : placeOf(version) ?? null;
}

/** The version of a mailbox that was written. */
function written(
  mailboxes: Mailboxes,
  runId: string,
  stamp: string,
  prepared: Prepared,
  { value }: MailboxWrite,
): string {
  const { blob, ...after } = prepared.mailbox!;
  const version = versionOf({ stamp, ...after });
  mailboxes.replaced(runId, version, after.epoch, blob, value.length);
  return version;
}

/** What the operation demands: `stamp` is that of the writer's owner key. */
function checksOf(
  runId: string,
  epoch: string,
  head: string | null,
  { writer, absent, mailbox, cells }: AppendEntry,
  stamp: string | undefined,
  place: ReturnType<typeof placeOf>,
): Check[] {
  const checks: Check[] = [{ key: headKey(runId), versionstamp: head }];
  if (writer !== undefined && stamp !== undefined) {
    checks.push({ key: ownerKey(writer), versionstamp: stamp });
  }
  if (absent !== undefined) checks.push({ key: ownerKey(absent), versionstamp: null });
  // Without a head, which stands until a purge has ended, there is no mailbox.
  if (mailbox !== undefined && (head !== null || mailbox.version !== null)) {
    checks.push({ key: mailboxKey(runId, isEarlier(epoch)), versionstamp: place?.stamp ?? null });
  }
  if (cells !== undefined) checks.push(...cellChecks(cells));
  return checks;
}

/** Reads back after doubt and judges (SPEC S2). */
async function judge(
  { session, stamps }: Writers,
  call: Call,
  runId: string,
  revision: number,
  entry: AppendEntry,
): Promise<{ readonly position: Position; readonly stamp: string } | undefined> {
  const { writer, absent } = entry;
  const cells = demandsOf(entry.cells);
  const { head, mailbox, others } = await lookAt(session, call, runId, () => [
    goneKey(runId),
    ownerKey(writer ?? "none"),
    ownerKey(absent ?? "none"),
    ...cells.map(cellKey),
  ]);
  const [gone, writerKey, absentKey] = [others[0]!, others[1]!, others[2]!];
  const written = await appendIdAt(session, call, head, revision);
  const found = storedVersion(mailbox);
  if (writer !== undefined) stamps.learn(writer, writerKey.versionstamp);
  const claim: AppendClaim = {
    runId,
    revision,
    appendId: entry.appendId,
    at: entry.at,
    ...(writer === undefined ? {} : { writer }),
    ...(absent === undefined ? {} : { absent }),
    ...(entry.mailbox === undefined ? {} : { mailbox: entry.mailbox.version }),
  };
  const verdict = judgeAppend(
    claim,
    {
      head: head ?? null,
      appendId: written?.appendId ?? null,
      mailbox: found === null ? null : { version: found },
      writer: writer === undefined || writerKey.versionstamp !== null,
    },
    absent !== undefined && absentKey.versionstamp !== null,
    changedCell(cells, others.slice(3)),
  );
  if (verdict.kind === "refused") throw verdict.error;
  if (verdict.kind === "done") return { position: verdict.position, stamp: written!.stamp };
  if (gone.versionstamp !== null) await finishPurge(session, call, runId);
  return undefined;
}

/** The changes that demand a version. */
function demandsOf(changes: readonly CellChange[] = []): readonly CellChange[] {
  return changes.filter(({ version }) => version !== undefined);
}

/** Sets the mailbox of a run without moving its head. Nothing is read where the version tells what to demand. */
export async function post(
  { session, mailboxes }: Writers,
  call: Call,
  runId: string,
  entry: PostEntry,
): Promise<Posted> {
  const { epoch } = entry;
  const { version } = entry.mailbox;
  const cells = demandsOf(entry.cells);
  const cellKeys = cells.map(cellKey);
  const place = version === null ? undefined : placeOf(version);
  const prepared = new Prepared(session, call, epoch, (blob) => planPost(runId, epoch, entry, blob));
  const answer = (mailbox: string, stamp: string): Posted =>
    entry.cells === undefined ? { mailbox } : { mailbox, cells: stamp };
  let seen: Look | undefined;

  /** Whether the post is there already; throws when it cannot be. */
  const look = async (): Promise<{ readonly value: Posted } | undefined> => {
    seen = await lookAt(session, call, runId, () => cellKeys);
    if (seen.head?.position.epoch !== epoch) throw new CheckpointNotFoundError(runId);
    const found = storedVersion(seen.mailbox);
    if (found !== null && mailboxPostId(seen.mailbox) === entry.postId) {
      return { value: answer(found, seen.mailbox.versionstamp!) };
    }
    if (found !== version) throw new MailboxConflictError(runId);
    const conflict = changedCell(cells, seen.others);
    if (conflict !== undefined) throw new CellConflictError(conflict.space, conflict.name, runId);
    return undefined;
  };

  if (place?.epoch !== epoch) {
    const before = await look();
    if (before !== undefined) return before.value;
  }
  const posted = await prepared.outcome(session.settle(call, "post", {
    build: async () => {
      const checks: Check[] = [{
        key: mailboxKey(runId, isEarlier(epoch)),
        versionstamp: place?.stamp ?? null,
      }];
      // Without a version only the head tells this run from a later one of the same id.
      if (version === null) checks.push({ key: headKey(runId), versionstamp: seen!.head!.stamp });
      checks.push({ key: restKey(runId), versionstamp: null }, ...cellChecks(cells));
      return await prepared.op(checks, mailboxes.drops(runId, version));
    },
    done: (stamp) => answer(written(mailboxes, runId, stamp, prepared, entry.mailbox), stamp),
    judge: look,
  }));
  if (prepared.rest) await putRest(session, call, runId);
  return posted;
}

/** Puts the rows that did not fit in place. Their writer may end here: readers do the same. */
async function putRest(session: Session, call: Call, runId: string): Promise<void> {
  const entry = await session.get(call, restKey(runId));
  if (entry.versionstamp !== null) await applyRest(session, call, entry);
}
