import { BuildError } from "../errors.ts";
import { type KnownOptions, optionProblem } from "../model/known_options.ts";
import { compiledPool, type Pool, type PoolOptions } from "../model/pool.ts";

const KNOWN = { concurrency: true, rate: true } satisfies KnownOptions<keyof PoolOptions>;

/**
 * Declares a pool of permits for what bodies use, such as a model or an API that takes so many calls. Bodies of every vertex
 * with this `pool`, of all graphs and all workers of a store, share it. A body waits for its turn before it begins; while it
 * only waits, for an answer, a timer or a run that it called, it gives its permit back.
 *
 * The limits are kept in the store: where workers disagree, as during a deploy, those of the process that was started last hold.
 *
 * @throws {BuildError} when the name is no id, nothing is limited, or a limit is none
 *
 * @example
 * ```ts
 * const Model = definePool("model", { concurrency: 2, rate: { limit: 100, per: "1m" } });
 * assert.equal(Model.name, "model");
 * ```
 */
export function definePool(name: string, options: PoolOptions): Pool {
  const problem = typeof options !== "object" || options === null
    ? "give its limits, such as { concurrency: 2 }"
    : optionProblem(options, KNOWN);
  if (problem !== undefined) throw new BuildError("definePool", `the pool ${String(name)}: ${problem}`);
  const pool = compiledPool(name, options);
  if (typeof pool === "string") throw new BuildError("definePool", pool);
  return pool;
}
