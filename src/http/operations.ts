import type { ResumeOptions } from "../engine/options.ts";
import type { RunView } from "../engine/result.ts";
import { reasonOf } from "../errors.ts";
import { fromJson } from "../model/json.ts";
import type { RunRecord } from "../model/run.ts";
import type { Api } from "./api.ts";
import { HttpFault } from "./faults.ts";
import type { HttpRunner } from "./served.ts";
import type { ForkRequest, ResumeRequest, StateRequest } from "./wire_requests.ts";

/** Claims a run and goes on with it in this process; resolves when the claim stands, or when there is nothing to do. */
export async function resumed(
  { logger, closing }: Api,
  runner: HttpRunner,
  { runId }: RunRecord,
  { answers, ...request }: ResumeRequest,
): Promise<void> {
  const options: ResumeOptions = {
    ...request,
    ...("payload" in request ? { payload: fromJson(request.payload, "the payload") } : {}),
    ...(answers === undefined ? {} : { answers: valuesOf(answers, "the answer to") }),
    signal: closing,
  };
  await new Promise<void>((resolve, reject) => {
    let claimed = false;
    const hooks = {
      checkpoint: () => {
        claimed = true;
        resolve();
      },
    };
    runner.resume(runId, { ...options, hooks }).then(() => resolve(), (error) => {
      if (!claimed) return reject(error);
      logger.warn(`superstep: run ${runId}, resumed over HTTP, was let go: ${reasonOf(error)}`, { runId });
    });
  });
}

/** Begins a run where another one was. */
export async function forked(
  runner: HttpRunner,
  { runId }: RunRecord,
  { revision, ...request }: ForkRequest,
): Promise<RunRecord> {
  const state = "state" in request ? { state: fromJson(request.state, "the state") } : {};
  const made = await runner.fork(runId, revision, { ...request, ...state });
  return await runner.status(made.runId);
}

/** Edits the state of a run: all of it, or some of its fields. */
export async function edited(
  runner: HttpRunner,
  { runId }: RunRecord,
  request: StateRequest,
): Promise<RunView<unknown>> {
  if ("state" in request) {
    const state = fromJson(request.state, "the state");
    return await runner.update(runId, () => state);
  }
  const { set = {}, unset = [] } = request;
  const values = valuesOf(set, "the field");
  return await runner.update(runId, (state: unknown) => {
    if (typeof state !== "object" || state === null || Array.isArray(state)) {
      throw new HttpFault("BAD_REQUEST", {
        issues: [{ path: "", message: "the state has no fields; give all of it" }],
      });
    }
    const fields = state as Record<string, unknown>;
    for (const field of unset) delete fields[field];
    Object.assign(fields, values);
  });
}

function valuesOf(
  values: Readonly<Record<string, unknown>>,
  what: string,
): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(values).map(([key, value]) => [key, fromJson(value, `${what} ${key}`)]),
  );
}
