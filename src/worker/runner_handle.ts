import type { HistoryQuery } from "../engine/history.ts";
import type { ResumeOptions, StartOptions, SubmitOptions } from "../engine/options.ts";
import type { Cancellation } from "../engine/operations/cancel.ts";
import type { FailedVertex, OpenWait, RunView } from "../engine/result.ts";
import type { RunQuery } from "../engine/activity.ts";
import type { Runner } from "../engine/runner.ts";
import type { Topology } from "../graph/mod.ts";
import { fromJson, type Json, toJson } from "../model/json.ts";
import type { Halt, InterruptReason, RunRecord, RunStatus } from "../model/run.ts";
import type { CatalogRow, Page, WaitQuery } from "../store/store.ts";
import type { GraphKey } from "./control_plane.ts";

/** A run as JSON: what {@link RunView} is, with plain data in the place of errors. */
export interface RunJson {
  /** Its identity and bookkeeping. */
  readonly run: RunRecord;
  /** What it is at. */
  readonly status: RunStatus;
  /** The state after the newest step, with the outcomes so far of the one under way. */
  readonly state: Json;
  /** The vertices that ran, in order; the newest 1 000 of them. */
  readonly path: readonly string[];
  /** Why it is interrupted, if it is. */
  readonly reason?: InterruptReason;
  /** The waits that are open, timers included, of an interrupted run. */
  readonly waits?: readonly (Omit<OpenWait, "info"> & { readonly info?: Json })[];
  /** The ids of the waits whose answer is accepted and not taken in yet, of an interrupted run. */
  readonly answered?: readonly string[];
  /** The vertices and items that failed for good, of an interrupted run. */
  readonly failures?: readonly (Omit<FailedVertex, "error" | "failure"> & { readonly failure: Json })[];
  /** The run-level fault, if there is one. */
  readonly halt?: Halt;
  /** Why it was cancelled, if it was. */
  readonly cancelReason?: string;
}

/** Options of {@link RunnerHandle.resume}; answers are JSON. */
export interface ResumeJsonOptions extends Omit<ResumeOptions, "payload" | "answers"> {
  /** As in {@link ResumeOptions}. */
  readonly payload?: Json;
  /** As in {@link ResumeOptions}. */
  readonly answers?: Readonly<Record<string, Json>>;
}

/**
 * A runner whose inputs, answers and states are JSON, for callers that do not know its types. Values that JSON does not
 * have are tagged, such as `{"$date": "2026-01-01T00:00:00.000Z"}`, and come back as they were; whatever comes in is
 * judged by the schema of the workflow or of the wait. Errors are those of the runner.
 */
export interface RunnerHandle extends GraphKey {
  /** As {@link Runner.topology}. */
  topology(): Topology;
  /** As {@link Runner.run}; without an input the schema is given `{}`. */
  run(input?: Json, options?: StartOptions): Promise<RunJson>;
  /** As {@link Runner.submit}. */
  submit(input?: Json, options?: SubmitOptions): Promise<{ readonly runId: string }>;
  /** As {@link Runner.resume}. */
  resume(runId: string, options?: ResumeJsonOptions): Promise<RunJson>;
  /** As {@link Runner.answer}. */
  answer(runId: string, waitId: string, value: Json): Promise<void>;
  /** As {@link Runner.cancel}. */
  cancel(runId: string, reason?: string): Promise<Cancellation>;
  /** As {@link Runner.status}. */
  status(runId: string): Promise<RunRecord>;
  /** As {@link Runner.get}. */
  get(runId: string): Promise<RunJson>;
  /** As {@link Runner.history}. */
  history(runId: string, query?: HistoryQuery): Promise<Page<Json>>;
  /** As {@link Runner.list}. */
  list(query?: RunQuery): Promise<Page<CatalogRow>>;
  /** As {@link Runner.waits}. */
  waits(query?: Omit<WaitQuery, "graphId">): Promise<Page<Json>>;
}

/** The JSON handle of a runner. */
export function runnerHandle<S, I>(runner: Runner<S, I>): RunnerHandle {
  // What the schema does not take is refused by it: the type of the input says nothing here.
  const inputOf = (input: Json | undefined) => fromJson(input === undefined ? {} : input, "the input") as I;
  return Object.freeze(
    {
      graphId: runner.graph.id,
      graphVersion: runner.graph.version,
      topology: () => runner.topology(),
      run: async (input, options) => runJson(await runner.run(inputOf(input), options)),
      submit: async (input, options) => await runner.submit(inputOf(input), options),
      resume: async (runId, { payload, answers, ...options } = {}) =>
        runJson(
          await runner.resume(runId, {
            ...options,
            ...(payload === undefined ? {} : { payload: fromJson(payload, "the payload") }),
            ...(answers === undefined ? {} : { answers: answersFrom(answers) }),
          }),
        ),
      answer: async (runId, waitId, value) =>
        await runner.answer(runId, waitId, fromJson(value, "the answer")),
      cancel: (runId, reason) => runner.cancel(runId, reason),
      status: (runId) => runner.status(runId),
      get: async (runId) => runJson(await runner.get(runId)),
      history: async (runId, query) => pageJson(await runner.history(runId, query)),
      list: (query) => runner.list(query),
      waits: async (query) => pageJson(await runner.waits(query)),
    } satisfies RunnerHandle,
  );
}

function answersFrom(answers: Readonly<Record<string, Json>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(answers).map(([waitId, value]) => [waitId, fromJson(value, `the answer to ${waitId}`)]),
  );
}

/** A run as JSON. */
export function runJson<S>(view: RunView<S>): RunJson {
  const { run, status, path } = view;
  const base = { run, status, state: toJson(view.state), path };
  switch (view.status) {
    case "running":
    case "completed":
      return base;
    case "cancelled":
      return { ...base, cancelReason: view.cancelReason };
    case "interrupted":
      return {
        ...base,
        reason: view.reason,
        waits: view.waits.map((wait) =>
          "info" in wait ? { ...wait, info: toJson(wait.info) } : wait as never
        ),
        answered: view.answered,
        failures: view.failures.map(({ error: _, failure, ...rest }) => ({
          ...rest,
          failure: toJson(failure),
        })),
        ...(view.halt === undefined ? {} : { halt: withoutError(view.halt) }),
      };
  }
}

function withoutError<T extends { readonly error: unknown }>({ error: _, ...rest }: T): Omit<T, "error"> {
  return rest;
}

function pageJson<T>({ rows, cursor }: Page<T>): Page<Json> {
  return { rows: rows.map(toJson), ...(cursor === undefined ? {} : { cursor }) };
}
