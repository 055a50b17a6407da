import {
  CellConflictError,
  MailboxConflictError,
  OwnershipLostError,
  RevisionConflictError,
  RunBusyError,
} from "../errors.ts";
import type { CellName, Position } from "./store.ts";

/** An append whose outcome is judged, by what it demanded of the store. */
export interface AppendClaim {
  readonly runId: string;
  readonly revision: number;
  readonly appendId: string;
  readonly at: Position | null;
  readonly writer?: string;
  readonly absent?: string;
  /** The mailbox version that the append demanded, when it set the mailbox. */
  readonly mailbox?: string | null;
}

/** What the store holds; an `Inspection` is one. */
export interface Evidence {
  readonly head: { readonly position: Position } | null;
  readonly appendId: string | null;
  readonly mailbox: { readonly version: string } | null;
  readonly writer: boolean;
}

/**
 * What became of an append: it is `done`, it can never succeed (`refused`), or nothing of it is there and nothing
 * stands against it (`open`), so that it may be tried again under the same id.
 */
export type Verdict =
  | { readonly kind: "done"; readonly position: Position }
  | { readonly kind: "refused"; readonly error: Error }
  | { readonly kind: "open" };

/** The token of a head that others have moved past; it matches no head. */
export const PASSED = "passed";

/**
 * Judges an append by what the store holds (SPEC S2). The order is part of the rule: an append that succeeded stays a
 * success even when its owner was buried afterwards, and a lost owner is told before the conflict that it caused.
 *
 * @param absentPresent whether the owner key that had to be absent is there
 * @param changedCell the first cell that has not the version that the append demanded
 */
export function judgeAppend(
  claim: AppendClaim,
  found: Evidence,
  absentPresent: boolean,
  changedCell?: CellName,
): Verdict {
  const { runId, revision, at } = claim;
  const head = found.head?.position;
  const sameRun = at === null || head?.epoch === at.epoch;
  if (head !== undefined && sameRun && head.revision >= revision && found.appendId === claim.appendId) {
    return {
      kind: "done",
      position: head.revision === revision ? head : { revision, epoch: head.epoch, token: PASSED },
    };
  }
  if (!found.writer) return refused(new OwnershipLostError(runId, claim.writer ?? "unknown"));
  const next = head === undefined ? 0 : head.revision + 1;
  if (next !== revision || !follows(at, head)) {
    return refused(new RevisionConflictError(runId, next, revision));
  }
  if (absentPresent) return refused(new RunBusyError(runId, claim.absent ?? "unknown"));
  if (claim.mailbox !== undefined && claim.mailbox !== (found.mailbox?.version ?? null)) {
    return refused(new MailboxConflictError(runId));
  }
  if (changedCell !== undefined) {
    return refused(new CellConflictError(changedCell.space, changedCell.name, runId));
  }
  return { kind: "open" };
}

function follows(at: Position | null, head: Position | undefined): boolean {
  if (at === null || head === undefined) return at === null && head === undefined;
  return at.epoch === head.epoch && at.revision === head.revision && at.token === head.token;
}

function refused(error: Error): Verdict {
  return { kind: "refused", error };
}
