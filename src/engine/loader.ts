import type { LoadOptions } from "../checkpoint/cursor.ts";
import type { Cursor } from "../checkpoint/log.ts";
import type { StateValidator } from "../checkpoint/validate.ts";
import {
  CheckpointDecodeError,
  CheckpointNotFoundError,
  GraphMismatchError,
  GraphVersionMismatchError,
  reasonOf,
  ResumeTerminalError,
} from "../errors.ts";
import { canonicalForm, describeVersionDifference } from "../graph/mod.ts";
import { defined } from "../model/defined.ts";
import { isOver, type RunRecord } from "../model/run.ts";
import { crossing } from "./change/crossing.ts";
import { formOf } from "./change/form_of.ts";
import type { RunnerDeps } from "./runner_deps.ts";
import { validateCheckpoint } from "./load.ts";

/** What to read of a run. */
interface LoadRunOptions {
  /** Whether the state is decoded. @default true */
  readonly state?: boolean;
  /** Whether a run that is over is refused, before its state is looked at. @default false */
  readonly unfinished?: boolean;
  /** Which revision; nothing can be appended after one that is not the newest. @default the newest */
  readonly revision?: number;
}

/** Reads runs of one graph: whatever it returns can be worked on by this code, anything else is a typed error. */
export class Loader<S> {
  readonly #deps: RunnerDeps<S>;
  readonly #validator: StateValidator<S>;

  constructor(deps: RunnerDeps<S>, validator: StateValidator<S>) {
    this.#deps = deps;
    this.#validator = validator;
  }

  /** The run as of a record of it. Judged in order: its identity, graph, version, end, state, and the rest. */
  async load(runId: string, options: LoadRunOptions = {}): Promise<Cursor<S>> {
    const { graph } = this.#deps;
    const cursor = await this.#read(runId, options, async (run) => {
      this.#ofGraph(run);
      if (run.graphVersion !== graph.version) {
        const difference = await this.#difference(run);
        throw new GraphVersionMismatchError(runId, graph.version, run.graphVersion, difference);
      }
      if (options.unfinished === true && isOver(run.status)) throw new ResumeTerminalError(runId, run.status);
    });
    return options.state === false ? cursor : this.#judged(cursor);
  }

  /** The cursor with its state as the schema has it, once it is known that this code can work on it. */
  #judged(cursor: Cursor<S>): Cursor<S> {
    const { runId } = cursor.checkpoint.run;
    let state: S;
    try {
      state = this.#validator.load(cursor.state);
    } catch (cause) {
      const remedy = "give fields that are new a default, or move the run to the new schema by a migration";
      throw new CheckpointDecodeError(runId, "State", `${reasonOf(cause)}; ${remedy}`, { cause });
    }
    validateCheckpoint(this.#deps.graph, cursor.checkpoint);
    return state === cursor.state ? cursor : { ...cursor, state, isCompleted: true };
  }

  /**
   * The run as this code sees it, for those who only read: one of another version as it would be taken over. Nothing can be
   * appended after it.
   *
   * @throws {GraphVersionMismatchError} naming the first thing that does not fit
   */
  async seen(runId: string, { revision }: Pick<LoadRunOptions, "revision"> = {}): Promise<Cursor<S>> {
    const { graph, log } = this.#deps;
    const cursor = await this.#read(runId, defined({ revision }), (run) => this.#ofGraph(run));
    const { run } = cursor.checkpoint;
    if (run.graphVersion === graph.version) return this.#judged(cursor);
    const found = crossing(this.#deps, cursor, await formOf(log, run));
    if ("refusal" in found) {
      const { refusal, thrown } = found;
      throw new GraphVersionMismatchError(runId, graph.version, run.graphVersion, refusal, thrown);
    }
    const { checkpoint, state } = found;
    validateCheckpoint(graph, checkpoint);
    // It is shown as this code has it, but is still of the version that it is stored under.
    return { ...cursor, checkpoint: { ...checkpoint, run }, state };
  }

  /** The run as it is stored, of whatever version of the graph, without its state. */
  stored(runId: string): Promise<Cursor<S>> {
    return this.#read(runId, { state: false }, (run) => this.#ofGraph(run));
  }

  async #read(
    runId: string,
    { revision, state }: LoadRunOptions,
    verify: NonNullable<LoadOptions["verify"]>,
  ): Promise<Cursor<S>> {
    const { log } = this.#deps;
    const options = { verify, ...defined({ state }) };
    const cursor =
      await (revision === undefined ? log.load(runId, options) : log.at(runId, revision, options));
    if (cursor === undefined) throw new CheckpointNotFoundError(runId);
    return cursor;
  }

  #ofGraph({ runId, graphId }: RunRecord): void {
    const { id } = this.#deps.graph;
    if (graphId !== id) throw new GraphMismatchError(runId, id, graphId);
  }

  async #difference(run: RunRecord): Promise<string> {
    const form = await formOf(this.#deps.log, run);
    return form === ""
      // A fork of a run whose beginning was cut off does not know it either.
      ? "its beginning is no longer stored"
      : describeVersionDifference(form, canonicalForm(this.#deps.graph));
  }
}
