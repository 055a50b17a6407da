import { BuildError } from "../errors.ts";
import type { Duration } from "../model/durations.ts";
import { type KnownOptions, optionProblem } from "../model/known_options.ts";
import type { Schema } from "../model/schema.ts";
import { type WaitDefinition, waitProblem } from "../model/wait.ts";

/** Options of {@link defineWait}. */
export interface DefineWaitOptions {
  /** How long after its opening the wait expires. @default never */
  readonly deadline?: Duration;
}

const KNOWN = { deadline: true } satisfies KnownOptions<keyof DefineWaitOptions>;

/**
 * Declares an awaited answer. List it under `waits` of a vertex and open it with `ctx.waitFor`.
 *
 * Its schema judges an answer when it is given and again when the body reads it. So it may complete and coerce, but what it
 * makes must be something that it takes as it is: transforms and codecs belong into the body.
 *
 * @throws {BuildError} when the name is no id, the schema no Standard Schema or one that transforms, the deadline no
 * positive duration, or an option unknown
 *
 * @example
 * ```ts
 * const Approved = defineWait("approved", z.object({ by: z.string() }), { deadline: "7d" });
 * ```
 */
export function defineWait<T, A>(
  name: string,
  schema: Schema<A, T>,
  options: DefineWaitOptions = {},
): WaitDefinition<T, A> {
  const { deadline } = options;
  const wait: WaitDefinition<T, A> = { name, schema, ...(deadline === undefined ? {} : { deadline }) };
  const unknown = optionProblem(options, KNOWN);
  const problem = waitProblem(wait) ?? (unknown === undefined ? undefined : `the wait ${name}: ${unknown}`);
  if (problem !== undefined) throw new BuildError("defineWait", problem, { name });
  return Object.freeze(wait);
}
