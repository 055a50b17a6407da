import { dueAtOnce } from "../checkpoint/mailbox.ts";
import type { FoundMailbox } from "../checkpoint/cursor.ts";
import { isSuperstepError, MailboxConflictError } from "../errors.ts";
import { cancelled, tooLate } from "./answers.ts";
import type { RunnerDeps } from "./runner_deps.ts";

/** An answer that was checked, to a wait that was open when the mailbox of its run was as found. */
export interface GivenAnswer {
  readonly waitId: string;
  readonly value: unknown;
  readonly at: number;
  readonly openedAt: number;
  readonly graphId: string;
  readonly epoch: string;
  readonly revision: number;
  readonly found: FoundMailbox;
}

interface Member extends GivenAnswer {
  readonly accepted: (was: boolean) => void;
  readonly refused: (error: unknown) => void;
}

/** The mailbox that posts from here have led to, one after another, and what they came from. */
interface Chain {
  readonly found: FoundMailbox;
  readonly versions: Set<string>;
  readonly waits: Set<string>;
}

/**
 * Answers to waits of one run that meet in this process share a post, so that they cost what they bring. What was read
 * before a post from here counts after it too, for it is known what that post has changed.
 */
export class AnswerPosts<S> {
  readonly #deps: RunnerDeps<S>;
  /** Who waits for the post that is on its way, by run. */
  readonly #waiting = new Map<string, Member[]>();

  constructor(deps: RunnerDeps<S>) {
    this.#deps = deps;
  }

  /** Whether the answer was accepted; false when the mailbox has changed meanwhile. */
  post(runId: string, answer: GivenAnswer): Promise<boolean> {
    return new Promise((accepted, refused) => {
      const member: Member = { ...answer, accepted, refused };
      const waiting = this.#waiting.get(runId);
      if (waiting !== undefined) waiting.push(member);
      else {
        const members = [member];
        this.#waiting.set(runId, members);
        void this.#work(runId, members);
      }
    });
  }

  async #work(runId: string, waiting: Member[]): Promise<void> {
    for (let chain: Chain | undefined; waiting.length > 0;) {
      const members = waiting.splice(0, MOST_AT_ONCE);
      try {
        chain = await this.#together(runId, members, chain);
      } catch (error) {
        chain = undefined;
        for (const { refused } of members) refused(error);
      }
    }
    this.#waiting.delete(runId);
  }

  /** One post for all members that it can be for; the others are told to look again. */
  async #together(
    runId: string,
    members: readonly Member[],
    before: Chain | undefined,
  ): Promise<Chain | undefined> {
    const { log } = this.#deps;
    const { epoch, graphId, found: first } = members[0]!;
    const { found, versions, waits } = before ?? { found: first, versions: new Set(), waits: new Set() };
    let taken: Member[] = [];
    for (const member of members) {
      const isNew = member.found.version === found.version || versions.has(member.found.version);
      if (!isNew || member.epoch !== epoch || waits.has(member.waitId)) member.accepted(false);
      else {
        waits.add(member.waitId);
        taken.push(member);
      }
    }
    if (taken.length === 0) return before;
    try {
      const posted = await log.post(runId, epoch, found, (mailbox) => {
        const { cancel, deadline = Infinity, owner, queue, wake = Infinity } = mailbox;
        const late = taken.filter(({ at }) => cancel !== undefined || deadline <= at);
        for (const { waitId, refused } of late) {
          refused(cancel === undefined ? tooLate(runId, waitId) : cancelled(runId, waitId));
        }
        taken = taken.filter((member) => !late.includes(member));
        if (taken.length === 0) throw new MailboxConflictError(runId);
        return {
          mailbox: {
            ...mailbox,
            ...(owner === undefined && queue === undefined
              ? { wake: Math.min(dueAtOnce(taken[0]!.at), wake) }
              : {}),
          },
          posted: taken.map(({ waitId, value, at }) => ({ kind: "answer", waitId, value, at })),
          closed: taken.map(({ waitId, openedAt, revision }) => {
            return { runId, waitId, openedAt, reason: "answered", revision };
          }),
          graphId,
        };
      });
      for (const { accepted } of taken) accepted(true);
      versions.add(found.version);
      return { found: posted, versions, waits };
    } catch (error) {
      if (!isSuperstepError(error, "MAILBOX_CONFLICT")) throw error;
      for (const { accepted } of taken) accepted(false);
      return undefined;
    }
  }
}

/** The most answers that share a post. */
const MOST_AT_ONCE = 100;
