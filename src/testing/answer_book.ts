import { BuildError } from "../errors.ts";
import type { InboxEntry } from "../engine/history.ts";
import type { Runner } from "../engine/runner.ts";
import { compareIds } from "../model/ids.ts";
import { rowsOf } from "../model/pages.ts";
import type { WaitDefinition } from "../model/wait.ts";

/** Decides the answer of an open wait; `undefined` leaves it open. */
export type AnswerFunction = (wait: InboxEntry) => unknown;

/**
 * The answer to every opening of a wait; an array holds one per opening, in the order of opening, then of vertex id and
 * item, and later openings stay open; a function decides for each. An answer that is an array itself goes into an array.
 */
export type FakeAnswer = AnswerFunction | object | string | number | boolean | bigint | null;

/** Answers by the name of the wait; the low-level `ctx.interrupt` waits under the name `interrupt`. */
export type FakeAnswers = Readonly<Record<string, FakeAnswer>>;

/** Gives the same answer to the same wait, however often and from whatever engine it is asked. */
export class AnswerBook {
  readonly #answers: FakeAnswers;
  /** Positions among the openings of a name, by wait id. */
  readonly #positions = new Map<string, Map<string, number>>();

  /** @throws {BuildError} when no vertex of the graph declares a wait that is answered here */
  constructor(graph: WaitingGraph, answers: FakeAnswers) {
    this.#answers = answers;
    const declared = new Set([...graph.vertices.values()].flatMap((v) => [...v.waits.keys()]));
    for (const name of Object.keys(answers)) {
      if (name === "interrupt" || declared.has(name)) continue;
      throw new BuildError(
        "testRunner",
        `the answers name the wait ${JSON.stringify(name)}, which graph ${graph.id} does not declare ` +
          `(declared: ${[...declared].join(", ") || "none"})`,
      );
    }
  }

  /** Answers every open wait of a run that there is an answer for; true when it has answered any. */
  async give<S>(runner: Runner<S>, runId: string, now: number): Promise<boolean> {
    const open: InboxEntry[] = [];
    for await (const wait of rowsOf((start) => runner.waits({ runId, ...start }))) open.push(wait);
    // Waits of one moment are listed by their ids, which say nothing to the author of a test.
    open.sort((a, b) =>
      a.openedAt - b.openedAt || compareIds(a.vertexId, b.vertexId) || (a.item ?? 0) - (b.item ?? 0)
    );
    let given = false;
    for (const wait of open) {
      if (wait.deadline !== undefined && wait.deadline <= now) continue;
      const value = await this.#answer(wait);
      if (value === undefined) continue;
      await runner.answer(runId, wait.waitId, value);
      given = true;
    }
    return given;
  }

  #answer(wait: InboxEntry): unknown {
    const answer = Object.hasOwn(this.#answers, wait.name) ? this.#answers[wait.name] : undefined;
    if (typeof answer === "function") return (answer as AnswerFunction)(wait);
    if (!Array.isArray(answer)) return answer;
    const positions = this.#positions.get(wait.name) ?? new Map<string, number>();
    this.#positions.set(wait.name, positions);
    const position = positions.get(wait.waitId) ?? positions.size;
    positions.set(wait.waitId, position);
    return answer[position];
  }
}

/** What an answer book needs to know of a graph. */
interface WaitingGraph {
  readonly id: string;
  readonly vertices: ReadonlyMap<string, { readonly waits: ReadonlyMap<string, WaitDefinition> }>;
}
