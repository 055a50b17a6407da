import type { RunView } from "../engine/result.ts";
import { ArgumentError, RunExistsError } from "../errors.ts";
import { timeOf, toMs } from "../model/durations.ts";
import { compareIds } from "../model/ids.ts";
import { fromJson } from "../model/json.ts";
import type { RunRecord } from "../model/run.ts";
import type { Api } from "./api.ts";
import type { Caller } from "./auth.ts";
import type { HttpRunner } from "./served.ts";
import type { StartRequest } from "./wire_requests.ts";

/**
 * Stores a run as a request asks for. The same key of the same caller, for the same graph and with the same body, is the
 * same run, however often and wherever it is sent; nothing but the run itself is stored of that.
 *
 * @returns the run, and whether it is another one that was live under the key of a singleton
 * @throws {RunExistsError} the key or id was used with another body
 */
export async function submit(
  { runtime }: Api,
  runner: HttpRunner,
  caller: Caller,
  key: string | undefined,
  { input = {}, deadline, ...rest }: StartRequest,
): Promise<{ readonly run: RunRecord; readonly skipped: boolean }> {
  const now = runtime.now();
  const due = deadline === undefined ? undefined : dueOf(deadline, now);
  const { runId, skipped = false } = await runner.submit(fromJson(input, "the input"), {
    ...rest,
    ...(due === undefined ? {} : { deadline: new Date(due.at) }),
    ...(key === undefined ? {} : { idempotencyKey: JSON.stringify([caller.id, key]) }),
  });
  if (!skipped && (key !== undefined || rest.runId !== undefined)) await checkSame(runner, runId, rest, due);
  return { run: await runner.status(runId), skipped };
}

/** When a run is to be over, and how long after its start that is, where it was said so. */
interface Due {
  readonly at: number;
  readonly after?: number;
}

function dueOf(deadline: number | string, now: number): Due {
  const after = toMs(deadline);
  if (after !== undefined && timeOf(after, now) !== undefined) return { at: now + after, after };
  const at = typeof deadline === "string" && /^\d{4}-\d\d-\d\dT/.test(deadline) ? Date.parse(deadline) : NaN;
  if (Number.isFinite(at)) return { at };
  throw new ArgumentError(
    "deadline",
    `it is ${JSON.stringify(deadline)}; give a duration such as "2h", or an ISO 8601 time`,
  );
}

/** The engine compares inputs; the rest of what a run was started with stands in its first record. */
async function checkSame(
  runner: HttpRunner,
  runId: string,
  { tags = [], maxSteps }: Pick<StartRequest, "tags" | "maxSteps">,
  due: Due | undefined,
): Promise<void> {
  const { rows: [first] } = await runner.history(runId, { limit: 1 });
  const created = first?.events.find((event) => event.type === "created");
  // The beginning of a long history may have been cut off.
  if (created === undefined) return;
  if ([...new Set(tags)].sort(compareIds).join() !== created.tags.join()) {
    throw new RunExistsError(runId, "other tags");
  }
  if (maxSteps !== undefined && maxSteps !== created.maxSteps) {
    throw new RunExistsError(runId, "another maxSteps");
  }
  if (!isSameDue(due, created.deadline, first!.at)) throw new RunExistsError(runId, "another deadline");
}

function isSameDue(due: Due | undefined, stored: number | undefined, startedAt: number): boolean {
  if (due === undefined || stored === undefined) return due?.at === stored;
  return due.after === undefined
    ? due.at === stored
    : Math.abs(stored - startedAt - due.after) < TOLERANCE_MS;
}

/** Between the reading of the clock and the record of a start. */
const TOLERANCE_MS = 10_000;

/** What a run comes to within so many milliseconds: its end, or what it is interrupted by. */
export async function settled(
  { runtime, signal, streams }: Api,
  runner: HttpRunner,
  { runId, status, revision }: RunRecord,
  ms: number,
): Promise<RunView<unknown> | undefined> {
  if (ms <= 0) return undefined;
  if (status === "running") {
    const patience = new AbortController();
    const enough = () => patience.abort();
    const timer = runtime.wakeIn(ms, enough, { keepAlive: false });
    signal.addEventListener("abort", enough);
    try {
      const { poll } = streams;
      for await (const entry of runner.follow(runId, { from: revision + 1, poll, signal: patience.signal })) {
        if (entry.status !== "running") break;
      }
    } finally {
      timer.cancel();
      signal.removeEventListener("abort", enough);
    }
  }
  const view = await runner.get(runId);
  return view.status === "running" ? undefined : view;
}
