import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { commandFor } from "../support/runtimes.ts";
import { Bench, collecting, heap } from "./bench.ts";
import type { Request, Sample } from "./types.ts";
import { WORKLOADS } from "./workloads/mod.ts";

/** How long a workload is repeated before its results count: a server that has been up for a while is measured. */
const WARM_UP_MS = 1_500;

/** Measures a workload in this process. */
export async function measureHere(request: Request): Promise<readonly Sample[]> {
  const workload = WORKLOADS.find(({ name }) => name === request.workload);
  if (workload === undefined) throw new Error(`there is no workload ${request.workload}`);
  const bench = new Bench(request);
  try {
    const repeat = await workload.prepare(bench);
    const until = performance.now() + (request.quick || request.mode !== "warm" ? 0 : WARM_UP_MS);
    while (performance.now() < until) await repeat();
    bench.take();
    const samples: Sample[] = [];
    for (let i = 0; i < request.repeats; i++) {
      await repeat();
      const bytes = await heap();
      const used = bytes === undefined ? {} : { heap: bytes / 1024 / 1024 };
      samples.push(...bench.take().map((sample) => ({ ...used, ...sample })));
    }
    return samples;
  } finally {
    await bench.close();
  }
}

/** Measures in a process of its own, and in one for each sample of what is cold. */
export async function measureApart(request: Request): Promise<readonly Sample[]> {
  if (request.mode !== "cold") return await child(request);
  const samples: Sample[] = [];
  for (let i = 0; i < request.repeats; i++) samples.push(...await child({ ...request, repeats: 1 }));
  return samples;
}

async function child(request: Request): Promise<readonly Sample[]> {
  const { runtime, workload } = request;
  const args = [JSON.stringify(request)];
  const { command, args: all } = collecting(runtime, commandFor(runtime, "tests/bench/child.ts", args));
  const process = spawn(command, all, { stdio: ["ignore", "pipe", "inherit"] });
  const ended = new Promise<number | null>((resolve, reject) => {
    process.once("error", reject).once("close", resolve);
  });
  const samples: Sample[] = [];
  for await (const line of createInterface({ input: process.stdout })) samples.push(JSON.parse(line));
  const code = await ended;
  if (code !== 0) throw new Error(`the workload ${workload} on ${runtime} ended with ${code}`);
  return samples;
}
