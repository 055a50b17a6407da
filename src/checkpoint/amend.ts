import { isSuperstepError, MailboxConflictError } from "../errors.ts";
import type { RunRecord } from "../model/run.ts";
import type { Store } from "../store/store.ts";
import type { CheckpointLog } from "./log.ts";
import type { Mailbox, Post } from "./mailbox.ts";

/**
 * Changes the mailbox of a run as it is now, unless `change` answers nothing. Tells whether it was changed, which it is not
 * either when somebody else was first; undefined when there is no such run.
 *
 * @param version Which the mailbox must have. @default any
 * @param posted What is to stand beside it in addition
 */
export async function amend<S>(
  { store, log }: { readonly store: Store; readonly log: CheckpointLog<S> },
  { runId, graphId }: Pick<RunRecord, "runId" | "graphId">,
  change: (mailbox: Mailbox) => Mailbox | undefined,
  version?: string | null,
  posted: readonly Post[] = [],
): Promise<boolean | undefined> {
  const { head, mailbox: found } = await store.inspect(runId, 0, undefined);
  if (head === null || found === null) return undefined;
  if (version !== undefined && version !== found.version) return false;
  try {
    await log.post(runId, head.position.epoch, found, (current) => {
      const mailbox = change(current);
      if (mailbox === undefined) throw new MailboxConflictError(runId);
      return { mailbox, posted, closed: [], graphId };
    });
    return true;
  } catch (error) {
    if (isSuperstepError(error, "MAILBOX_CONFLICT")) return false;
    throw error;
  }
}
