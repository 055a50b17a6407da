import { KNOWN_RETRY } from "../model/policy_options.ts";
import type { RetryPolicy } from "../model/definition.ts";
import { type Annotation, annotation, refuseUnknown, requireOptions } from "./annotation.ts";
import { prependOwn, records } from "./metadata.ts";
import { KNOWN_SCOPE, type PolicyScope, scopeOf } from "./scope.ts";

const KNOWN = { ...KNOWN_RETRY, ...KNOWN_SCOPE };

/**
 * How a failed attempt of the task is tried again.
 *
 * @example
 * ```ts
 * @Retry({ maxAttempts: 3, backoff: { initial: "200ms", factor: 2, max: "10s", jitter: true } })
 * class Download {
 *   async execute(url: string): Promise<string> {
 *     return await (await fetch(url)).text();
 *   }
 * }
 * ```
 */
export function Retry(options: RetryPolicy & PolicyScope): Annotation {
  requireOptions("@Retry", options);
  return annotation("@Retry", (cls) => {
    refuseUnknown("@Retry", cls, options, KNOWN);
    const { graph: _, ...policy } = options;
    prependOwn(cls, records.retry, Object.freeze({ graph: scopeOf("@Retry", cls, options), policy }));
  });
}
