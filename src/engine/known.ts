import { ArgumentError } from "../errors.ts";
import { type KnownOptions, optionProblem } from "../model/known_options.ts";
import type { ForkOptions } from "./operations/fork.ts";
import type { ResumeOptions, StartOptions, SubmitOptions, WorkOptions } from "./options.ts";

const SUBMIT = {
  runId: true,
  idempotencyKey: true,
  tags: true,
  deadline: true,
  maxSteps: true,
  signal: true,
} satisfies KnownOptions<keyof SubmitOptions>;

const WORK = {
  maxSteps: true,
  concurrency: true,
  checkpointEvery: true,
  signal: true,
  drain: true,
  hooks: true,
} satisfies KnownOptions<keyof WorkOptions>;

const RESUME = {
  ...WORK,
  payload: true,
  wait: true,
  all: true,
  answers: true,
  caller: true,
  expired: true,
  takeover: true,
} satisfies KnownOptions<keyof ResumeOptions>;

type Op = "start" | "submit" | "resume" | "recover" | "fork";

const KNOWN: Readonly<Record<Op, KnownOptions<string>>> = {
  start: { ...SUBMIT, ...WORK, caller: true } satisfies KnownOptions<keyof StartOptions>,
  submit: SUBMIT,
  // An id that is given once more changes nothing.
  resume: { ...RESUME, runId: true },
  recover: WORK,
  fork: { state: true, runId: true, tags: true } satisfies KnownOptions<keyof ForkOptions<unknown>>,
};

const ELSEWHERE = {
  submit: {
    concurrency: "it is an option of the worker that takes the run",
    checkpointEvery: "it is an option of whoever works on the run",
    hooks: "give them to compile",
  },
} as const;

/** Refuses an option that nobody reads, such as `runID`: a start under another id than was meant would be another run. */
export function checkOptions(op: Op, options: object): void {
  const problem = optionProblem(options, KNOWN[op], op === "submit" ? ELSEWHERE.submit : {});
  if (problem !== undefined) throw new ArgumentError(op, problem);
}
