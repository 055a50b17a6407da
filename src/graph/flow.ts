import { BuildError } from "../errors.ts";
import { toMs } from "../model/durations.ts";
import type { CompiledFlow, FlowOptions } from "../model/flow.ts";
import { optionProblem } from "../model/known_options.ts";
import { KNOWN_CONCURRENCY, KNOWN_FLOW, KNOWN_SINGLETON, KNOWN_THROTTLE } from "../model/policy_options.ts";
import { shown } from "./policies.ts";

/** More would not fit into what is stored of a throttle. */
const MAX_THROTTLE = 500;

/**
 * Limits whose options have been judged.
 *
 * @throws {BuildError} when an option is not one
 */
export function compileFlow<X>(op: string, graphId: string, limits: FlowOptions<X>): CompiledFlow {
  const refuse = (problem: string) => new BuildError(op, `graph ${graphId}: ${problem}`, { graphId });
  const checked = <T extends object>(
    options: T,
    known: Parameters<typeof optionProblem>[1],
    what: string,
  ) => {
    const problem = typeof options !== "object" || options === null
      ? `it is ${shown(options)}; give an object`
      : optionProblem(options, known);
    if (problem !== undefined) throw refuse(`${what}: ${problem}`);
    return options;
  };
  const whole = (limit: unknown, what: string, most = Infinity): number => {
    const isOne = Number.isSafeInteger(limit) && (limit as number) >= 1 && (limit as number) <= most;
    if (isOne) return limit as number;
    const range = most === Infinity ? "from 1" : `from 1 to ${most}`;
    throw refuse(`${what}: limit is ${shown(limit)}; give a whole number ${range}`);
  };
  const keyOf = (key: ((input: X) => string) | undefined, what: string): (input: unknown) => string => {
    if (key === undefined) return () => "";
    if (typeof key !== "function") {
      throw refuse(`${what}: key is ${shown(key)}; give a function of the input`);
    }
    return key as unknown as (input: unknown) => string;
  };
  const { concurrency, throttle, singleton } = checked(limits, KNOWN_FLOW, "the limits");
  const flow: { -readonly [K in keyof CompiledFlow]: CompiledFlow[K] } = {};
  if (concurrency !== undefined) {
    const what = "concurrency";
    const { limit, key, holdWhileWaiting = false } = checked(concurrency, KNOWN_CONCURRENCY, what);
    flow.concurrency = Object.freeze({ limit: whole(limit, what), key: keyOf(key, what), holdWhileWaiting });
  }
  if (throttle !== undefined) {
    const what = "throttle";
    const { limit, per, key } = checked(throttle, KNOWN_THROTTLE, what);
    const perMs = toMs(per);
    if (perMs === undefined || perMs <= 0) {
      throw refuse(`${what}: per is ${shown(per)}; give milliseconds or a text such as "1m"`);
    }
    flow.throttle = Object.freeze({ limit: whole(limit, what, MAX_THROTTLE), perMs, key: keyOf(key, what) });
  }
  if (singleton !== undefined) {
    const what = "singleton";
    const { key, onConflict } = checked(singleton, KNOWN_SINGLETON, what);
    if (onConflict === undefined) {
      throw refuse(`${what}: onConflict is not given; give "skip", "queue" or "cancel"`);
    }
    flow.singleton = Object.freeze({ key: keyOf(key, what), onConflict });
  }
  return flow;
}
