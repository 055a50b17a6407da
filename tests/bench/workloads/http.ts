import { spawn } from "node:child_process";
import { load } from "../../http/load.ts";
import { commandFor, HOST } from "../../support/runtimes.ts";
import { type Bench, collecting, timed } from "../bench.ts";
import type { Workload } from "./mod.ts";

/** Runs over HTTP, on a server of its own with a worker and a file. */
export const http: Workload = {
  id: "http",
  name: "http",
  modes: ["warm"],
  async prepare(bench) {
    const url = await server(bench);
    const [n, runs, clients] = [bench.size(20, 2), bench.size(500, 4), bench.size(200, 2)];
    const heap = async () =>
      (await (await fetch(`${url}/heap`)).json() as { heap: number }).heap / 1024 / 1024;
    await load(url, { runs: clients, clients, key: "first" });
    const before = await heap();
    let repeat = 0;
    return async () => {
      const bound = await bench.bareCommit();
      const alone = await timed(async () => {
        for (let i = 0; i < n; i++) await startToFinish(url);
      });
      bench.report({ id: "http", name: "a start to its result", unit: "ms", value: alone / n, bound });
      const atOnce = await timed(() =>
        Promise.all(Array.from({ length: clients }, () => startToFinish(url)))
      );
      const rate = clients / atOnce * 1_000;
      bench.report({
        id: "http",
        name: `${clients} starts to their results at once`,
        unit: "runs/s",
        value: rate,
      });

      let report = { lost: 0, doubled: 0, unfinished: 0 };
      const ms = await timed(async () =>
        report = await load(url, { runs, clients, key: `load-${repeat++}` })
      );
      const name = `${runs} runs started, followed and answered by ${clients} clients`;
      bench.report({ id: "http", name, unit: "runs/s", value: runs / ms * 1_000 });
      const faults = report.lost + report.doubled + report.unfinished;
      const none = { of: "value", max: 0 } as const;
      bench.report({
        id: "http",
        name: "records lost or doubled, runs not finished",
        unit: "",
        value: faults,
        target: none,
      });
      const after = await heap();
      const target = { of: "ratio", max: 1.1 } as const;
      bench.report({
        id: "http",
        name: "heap of the server to that before",
        unit: "MB",
        value: after,
        bound: before,
        target,
      });
    };
  },
};

async function server(bench: Bench): Promise<string> {
  const { command, args } = collecting(HOST, commandFor(HOST, "tests/bench/http_server.ts", [bench.path()]));
  const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  bench.defer(async () => {
    child.stdin.end();
    await ended;
  });
  return await new Promise<string>((resolve, reject) => {
    child.stdout.once("data", (line) => resolve(String(line).trim()));
    void ended.then(() => reject(new Error("the server ended before it listened")));
  });
}

async function startToFinish(url: string): Promise<void> {
  const response = await fetch(`${url}/v1/graphs/hello/runs?wait=60s`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ input: { items: [1], sum: 0 } }),
  });
  const { status } = await response.json() as { status?: string };
  if (status !== "completed") throw new Error(`a start was answered with ${response.status}, ${status}`);
}
