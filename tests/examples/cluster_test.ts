// Runs on deno by default: its processes show the same on all runtimes, and tests of a few start them on all three.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import process from "node:process";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { LONG } from "../support/effort.ts";
import { freePort, NO_POSTGRES, POSTGRES_BIN, sharedServer } from "../support/postgres.ts";
import { commandFor, HOST } from "../support/runtimes.ts";

/** A process of the example that has said that it is ready. */
async function begin(role: string, env: Readonly<Record<string, string>>): Promise<{ end(): Promise<void> }> {
  const { command, args } = commandFor(HOST, "examples/cluster/main.ts", [role]);
  const child = spawn(command, args, {
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = new Promise<void>((resolve) => child.once("close", () => resolve()));
  for await (const _ of createInterface({ input: child.stdout })) break;
  return {
    end: () => {
      child.kill("SIGKILL");
      return ended;
    },
  };
}

if (POSTGRES_BIN === undefined) test(NO_POSTGRES, () => {});
else {
  test("an order goes through a cluster of two workers and HTTP, also when a worker is killed (W1, O2)", async () => {
    const { url } = await sharedServer();
    const port = await freePort();
    const env = { DATABASE_URL: url, PORT: String(port) };
    const [http, first, second] = await Promise.all([
      begin("http", env),
      begin("worker", env),
      begin("worker", env),
    ]);
    const api = `http://127.0.0.1:${port}/v1`;
    const ask = async (path: string, body?: unknown) => {
      const answer = await fetch(`${api}${path}`, {
        ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }),
        headers: { "Content-Type": "application/json" },
      });
      return await answer.json();
    };
    try {
      await ask("/graphs/order/runs", { runId: "order-1", input: { item: "lamp" } });
      // Where it had the run, another one takes it over once its lease is over.
      if (LONG) await first.end();
      let wait: { readonly waitId: string } | undefined;
      while (wait === undefined) [wait] = (await ask("/waits?run_id=order-1")).waits ?? [];
      await ask(`/runs/order-1/waits/${wait.waitId}/answer`, { value: { ship: true } });
      let run: { readonly status?: string; readonly state?: { readonly shipped?: boolean } } = {};
      while (run.status !== "completed") run = await ask("/runs/order-1");
      assert.equal(run.state?.shipped, true);
    } finally {
      await Promise.all([http, first, second].map((one) => one.end()));
    }
  });
}
