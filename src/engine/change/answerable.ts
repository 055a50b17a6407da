import { defaultCodec } from "../../checkpoint/codec.ts";
import { decodeMailbox } from "../../checkpoint/mailbox.ts";
import { isSuperstepError, UNREADABLE } from "../../errors.ts";
import type { Page, Store } from "../../store/store.ts";
import type { InboxEntry } from "../history.ts";

/**
 * Waits with why some cannot be answered here, so that nobody fills in a form in vain: those of runs of a version that is not
 * here, of which no schema is stored that could judge an answer in its place, and those that cannot be read.
 *
 * @param has Whether a version of a graph is here
 */
export async function withAnswerable(
  store: Store,
  page: Page<InboxEntry>,
  has: (graphId: string, graphVersion: string) => boolean,
): Promise<Page<InboxEntry>> {
  const rows = await Promise.all(page.rows.map(async (row) => {
    if (row.unreadable !== undefined) return { ...row, unanswerable: "what is stored of it cannot be read" };
    if (row.kind === "interrupt" || row.schema !== undefined) return row;
    const version = await versionOf(store, row.runId);
    return version === undefined || has(row.graphId, version) ? row : { ...row, unanswerable: NO_JUDGE };
  }));
  return { ...page, rows };
}

const NO_JUDGE =
  "its run is of a version that is not here, and its schema has no JSON Schema that could judge an answer in its place";

async function versionOf(store: Store, runId: string): Promise<string | undefined> {
  try {
    const { mailbox } = await store.inspect(runId, 0, undefined);
    return mailbox === null ? undefined : decodeMailbox(mailbox, defaultCodec, runId).graphVersion;
  } catch (error) {
    // Whoever answers is told what is wrong with it.
    if (isSuperstepError(error, ...UNREADABLE)) return undefined;
    throw error;
  }
}
