import { defaultCodec } from "../checkpoint/codec.ts";
import { decodeMailbox } from "../checkpoint/mailbox.ts";
import { AnswerError, ArgumentError, CheckpointNotFoundError, GraphMismatchError } from "../errors.ts";
import { shown } from "../graph/policies.ts";
import { compareIds, isId } from "../model/ids.ts";
import { rowsOf } from "../model/pages.ts";
import type { WaitDefinition, WaitState } from "../model/wait.ts";
import type { WaitRow } from "../store/store.ts";
import { AnswerPosts } from "./answer_posts.ts";
import { checkedAnswer, foreignAnswer, isAnswerable, listed, refusal } from "./answers.ts";
import type { RunnerDeps } from "./runner_deps.ts";
import { type InboxEntry, inboxOf } from "./history.ts";
import type { Loader } from "./loader.ts";
import { type AnswerOptions, checkedRunId } from "./options.ts";

/**
 * Accepting answers.
 *
 * 1. An answer is judged by the schema that the code declares, whoever gives it; to a run of another version by the one that
 *    was stored with its wait.
 * 2. It is accepted in one op that checks the mailbox, so that a wait is answered once and a wake is never lost.
 * 3. Nothing runs here: the run is woken, or the process that owns it is poked.
 */
export class Answering<S> {
  readonly #deps: RunnerDeps<S>;
  readonly #loader: Loader<S>;
  readonly #posts: AnswerPosts<S>;

  constructor(deps: RunnerDeps<S>, loader: Loader<S>) {
    this.#deps = deps;
    this.#loader = loader;
    this.#posts = new AnswerPosts(deps);
  }

  /** Accepts the answer to a wait, given by its id or as the only open one of its definition. */
  async answer(
    runId: string,
    wait: string | WaitDefinition,
    value: unknown,
    options: AnswerOptions = {},
  ): Promise<void> {
    checkedRunId(runId, "answer");
    const waitId: unknown = isId((wait as Partial<WaitDefinition> | null)?.name)
      ? await this.#find(runId, wait as WaitDefinition, options)
      : wait;
    if (!isId(waitId)) {
      if (typeof waitId === "string") {
        throw new AnswerError(
          "unknown",
          runId,
          waitId.slice(0, 200),
          "it is no wait id; list them with waits({ runId })",
        );
      }
      throw new ArgumentError(
        "answer",
        `the wait of run ${runId} is ${
          shown(waitId)
        }; the second argument is the id of the wait or its definition, ` +
          "and the answer is the third: answer(runId, wait, value)",
      );
    }
    for (let tries = 1; !await this.#accept(runId, waitId, value, tries < MAX_TRIES); tries++) {
      if (tries >= AT_ONCE) await this.#pause(tries);
    }
    this.#deps.ownership.poke(runId);
  }

  /** The id of the one open wait of a definition. */
  async #find(runId: string, { name }: WaitDefinition, { key }: AnswerOptions): Promise<string> {
    const now = this.#deps.runtime.now();
    const rows = (await this.#rows(runId, name)).filter((w) => key === undefined || w.key === key);
    const open = rows.filter((w) => w.deadline === undefined || w.deadline > now);
    if (open.length > 1) {
      throw new AnswerError(
        "ambiguous",
        runId,
        undefined,
        `${open.length} waits ${name} are open: ${listed(open)}; name its key, or answer each by its id`,
        undefined,
        { waits: open.map((w) => w.waitId) },
      );
    }
    return (open[0] ?? rows[0])?.waitId ?? await this.#newest(runId, name, key);
  }

  /** The open waits of one name that were declared, also those whose deadline has passed. */
  async #rows(runId: string, name: string): Promise<readonly InboxEntry[]> {
    const found: InboxEntry[] = [];
    const { store } = this.#deps;
    const rows = rowsOf(async (start) => inboxOf(await store.waits({ runId, name, ...start })));
    for await (const row of rows) if (row.kind === "answer") found.push(row);
    return found.sort((a, b) =>
      compareIds(a.vertexId, b.vertexId) || (a.item ?? 0) - (b.item ?? 0) ||
      compareIds(a.key ?? "", b.key ?? "")
    );
  }

  /** Where no wait of a name is open, the newest one that was, so that its refusal tells what became of it. */
  async #newest(runId: string, name: string, key: string | undefined): Promise<string> {
    const { checkpoint } = await this.#loader.stored(runId);
    const known = [...checkpoint.executions.values()].flatMap((x) => [...x.waits.values()])
      .filter((w) => w.kind === "answer" && w.name === name && (key === undefined || w.key === key))
      .reduce<WaitState | undefined>((a, b) => a !== undefined && a.openedAt > b.openedAt ? a : b, undefined);
    if (known !== undefined) return known.id;
    const declared = new Set([...this.#deps.graph.vertices.values()].flatMap((v) => [...v.waits.keys()]));
    if (!declared.has(name)) {
      throw new AnswerError(
        "unknown",
        runId,
        undefined,
        `graph ${this.#deps.graph.id} declares no wait ${name} (declared: ${
          [...declared].sort(compareIds).join(", ") || "none"
        })`,
      );
    }
    const { status } = checkpoint.run;
    throw new AnswerError(
      "not_open",
      runId,
      undefined,
      `no wait ${name}${
        key === undefined ? "" : ` with the key ${key}`
      } is open, the run is ${status}; list its open waits with waits({ runId })`,
    );
  }

  /** Lets others go first: a time by chance, and longer with each try. */
  async #pause(tries: number): Promise<void> {
    const { runtime } = this.#deps;
    const delay = runtime.random() * Math.min(LONGEST_PAUSE_MS, 2 ** tries);
    await new Promise<void>((resolve) => void runtime.wakeIn(delay, resolve));
  }

  /** One try to accept an answer; false when the mailbox has changed meanwhile. */
  async #accept(runId: string, waitId: string, value: unknown, mayRetry: boolean): Promise<boolean> {
    const { graph, runtime, store } = this.#deps;
    const { head, open, closed, mailbox: found } = await store.wait(runId, waitId);
    if (head === null) throw new CheckpointNotFoundError(runId);
    const at = runtime.now();
    if (found === null || open === null || closed !== null || (open.deadline ?? Infinity) <= at) {
      const { checkpoint, mailbox } = await this.#loader.stored(runId);
      const posted = mailbox.content.answers.some((a) => a.waitId === waitId);
      // It was opened between the two reads.
      if (mayRetry && closed === null && !posted && isAnswerable(checkpoint, waitId, at)) return false;
      throw refusal(graph, checkpoint, waitId, closed, posted, at);
    }
    const { graphId, openedAt } = open;
    if (graphId !== graph.id) throw new GraphMismatchError(runId, graph.id, graphId);
    const { graphVersion } = decodeMailbox(found, defaultCodec, runId);
    const answer = graphVersion === graph.version
      ? checkedAnswer(this.#deps, open, value)
      : await this.#foreign(open, value);
    return await this.#posts.post(runId, {
      waitId,
      value: answer,
      at,
      openedAt,
      graphId,
      found,
      epoch: head.position.epoch,
      revision: head.position.revision,
    });
  }

  /** The answer to a run of another version; without a stored schema only the code of that version can judge. */
  async #foreign(open: WaitRow, value: unknown): Promise<unknown> {
    const wait = inboxOf({ rows: [open] }).rows[0]!;
    if (wait.kind === "answer" && wait.schema === undefined) {
      await this.#loader.load(open.runId, { state: false });
    }
    return foreignAnswer(this.#deps, wait, value);
  }
}

/** More than any number of processes that answer, or reopen, one wait at once. */
const MAX_TRIES = 1_000;

/** So many tries follow one another without a pause. */
const AT_ONCE = 3;

const LONGEST_PAUSE_MS = 250;
