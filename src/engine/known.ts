import { ArgumentError } from "../errors.ts";
import { type KnownOptions, ON_OFF, optionProblem } from "../model/known_options.ts";
import { PRIORITIES } from "../model/flow.ts";
import type { InterruptReason, RunStatus } from "../model/run.ts";
import type { PurgeQuery } from "./operations/purge.ts";
import type { ForkOptions } from "./operations/fork.ts";
import type { ResumeOptions, StartOptions, SubmitOptions, WorkOptions } from "./options.ts";

const BEGIN = {
  runId: true,
  idempotencyKey: true,
  tags: true,
  deadline: true,
  maxSteps: true,
  priority: PRIORITIES,
  signal: true,
} as const;

const SUBMIT = { ...BEGIN, at: true } satisfies KnownOptions<keyof SubmitOptions>;

const WORK = {
  maxSteps: true,
  concurrency: true,
  checkpointEvery: ["vertex", "step"],
  signal: true,
  drain: true,
  hooks: true,
} satisfies KnownOptions<keyof WorkOptions>;

const RESUME = {
  ...WORK,
  payload: true,
  wait: true,
  all: ON_OFF,
  answers: true,
  caller: true,
  expired: true,
  takeover: ON_OFF,
} satisfies KnownOptions<keyof ResumeOptions>;

const WHICH = {
  status: ["running", "completed", "interrupted", "cancelled"] satisfies RunStatus[],
  reason: ["halted", "errored", "awaiting", "sleeping"] satisfies InterruptReason[],
  tag: true,
} as const;

type Op = "start" | "submit" | "resume" | "recover" | "fork" | "list" | "purge";

const KNOWN: Readonly<Record<Op, KnownOptions<string>>> = {
  start: { ...BEGIN, ...WORK, caller: true } satisfies KnownOptions<keyof StartOptions>,
  submit: SUBMIT,
  // An id that is given once more changes nothing.
  resume: { ...RESUME, runId: true },
  recover: WORK,
  fork: { state: true, runId: true, tags: true } satisfies KnownOptions<keyof ForkOptions<unknown>>,
  list: {
    ...WHICH,
    activity: ["queued", "working", "waiting", "stranded"],
    reason: [...WHICH.reason, "queued"],
    cursor: true,
    limit: true,
  },
  purge: { ...WHICH, runId: true, olderThan: true, force: ON_OFF } satisfies KnownOptions<keyof PurgeQuery>,
};

const MISPLACED_OPTIONS = {
  submit: {
    concurrency: "it is an option of the worker that takes the run",
    checkpointEvery: "it is an option of whoever works on the run",
    hooks: "give them to compile",
  },
} as const;

/**
 * Refuses an option that nobody reads, such as `runID`: a start under another id than was meant would be another run; and a
 * value that means nothing, such as the text "false" for `force`.
 */
export function checkOptions(op: Op, options: object): void {
  const problem = optionProblem(options, KNOWN[op], op === "submit" ? MISPLACED_OPTIONS.submit : {});
  if (problem !== undefined) throw new ArgumentError(op, problem);
}
