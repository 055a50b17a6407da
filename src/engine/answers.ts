import { storedRefusals } from "../checkpoint/stored_schema.ts";
import { parseStable } from "../checkpoint/validate.ts";
import { canonical } from "../checkpoint/canonical.ts";
import type { Cursor } from "../checkpoint/log.ts";
import type { EventOf } from "../checkpoint/records.ts";
import {
  AnswerError,
  type AnswerRefusal,
  ArgumentError,
  isSuperstepError,
  reasonOf,
  ValidationError,
} from "../errors.ts";
import { type Checkpoint, type Execution, refOf } from "../model/checkpoint.ts";
import type { CompiledGraph } from "../model/definition.ts";
import { isOpen, type WaitState } from "../model/wait.ts";
import type { ClosedWait } from "../store/store.ts";
import type { RunnerDeps } from "./runner_deps.ts";
import { isForeignWaitId, isWaitIdOf } from "./ids.ts";
import { type OpenWait, openWaitsOf } from "./result.ts";
import type { InboxEntry } from "./history.ts";
import type { ResumeOptions } from "./options.ts";

/** The answer as it will be stored, judged by what the wait declares. */
export function checkedAnswer<S>(
  { graph, measureOutput }: Pick<RunnerDeps<S>, "graph" | "measureOutput">,
  at: { readonly runId: string; readonly waitId: string; readonly vertexId: string; readonly name: string },
  value: unknown,
): unknown {
  const what = `the answer to wait ${at.name}`;
  try {
    const schema = graph.vertices.get(at.vertexId)?.waits.get(at.name)?.schema;
    const given = canonical(value, what);
    measureOutput(given, what);
    if (schema === undefined) return given;
    const parsed = parseStable(schema, given, what, ADVICE);
    measureOutput(parsed, what);
    return parsed;
  } catch (error) {
    if (!isSuperstepError(error)) throw error;
    const issues = (error as { issues?: unknown }).issues;
    const refused = new AnswerError(
      "invalid",
      at.runId,
      at.waitId,
      reasonOf(error),
      undefined,
      issues ? { issues } : {},
    );
    refused.cause = error;
    throw refused;
  }
}

/**
 * The answer to a wait of a run whose version is not that of this code, judged by the schema that was stored with the wait;
 * where this code would take the run over, also by what it declares, for its bodies get the answer then.
 */
export function foreignAnswer<S>(
  deps: Pick<RunnerDeps<S>, "graph" | "measureOutput" | "adopts">,
  at: InboxEntry,
  value: unknown,
): unknown {
  const what = `the answer to wait ${at.name}`;
  if (deps.adopts) checkedAnswer(deps, at, value);
  const given = canonical(value, what);
  deps.measureOutput(given, what);
  const issues = at.kind === "answer" ? storedRefusals(at.schema, given) : undefined;
  if (issues === undefined) return given;
  const problem = reasonOf(new ValidationError(what, issues));
  throw new AnswerError("invalid", at.runId, at.waitId, problem, undefined, { issues });
}

const ADVICE =
  "An answer is validated again when it is read: move transforms out of the wait's schema, into the body";

/** The results that a `resume` brings itself, in ascending wait id; refuses all of them when one cannot be taken. */
export function resumeAnswers<S>(
  deps: Pick<RunnerDeps<S>, "graph" | "measureOutput">,
  cursor: Cursor<S>,
  options: ResumeOptions,
  now: number,
): EventOf<"resolved">[] {
  const { graph } = deps;
  const { checkpoint, mailbox } = cursor;
  const { runId, caller } = checkpoint.run;
  const posted = new Set(mailbox.content.answers.map((a) => a.waitId));
  const called = caller !== undefined;
  // What a caller hands down was accepted in time, however late it comes.
  const open = openWaitsOf(checkpoint).filter((w) =>
    w.kind !== "timer" && !posted.has(w.waitId) && (w.due === undefined || w.due > now || called)
  );
  const gives = "payload" in options || options.answers !== undefined || options.expired !== undefined;
  if (gives && called && options.caller?.runId !== caller.runId) {
    throw new AnswerError(
      "foreign",
      runId,
      undefined,
      `it is answered in the run that called it, ${caller.runId}`,
    );
  }
  if (gives && !called && (checkpoint.run.deadline ?? Infinity) <= now) throw tooLate(runId, undefined);
  if (options.expired !== undefined && !called) {
    throw new ArgumentError(
      "resume",
      "expired is given for a run that has no caller; its waits expire by themselves",
    );
  }
  let answers = Object.entries(options.answers ?? {});
  const { wait, all = false } = options;
  if ("payload" in options) {
    // What is named is answered by its name alone.
    const left = open.filter((w) => !answers.some(([waitId]) => waitId === w.waitId));
    const meant = wait === undefined ? left : left.filter((w) => w.kind === "answer" && w.name === wait.name);
    if (meant.length === 0 || (meant.length > 1 && !all)) {
      const waits = wait === undefined ? "wait" : `wait ${wait.name}`;
      throw new AnswerError(
        "ambiguous",
        runId,
        undefined,
        meant.length === 0
          ? `no ${waits} is open${open.length === 0 ? "; resume without a payload" : `, but ${listed(open)}`}`
          : `${meant.length} ${waits.replace("wait", "waits")} are open: ${
            listed(meant)
          }; name them in \`answers\`, or give \`all: true\``,
        undefined,
        { waits: meant.map((w) => w.waitId) },
      );
    }
    answers = [...answers, ...meant.map((w) => [w.waitId, options.payload] as [string, unknown])];
  } else if (wait !== undefined) {
    throw new ArgumentError("resume", `the wait ${wait.name} is given without a payload; give its answer`);
  }
  const resolved = (
    waitId: string,
    result: (wait: OpenWait) => EventOf<"resolved">["result"],
  ): EventOf<"resolved"> => {
    const wait = open.find((w) => w.waitId === waitId);
    if (wait === undefined) throw refusal(graph, checkpoint, waitId, null, posted.has(waitId), now);
    return {
      type: "resolved",
      ...refOf(wait),
      id: waitId,
      result: result(wait),
    };
  };
  return [
    ...answers.map(([waitId, value]) =>
      resolved(waitId, (wait) => {
        return { kind: "answered", value: checkedAnswer(deps, { ...wait, runId }, value), at: now };
      })
    ),
    ...(options.expired ?? []).map((waitId) => resolved(waitId, () => ({ kind: "expired", at: now }))),
  ];
}

/** The refusal of an answer to a run that is cancelled, or about to be. */
export function cancelled(runId: string, waitId: string): AnswerError {
  return new AnswerError("closed", runId, waitId, "the run was cancelled");
}

/** The refusal of an answer to a run whose deadline has passed, whether or not that is recorded. */
export function tooLate(runId: string, waitId: string | undefined): AnswerError {
  return new AnswerError("expired", runId, waitId, "the deadline of its run has passed");
}

/** Open waits for a message. */
export function listed(
  waits: readonly Pick<OpenWait, "waitId" | "name" | "key" | "vertexId" | "item">[],
): string {
  const shown = waits.slice(0, MOST_LISTED).map(({ waitId, name, key, vertexId, item }) =>
    `${waitId} (${name}${key === undefined ? "" : ` ${key}`} of ${vertexId}${
      item === undefined ? "" : ` item ${item}`
    })`
  );
  const rest = waits.length - shown.length;
  return `${shown.join(", ")}${rest === 0 ? "" : ` and ${rest} more`}`;
}

const MOST_LISTED = 20;

/** Why an id cannot be answered, as exactly as the run tells. */
export function refusal<S>(
  graph: CompiledGraph<S>,
  checkpoint: Checkpoint,
  waitId: string,
  closed: ClosedWait | null,
  posted: boolean,
  now: number,
): AnswerError {
  const { runId, revision, caller } = checkpoint.run;
  const say = (reason: AnswerRefusal, problem: string, at?: number) =>
    new AnswerError(reason, runId, waitId, problem, at);
  if (posted) return say("answered", `another answer was accepted at revision ${revision}`, revision);
  const known = find(checkpoint, waitId);
  if (closed?.reason === "answered" || known?.wait.result?.kind === "answered") {
    const at = closed?.revision ?? revision;
    return say("answered", `another answer was accepted at revision ${at}`, at);
  }
  if (caller !== undefined && known !== undefined && known.wait.kind !== "timer" && isOpen(known.wait)) {
    return say("foreign", `it is answered in the run that called this one, ${caller.runId}`);
  }
  if (closed?.reason === "expired" || known?.wait.result?.kind === "expired" || isLate(known?.wait, now)) {
    return say("expired", "its deadline has passed", closed?.revision);
  }
  if (closed !== null || known !== undefined) {
    return say(
      "closed",
      `it was closed (${closed?.reason ?? known?.wait.closed ?? "a timer"})`,
      closed?.revision,
    );
  }
  if (isForeignWaitId(runId, waitId)) return say("foreign", "the wait belongs to another run");
  if (checkpoint.run.status === "cancelled") return cancelled(runId, waitId);
  return mayOpen(graph, checkpoint, waitId)
    ? say("not_open", "it has not been opened yet; answer it once the run waits for it")
    : say("unknown", "the run has no such wait; list its open waits with waits({ runId })");
}

function isLate(wait: WaitState | undefined, now: number): boolean {
  return wait !== undefined && wait.closed === undefined && wait.due !== undefined && wait.due <= now &&
    wait.kind !== "timer";
}

function find(checkpoint: Checkpoint, waitId: string): { execution: Execution; wait: WaitState } | undefined {
  for (const execution of checkpoint.executions.values()) {
    const wait = execution.waits.get(waitId);
    if (wait !== undefined) return { execution, wait };
  }
  return undefined;
}

/**
 * Whether the id may be that of an opening which an execution of the current step is still to make. An id says nothing of the
 * key, the item and the number that it was made from, so any id of this run may be one.
 */
function mayOpen<S>(graph: CompiledGraph<S>, { run, frontier }: Checkpoint, waitId: string): boolean {
  return isWaitIdOf(run.runId, waitId) &&
    frontier.some((id) => (graph.vertices.get(id)?.waits.size ?? 0) > 0);
}

/** Whether the wait is open and may be answered in its own run. */
export function isAnswerable(checkpoint: Checkpoint, waitId: string, now: number): boolean {
  const wait = find(checkpoint, waitId)?.wait;
  return checkpoint.run.caller === undefined && wait !== undefined &&
    wait.kind !== "timer" && isOpen(wait) && !isLate(wait, now);
}
