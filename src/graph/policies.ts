import { BuildError, type FaultPlace } from "../errors.ts";
import type {
  CompiledRetry,
  CompiledTimeout,
  ErrorHandler,
  RetryPolicy,
  TimeoutPolicy,
} from "../model/definition.ts";
import { defined } from "../model/defined.ts";
import { type Duration, toMs } from "../model/durations.ts";
import { END } from "../model/ids.ts";
import { type KnownOptions, optionProblem } from "../model/known_options.ts";
import { KNOWN_BACKOFF, KNOWN_HANDLER, KNOWN_RETRY, KNOWN_TIMEOUT } from "../model/policy_options.ts";
import { type Pool, poolProblem } from "../model/pool.ts";
import { waitProblem } from "../model/wait.ts";
import type { WaitDefinition } from "../model/wait.ts";
import { frozenMap } from "./frozen.ts";
import type { OnErrorOption } from "./vertex_options.ts";

/** Where a policy stands, for the message when it is refused. */
type Refuse = (problem: string) => BuildError;

/** The refusals of one call on one vertex. */
export function refuser(op: string, vertexId: string, place: FaultPlace): Refuse {
  const { graphId, className } = place;
  const cls = className === undefined ? "" : ` (class ${className})`;
  return (problem) =>
    new BuildError(op, `vertex ${vertexId}${cls} of graph ${graphId}: ${problem}`, { vertexId, ...place });
}

/** Refuses an option that nobody reads. */
function refuseUnknown(what: string, options: unknown, known: KnownOptions<string>, refuse: Refuse): void {
  const problem = optionProblem(options, known);
  if (problem !== undefined) throw refuse(`${what}: ${problem}`);
}

/** A retry policy as plain numbers; throws what `refuse` makes of a number that is none. */
export function compileRetry(policy: RetryPolicy | undefined, refuse: Refuse): CompiledRetry {
  if (policy === undefined) return Object.freeze({ maxAttempts: 1, backoff: undefined, retryIf: undefined });
  if (typeof policy !== "object" || policy === null) {
    throw refuse(`retry is ${shown(policy)}; give it { maxAttempts: … }`);
  }
  refuseUnknown("retry", policy, KNOWN_RETRY, refuse);
  const { maxAttempts, backoff, retryIf } = policy;
  if (!Number.isSafeInteger(maxAttempts) || maxAttempts < 1) {
    throw refuse(
      `retry.maxAttempts is ${shown(maxAttempts)}; it counts all attempts, so give a whole number from 1`,
    );
  }
  if (retryIf !== undefined && typeof retryIf !== "function") {
    throw refuse(`retry.retryIf is ${shown(retryIf)}; give a function of the error`);
  }
  return Object.freeze({ maxAttempts, backoff: compileBackoff(backoff, refuse), retryIf });
}

function compileBackoff(backoff: RetryPolicy["backoff"], refuse: Refuse): CompiledRetry["backoff"] {
  if (backoff === undefined || typeof backoff === "function") return backoff;
  if (typeof backoff !== "object" || backoff === null) {
    throw refuse(
      `retry.backoff is ${shown(backoff)}; give { initial: "200ms" } or a function of the attempt`,
    );
  }
  refuseUnknown("retry.backoff", backoff, KNOWN_BACKOFF, refuse);
  const { initial, factor = 2, max, jitter = false } = backoff;
  const initialMs = spanMs("retry.backoff.initial", initial, 0, refuse);
  const maxMs = max === undefined ? Number.POSITIVE_INFINITY : spanMs("retry.backoff.max", max, 0, refuse);
  if (typeof factor !== "number" || !Number.isFinite(factor) || factor < 1) {
    throw refuse(`retry.backoff.factor is ${shown(factor)}; give a finite number from 1`);
  }
  if (typeof jitter !== "boolean") {
    throw refuse(`retry.backoff.jitter is ${shown(jitter)}; give true or false`);
  }
  return Object.freeze({ initialMs, factor, maxMs, jitter });
}

/** A timeout policy as plain numbers. A duration alone limits each attempt. */
export function compileTimeout(
  policy: Duration | TimeoutPolicy | undefined,
  refuse: Refuse,
): CompiledTimeout {
  refuseUnknown("timeout", policy, KNOWN_TIMEOUT, refuse);
  const { attempt, total } = typeof policy === "object" && policy !== null ? policy : { attempt: policy };
  return Object.freeze({
    attemptMs: attempt === undefined ? undefined : spanMs("timeout.attempt", attempt, 1, refuse),
    totalMs: total === undefined ? undefined : spanMs("timeout.total", total, 1, refuse),
  });
}

/** The handlers in the order they are asked. Nothing below a "pause" is ever asked, so it is left out. */
export function compileHandlers<S>(
  option: OnErrorOption<S> | readonly OnErrorOption<S>[] | undefined,
  refuse: Refuse,
): readonly ErrorHandler<S>[] {
  const stack: readonly OnErrorOption<S>[] = option === undefined
    ? []
    : Array.isArray(option)
    ? option
    : [option as OnErrorOption<S>];
  const handlers: ErrorHandler<S>[] = [];
  let paused = false;
  for (const entry of stack) {
    if (entry === "pause") {
      paused = true;
      continue;
    }
    const handler = compileHandler(entry, refuse);
    if (!paused) handlers.push(handler);
  }
  return Object.freeze(handlers);
}

function compileHandler<S>(entry: ErrorHandler<S>, refuse: Refuse): ErrorHandler<S> {
  if (typeof entry?.route === "function") {
    throw refuse(`the route of an error handler is ${shown(entry.route)}; ${NAME_BY_ID}`);
  }
  if (typeof entry !== "object" || entry === null || typeof entry.route !== "string") {
    throw refuse(`an error handler is ${shown(entry)}; give "pause" or { route: "<vertex id>" }`);
  }
  const { route, match, record } = entry;
  if (route === END) {
    throw refuse("an error handler leads to END; a failure is no finish, route it to a vertex");
  }
  refuseUnknown(`the error handler to ${route}`, entry, KNOWN_HANDLER, refuse);
  if ("match" in entry && typeof match !== "function") {
    throw refuse(
      `the error handler to ${route} has the match ${shown(match)}; give an error class or a predicate` +
        (match === undefined ? ", and if it is a class, import it from a module that is loaded before" : ""),
    );
  }
  if (record !== undefined && typeof record !== "function") {
    throw refuse(`the error handler to ${route} has the record ${shown(record)}; give a function`);
  }
  return Object.freeze(defined({ route, match, record }));
}

/** The declared waits by name. */
export function compileWaits(
  waits: readonly WaitDefinition[] | undefined,
  refuse: Refuse,
): ReadonlyMap<string, WaitDefinition> {
  if (waits !== undefined && !Array.isArray(waits)) {
    throw refuse(`waits is ${shown(waits)}; give an array of what defineWait returned`);
  }
  const byName = new Map<string, WaitDefinition>();
  for (const wait of waits ?? []) {
    const problem = waitProblem(wait);
    if (problem !== undefined) throw refuse(problem);
    const known = byName.get(wait.name);
    if (known !== undefined) throw refuse(`the wait ${wait.name} is listed twice; list it once`);
    byName.set(wait.name, Object.isFrozen(wait) ? wait : Object.freeze({ ...wait }));
  }
  return frozenMap(byName);
}

function spanMs(what: string, duration: Duration, least: 0 | 1, refuse: Refuse): number {
  const ms = toMs(duration);
  if (ms === undefined || ms < 0 || (least === 1 && ms === 0)) {
    throw refuse(
      `${what} is ${shown(duration)}; give ${
        least === 0 ? "a" : "a positive"
      } finite duration such as "30s" or 500`,
    );
  }
  return ms;
}

/** What to do about a class where an id belongs. */
export const NAME_BY_ID = 'edges name vertices by their id, a text such as to: "review"';

/** A value as a message shows it. */
export function shown(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value);
  if (typeof value === "function") return `the function ${value.name || "without a name"}`;
  if (typeof value === "object" && value !== null) return Array.isArray(value) ? "an array" : "an object";
  return String(value);
}

/** The cap of a map vertex, where it has one. */
export function mapCap(
  { concurrency, each }: { readonly concurrency?: number; readonly each?: unknown },
  refuse: Refuse,
): { readonly concurrency?: number } {
  if (concurrency === undefined) return {};
  if (each === undefined) {
    throw refuse("concurrency is given without each; it is for the items of a map vertex");
  }
  if (Number.isSafeInteger(concurrency) && concurrency >= 1) return { concurrency };
  throw refuse(`concurrency is ${shown(concurrency)}; give a whole number from 1`);
}

/** The pool of a vertex, where it has one. */
export function poolOf(pool: Pool | undefined, refuse: Refuse): { readonly pool?: Pool } {
  const problem = pool === undefined ? undefined : poolProblem(pool);
  if (problem !== undefined) throw refuse(problem);
  return pool === undefined ? {} : { pool };
}

/** What is wrong with an id, and what to give. */
export function idProblem(what: string, id: unknown): string {
  if (typeof id === "function") return `${what} is ${shown(id)}; ${NAME_BY_ID}`;
  return `${what} is ${shown(id)}; give a letter or digit, then up to 127 letters, digits, or ._:-`;
}
