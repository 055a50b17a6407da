import process from "node:process";

/**
 * What `deno task test:long` and CI run: more seeds, more kills, all runtimes for everything. One variable says so,
 * `SUPERSTEP_TEST_EFFORT=long`.
 */
export const LONG = process.env.SUPERSTEP_TEST_EFFORT === "long";

/** How often a test repeats itself: `short` is what shows a fault that a change makes, `long` hunts rare ones. */
export function effort<T>(short: T, long: T): T {
  return LONG ? long : short;
}
