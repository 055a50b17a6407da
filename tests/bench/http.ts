/**
 * Runs over HTTP under load: 200 readers of event streams while 500 runs are started, answered and finished, on a server
 * of its own on a Deno KV file. Prints one JSON line per runtime; exits with 1 when a record was lost or told twice, a run
 * did not complete, or the server's memory did not come back to what it was after the first runs.
 *
 *     deno run -A --unstable-kv tests/bench/http.ts [deno|bun|node …]
 */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { load } from "../http/load.ts";
import { commandFor, RUNTIMES } from "../support/runtimes.ts";

const RUNS = 500;
const CLIENTS = 200;
const MAX = 1.1;

const wanted = process.argv.slice(2);
for (const runtime of RUNTIMES.filter((name) => wanted.length === 0 || wanted.includes(name))) {
  const folder = mkdtempSync(join(tmpdir(), "superstep-http-"));
  const { command, args } = commandFor(runtime, "tests/bench/http_server.ts", [join(folder, "store.db")]);
  const collecting = runtime === "deno"
    ? [args[0]!, "--no-check", "--v8-flags=--expose-gc", ...args.slice(1)]
    : runtime === "node"
    ? ["--expose-gc", ...args]
    : args;
  const child = spawn(command, collecting, { stdio: ["pipe", "pipe", "inherit"] });
  const ended = new Promise((resolve) => child.once("exit", resolve));
  const url = await new Promise<string>((resolve, reject) => {
    child.stdout.once("data", (line) => resolve(String(line).trim()));
    void ended.then(() => reject(new Error(`the server on ${runtime} ended before it listened`)));
  });
  const heap = async () => (await (await fetch(`${url}/heap`)).json() as { heap: number }).heap;
  const warm = await load(url, { runs: CLIENTS, clients: CLIENTS, key: "warm" });
  const before = await heap();
  const begun = performance.now();
  const report = await load(url, { runs: RUNS, clients: CLIENTS, key: "load" });
  const seconds = (performance.now() - begun) / 1_000;
  const after = await heap();
  const ratio = after / before;
  const faults = [warm, report].map(({ lost, doubled, unfinished }) => lost + doubled + unfinished);
  const ok = faults.every((n) => n === 0) && ratio <= MAX;
  console.log(JSON.stringify({
    name: "http",
    runtime,
    ok,
    clients: CLIENTS,
    ...report,
    seconds: Number(seconds.toFixed(2)),
    heapBefore: before,
    heapAfter: after,
    ratio: Number(ratio.toPrecision(4)),
    max: MAX,
  }));
  if (!ok) process.exitCode = 1;
  child.stdin.end();
  await ended;
  rmSync(folder, { recursive: true, force: true });
}
