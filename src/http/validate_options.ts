import { BuildError } from "../errors.ts";
import { type KnownOptions, ON_OFF, optionProblem } from "../model/known_options.ts";
import type { AppOptions, StreamOptions } from "./options.ts";

/** What cannot be meant is refused where it is written: without types, an `auth` with a slip of the pen would serve everybody. */

const APP = {
  runners: true,
  workflows: true,
  store: true,
  compile: true,
  auth: true,
  authTimeout: true,
  login: true,
  insecure: true,
  expose: true,
  bodyLimit: true,
  dashboard: true,
  origins: true,
  events: true,
  audit: true,
  signal: true,
  runtime: true,
  logger: true,
} satisfies KnownOptions<keyof AppOptions>;

const EXPOSE = { state: ON_OFF, causes: ON_OFF } satisfies KnownOptions<
  keyof NonNullable<AppOptions["expose"]>
>;

const EVENTS = {
  heartbeat: true,
  poll: true,
  stall: true,
  lifetime: true,
  limit: true,
} satisfies KnownOptions<keyof StreamOptions>;

/** Refuses options of `createApp` that are none, or not what they must be. */
export function checkApp(options: AppOptions): void {
  const given = options as Readonly<Record<string, unknown>> | undefined;
  if (typeof given !== "object" || given === null) {
    throw new BuildError("createApp", "it was given no options; give `{ store, workflows: [YourWorkflow] }`");
  }
  const problem = optionProblem(given, APP) ??
    within("expose", optionProblem(given["expose"], EXPOSE)) ??
    within("events", optionProblem(given["events"], EVENTS)) ??
    wrongType(given, ["auth", "audit"], "function", "a function") ??
    wrongType(given, ["insecure", "dashboard"], "boolean", "true or false") ??
    wrongType(given, ["login"], "string", 'a path such as "/login"') ??
    originProblem(given["origins"]);
  if (problem !== undefined) throw new BuildError("createApp", problem);
}

function within(name: string, problem: string | undefined): string | undefined {
  return problem === undefined ? undefined : `in ${name}, ${problem}`;
}

function wrongType(
  given: Readonly<Record<string, unknown>>,
  names: readonly string[],
  type: string,
  what: string,
): string | undefined {
  const name = names.find((name) => given[name] !== undefined && typeof given[name] !== type);
  return name === undefined ? undefined : `${name} is of type ${typeof given[name]}; give ${what}`;
}

function originProblem(origins: unknown): string | undefined {
  if (origins === undefined) return undefined;
  const all = Array.isArray(origins) ? origins : [origins];
  const wrong = all.find((origin) => typeof origin !== "string" || !/^https?:\/\/[^/]+$/.test(origin));
  if (Array.isArray(origins) && wrong === undefined) return undefined;
  return 'origins must be a list of origins such as ["https://admin.example.com"], without a path';
}
