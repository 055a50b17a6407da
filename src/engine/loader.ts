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
import { isOver } from "../model/run.ts";
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
    const { graph, log } = this.#deps;
    const { revision, ...what } = options;
    const load: LoadOptions = {
      ...what,
      verify: async ({ graphId, graphVersion, status }) => {
        if (graphId !== graph.id) throw new GraphMismatchError(runId, graph.id, graphId);
        if (graphVersion !== graph.version) {
          throw new GraphVersionMismatchError(
            runId,
            graph.version,
            graphVersion,
            await this.#difference(runId),
          );
        }
        if (options.unfinished === true && isOver(status)) {
          throw new ResumeTerminalError(runId, status);
        }
      },
    };
    const cursor = await (revision === undefined ? log.load(runId, load) : log.at(runId, revision, load));
    if (cursor === undefined) throw new CheckpointNotFoundError(runId);
    if (options.state === false) return cursor;
    let state: S;
    try {
      state = this.#validator.load(cursor.state);
    } catch (cause) {
      const remedy = "give fields that are new a default, or move the run to the new schema by a migration";
      throw new CheckpointDecodeError(runId, "State", `${reasonOf(cause)}; ${remedy}`, { cause });
    }
    validateCheckpoint(graph, cursor.checkpoint);
    return state === cursor.state ? cursor : { ...cursor, state, isCompleted: true };
  }

  async #difference(runId: string): Promise<string> {
    const beginning = await this.#deps.log.history(runId, 0, BEGINNING);
    const begun = beginning.flatMap(({ events }) => events)
      .findLast((e) => e.type === "created" || e.type === "forked" || e.type === "adopted");
    // A fork of a run whose beginning was cut off does not know it either.
    return begun === undefined || begun.form === ""
      ? "its beginning is no longer stored"
      : describeVersionDifference(begun.form, canonicalForm(this.#deps.graph));
  }
}

/** A run moves to other versions only before it has begun. */
const BEGINNING = 20;
