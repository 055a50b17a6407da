/**
 * Four workers on one file, or on a PostgreSQL that is killed too, serve 500 runs while they are killed and replaced at
 * random. Prints its figures as JSON lines and ends with 1 when one of them is not as it must be.
 *
 *     deno task soak [--seconds 60] [--runs 500] [--workers 4] [--speed 1] [--steps <ms>] [--versions 3] [--seed N]
 *         [--runtime deno|bun|node …] [--postgres [--crash <seconds>]] [--freeze]
 */
import process from "node:process";
import { parseArgs } from "node:util";
import { HOST, type RuntimeName } from "../support/runtimes.ts";
import { PostgresServer } from "../support/postgres.ts";
import { soak } from "./run.ts";

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "60" },
    runs: { type: "string", default: "500" },
    workers: { type: "string", default: "4" },
    speed: { type: "string", default: "1" },
    steps: { type: "string" },
    versions: { type: "string", default: "1" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
    runtime: { type: "string", multiple: true, default: [HOST] },
    postgres: { type: "boolean", default: false },
    crash: { type: "string", default: "15" },
    freeze: { type: "boolean", default: false },
  },
});
const server = values.postgres ? await PostgresServer.start() : undefined;
const plan = {
  runtimes: values.runtime as RuntimeName[],
  freezes: values.freeze,
  ...(server === undefined ? {} : { server, crashEveryMs: 1_000 * Number(values.crash) }),
  workers: Number(values.workers),
  runs: Number(values.runs),
  forMs: 1_000 * Number(values.seconds),
  settleMs: 180_000,
  speed: Number(values.speed),
  ...(values.steps === undefined ? {} : { stepsEveryMs: Number(values.steps) }),
  longestNapMs: 60_000,
  versions: Number(values.versions),
  seed: Number(values.seed),
};
console.log(JSON.stringify({ name: "plan", ...plan, server: server?.url }));
const figures = await soak(plan).finally(() => server?.stop());
for (const figure of figures) console.log(JSON.stringify(figure));
process.exit(figures.every(({ ok }) => ok) ? 0 : 1);
