import process from "node:process";
import { campaign } from "./campaign.ts";

/**
 * Random bodies of waits, timers, `once`, helpers, combinators and plain work, each run on the engine, with answers, timers,
 * crashes and processes that change, and as plain JavaScript, where waits are promises that resolve in the recorded order.
 *
 * A few hundred run in the tests. For more, with another seed:
 *
 *     SUPERSTEP_FUZZ_SEED=anything SUPERSTEP_FUZZ_BODIES=10000 deno test -A tests/fuzz/bodies/bodies_test.ts
 *
 * or, without the test around it, `deno run -A --unstable-kv tests/fuzz/bodies/main.ts memory`. A failure is cut down to a small
 * body and printed as code, with the command that runs it again. `SUPERSTEP_FUZZ_FIRST` is the number of the first body,
 * `SUPERSTEP_FUZZ_KV` the one in how many that also runs on Deno KV.
 */
const { env } = process;
const seed = env["SUPERSTEP_FUZZ_SEED"] ?? "superstep";
const [, , named, first = env["SUPERSTEP_FUZZ_FIRST"] ?? 0, bodies = env["SUPERSTEP_FUZZ_BODIES"] ?? 200] =
  process.argv;
const store = named === "deno-kv" ? "deno-kv" : "memory";

const begun = performance.now();
const { failures, judged, ambiguous } = await campaign({
  seed,
  first: Number(first),
  bodies: Number(bodies),
  store,
  parallel: store === "memory" ? 16 : 8,
});
for (const { text } of failures) console.log(text, "\n");
const seconds = Math.round((performance.now() - begun) / 1_000);
console.log(
  `seed ${seed} on ${store}: ${judged} bodies judged, ${ambiguous} left out, ${failures.length} failed, ${seconds} s`,
);
process.exit(failures.length === 0 ? 0 : 1);
