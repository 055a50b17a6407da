import type { TimeoutPolicy } from "../model/definition.ts";
import type { Duration } from "../model/durations.ts";
import { KNOWN_TIMEOUT } from "../model/policy_options.ts";
import { type Annotation, annotation, refuseUnknown, requireOptions } from "./annotation.ts";
import { prependOwn, records } from "./metadata.ts";
import { KNOWN_SCOPE, type PolicyScope, scopeOf } from "./scope.ts";

const KNOWN = { ...KNOWN_TIMEOUT, ...KNOWN_SCOPE };

/**
 * How long the task may take. A duration alone limits each attempt.
 *
 * @example
 * ```ts
 * @Timeout({ attempt: "30s", total: "2m" })
 * class Download {
 *   async execute(url: string, ctx: TaskContext): Promise<string> {
 *     return await (await fetch(url, { signal: ctx.signal })).text();
 *   }
 * }
 * ```
 */
export function Timeout(options: Duration | (TimeoutPolicy & PolicyScope)): Annotation {
  requireOptions("@Timeout", options);
  return annotation("@Timeout", (cls) => {
    refuseUnknown("@Timeout", cls, options, KNOWN);
    const policy = typeof options === "object" ? limits(options) : options;
    prependOwn(cls, records.timeout, Object.freeze({ graph: scopeOf("@Timeout", cls, options), policy }));
  });
}

function limits(options: TimeoutPolicy & PolicyScope): TimeoutPolicy {
  const { graph: _, ...policy } = options;
  return Object.freeze(policy);
}
