// Runs on deno by default: the random runs find faults of the engine, which no runtime decides.
import assert from "node:assert/strict";
import process from "node:process";
import { test } from "node:test";
import { campaign, type Failure } from "./campaign.ts";
import { effort } from "../../support/effort.ts";
import type { Body } from "./generate.ts";
import type { Expression } from "./syntax.ts";

/**
 * Random bodies of waits, timers, `once`, helpers, combinators and plain work, each run on the engine, with answers, timers,
 * crashes and processes that change, and as plain JavaScript, where waits are promises that resolve in the recorded order.
 *
 * Some run here. For more, with another seed:
 *
 *     SUPERSTEP_FUZZ_SEED=anything SUPERSTEP_FUZZ_BODIES=10000 deno test -A --no-check tests/fuzz/bodies/bodies_test.ts
 *
 * A failure is cut down to a small body and printed as code, with the command that runs it again.
 * `SUPERSTEP_FUZZ_FIRST` is the number of the first body, `SUPERSTEP_FUZZ_KV` the one in how many that also runs on Deno KV.
 */
const { env } = process;
const seed = env["SUPERSTEP_FUZZ_SEED"] ?? "superstep";
const bodies = Number(env["SUPERSTEP_FUZZ_BODIES"] ?? effort(200, 2_000));
const first = Number(env["SUPERSTEP_FUZZ_FIRST"] ?? 0);
const kvEvery = Number(env["SUPERSTEP_FUZZ_KV"] ?? 10);

test(`random bodies come to the same on the memory store and as plain JavaScript, seed ${seed} (T1, T2, T8, T9)`, async () => {
  const failures = await campaign({ seed, first, bodies, store: "memory", parallel: 24, only: isSimple });
  assert.equal(told(failures), "");
});

test(`random bodies come to the same on a Deno KV file and as plain JavaScript, seed ${seed} (T1, T2, T8, T9)`, async () => {
  const count = Math.ceil(bodies / kvEvery);
  const failures = await campaign({
    seed,
    first,
    bodies: count,
    store: "deno-kv",
    parallel: 8,
    only: isSimple,
  });
  assert.equal(told(failures), "");
});

/** What the engine of today holds up: waits that are awaited at once, one by one or all together. */
function isSimple({ block }: Body): boolean {
  return block.every(({ s, of }: { s: string; of?: unknown }) => {
    const one = of as Expression | undefined;
    const isPlain = (e: Expression) => e.k === "wait" || e.k === "sleep";
    return s === "await" && one !== undefined &&
      (isPlain(one) || one.k === "once" || (one.k === "all" && one.of.every(isPlain)));
  });
}

function told(failures: readonly Failure[]): string {
  return failures.map(({ text }) => text).join("\n\n");
}
