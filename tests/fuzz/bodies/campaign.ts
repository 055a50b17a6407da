import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { denoKv } from "../../../src/store/deno_kv/mod.ts";
import { hash } from "../chance.ts";
import { Case } from "./case.ts";
import { type Body, generate } from "./generate.ts";
import { tally } from "./judge.ts";
import { isForeseen } from "./oracle.ts";
import { shrink } from "./shrink.ts";
import { print } from "./syntax.ts";
import { Unhandled } from "../../support/unhandled.ts";

/** What a campaign runs. */
export interface Campaign {
  readonly seed: string;
  /** The number of the first body. */
  readonly first: number;
  readonly bodies: number;
  /** Where runs are kept; a file of Deno KV is one per run. */
  readonly store: "memory" | "deno-kv";
  /** How many runs are under way at once. */
  readonly parallel: number;
  /** Leaves bodies out. */
  readonly only?: (body: Body) => boolean;
  /** Whether failing bodies are cut down. @default true */
  readonly shrinks?: boolean;
  readonly maxFailures?: number;
}

/** One failure, ready to be printed. */
export interface Failure {
  readonly number: number;
  readonly text: string;
}

/** The numbers of the bodies that run now. */
export const underWay = new Set<number>();

/** What became of a campaign. */
export interface Outcome {
  readonly failures: readonly Failure[];
  /** How many executions were compared, and how many could not be: they depend on how fast plain work is. */
  readonly judged: number;
  readonly ambiguous: number;
}

/** Runs bodies side by side; answers what failed. */
export async function campaign(options: Campaign): Promise<Outcome> {
  const { seed, first, bodies: count, store, parallel, only = () => true, shrinks = true, maxFailures = 3 } =
    options;
  const failures: Failure[] = [];
  const unhandled = new Unhandled(isForeseen);
  let next = first;
  const work = async () => {
    while (next < first + count && failures.length < maxFailures) {
      const number = next++;
      const bodies = bodiesOf(seed, number);
      if (!bodies.every(only)) continue;
      underWay.add(number);
      const fault = await run(bodies, hash(seed, number), store);
      underWay.delete(number);
      if (fault === undefined) continue;
      const small = shrinks
        ? await shrink(bodies, hash(seed, number), (b, s) => run(b, s, store), kindOf(fault))
        : { bodies, fault };
      failures.push({ number, text: describe(options, number, small.bodies, small.fault, fault) });
    }
  };
  await Promise.all(Array.from({ length: parallel }, work));
  await unhandled.end();
  if (unhandled.reasons.length > 0) {
    failures.push({ number: -1, text: `unhandled: ${unhandled.reasons.slice(0, 3).join("\n")}` });
  }
  return { failures, ...tally };
}

/** The body of a number, and now and then a second one beside it. */
export function bodiesOf(seed: string, number: number): readonly Body[] {
  const body = generate(seed, number);
  return hash("beside", seed, number) % 6 === 0 ? [body, generate(seed, number, "beside")] : [body];
}

/** What went wrong with a run of these bodies, if anything. */
async function run(
  bodies: readonly Body[],
  seed: number,
  store: Campaign["store"],
): Promise<string | undefined> {
  if (store === "memory") return await judged(new Case(bodies, seed));
  const folder = await mkdtemp(join(tmpdir(), "superstep-bodies-"));
  const kv = await denoKv(join(folder, "kv"));
  try {
    return await judged(new Case(bodies, seed, kv));
  } finally {
    await kv.close();
    await rm(folder, { recursive: true, force: true });
  }
}

async function judged(one: Case): Promise<string | undefined> {
  try {
    await one.live();
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** The first words of a fault: a smaller body that fails in another way is another case. */
export function kindOf(fault: string): string {
  return fault.replace(/\n[^]*/, "").replace(/[a-z]*\d+(\.\d+)*/g, "").slice(0, 60);
}

function describe(
  { seed, store }: Campaign,
  number: number,
  bodies: readonly Body[],
  fault: string,
  first: string,
): string {
  const code = bodies.map(({ flavour, block }) => `// ${flavour}\n${print(block)}`).join(
    "\n// and beside it\n",
  );
  return `body ${number} of seed ${seed} on ${store} failed; ` +
    `again: SUPERSTEP_FUZZ_SEED=${seed} SUPERSTEP_FUZZ_FIRST=${number} SUPERSTEP_FUZZ_BODIES=1\n` +
    `${fault}\n\n${code}\n${kindOf(fault) === kindOf(first) ? "" : `\nbefore it was cut down: ${first}`}`;
}
