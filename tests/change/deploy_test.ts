// Runs on deno by default: its processes show the same on all runtimes.
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { test } from "node:test";
import { until } from "../http/support.ts";
import { ROOT } from "../support/paths.ts";
import { commandFor, HOST } from "../support/runtimes.ts";
import { temporaryFolder } from "../support/stores.ts";

const HERE = join(ROOT, HOST === "node" ? "dist/tests/change/rolling" : "tests/change/rolling");
const EXT = HOST === "node" ? "js" : "ts";

/** `superstep serve` as a process: a worker, or with a port a worker that takes requests. */
class Server {
  readonly child: ChildProcess;
  readonly ended: Promise<number | string>;
  #said = "";

  constructor(folder: string, version: number, options: readonly string[]) {
    const argv = [
      "serve",
      `${HERE}/v${version}/job.${EXT}`,
      "--provide",
      `${HERE}/provide.${EXT}`,
      "--db",
      join(folder, "jobs.db"),
      "--poll",
      "200ms",
      ...options,
    ];
    const { command, args } = commandFor(HOST, "src/cli/main.ts", argv);
    const env = { ...process.env, NO_COLOR: "1", JOB_EFFECTS: join(folder, "effects") };
    this.child = spawn(command, args, { cwd: folder, env, stdio: ["ignore", "ignore", "pipe"] });
    this.child.stderr!.setEncoding("utf8").on("data", (text) => this.#said += text);
    this.ended = new Promise((resolve) =>
      this.child.on("close", (code, signal) => resolve(code ?? signal ?? -1))
    );
  }

  /** Waits until it serves; answers where, if it takes requests. */
  async ready(): Promise<string> {
    await until(() => Promise.resolve(/serving .*\n/.test(this.#said)));
    return /serving .* at (http:\S+),/.exec(this.#said)?.[1] ?? "";
  }

  /** Asks it to stop, and waits until it has. */
  async stop(): Promise<number | string> {
    process.kill(this.child.pid!, "SIGTERM");
    return await this.ended;
  }
}

type Body = {
  readonly status: string;
  readonly reason?: string;
  readonly graphVersion: string;
  readonly state: Readonly<Record<string, unknown>>;
  readonly waits?: readonly { readonly waitId: string }[];
  readonly error?: { readonly code: string; readonly issues: readonly { readonly message: string }[] };
};

async function call(url: string, path: string, body?: unknown): Promise<Body & { readonly http: number }> {
  const response = await fetch(url + path, {
    ...(body === undefined ? {} : {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
    }),
  });
  return { ...await response.json(), http: response.status };
}

/** What the runs stand at when the new version comes, by their modes. */
const STANDING = {
  ask: "awaiting",
  nap: "running",
  flaky: "running",
  each: "awaiting",
  join: "awaiting",
  call: "awaiting",
  bad: "errored",
} as const;

test(
  "a rolling deploy as users do it: new HTTP and worker processes beside old ones on one file, SIGTERM to the old ones, and runs in every state go on under the new version with their waits and keys, never back (V2, V5)",
  { timeout: 150_000 },
  async () => {
    const { path: folder, remove } = await temporaryFolder();
    const effects = join(folder, "effects");
    writeFileSync(effects, "");
    const servers: Server[] = [];
    const serve = (version: number, ...options: string[]) => {
      const server = new Server(folder, version, options);
      servers.push(server);
      return server;
    };
    try {
      const oldHttp = serve(1, "--port", "0");
      const oldUrl = await oldHttp.ready();
      const oldWorker = serve(1);
      for (const mode of Object.keys(STANDING)) {
        await call(oldUrl, "/v1/graphs/job/runs", { runId: mode, input: { mode } });
      }
      const mailed = new Map<string, string>();
      for (const [mode, reason] of Object.entries(STANDING)) {
        const run = await until(async () => {
          const body = await call(oldUrl, `/v1/runs/${mode}`);
          return (body.reason ?? body.status) === reason && body;
        });
        if (reason === "awaiting") mailed.set(mode, run.waits![0]!.waitId);
      }
      const newHttp = serve(2, "--adopt", "--port", "0");
      const newUrl = await newHttp.ready();
      serve(2, "--adopt");
      await call(newUrl, "/v1/graphs/job/runs", { runId: "new", input: { mode: "ask" } });
      const fresh = await until(async () => {
        const body = await call(newUrl, "/v1/runs/new");
        return body.reason === "awaiting" && body;
      });
      assert.match(fresh.graphVersion, /:2$/);
      mailed.set("new", fresh.waits![0]!.waitId);
      const refused = await call(oldUrl, "/v1/runs/new");
      assert.deepEqual([refused.http, refused.error!.code], [409, "GRAPH_VERSION_MISMATCH"]);
      assert.match(refused.error!.issues[0]!.message, /audit/, "an older process says what it lacks");

      assert.deepEqual(await Promise.all([oldHttp.stop(), oldWorker.stop()]), [143, 143]);
      for (const [runId, waitId] of mailed) {
        const { http } = await call(newUrl, `/v1/runs/${runId}/waits/${waitId}/answer`, {
          value: { by: "ann" },
        });
        assert.equal(http, 202, runId);
      }
      assert.equal((await call(newUrl, "/v1/runs/bad/resume", {})).http, 202);
      const logs: Record<string, unknown> = {};
      for (const runId of [...Object.keys(STANDING), "new"]) {
        const done = await until(async () => {
          const body = await call(newUrl, `/v1/runs/${runId}`);
          return body.status === "completed" && body;
        });
        assert.match(done.graphVersion, /:2$/, runId);
        assert.equal(done.state["audits"], 1, runId);
        logs[runId] = (done.state["log"] as readonly string[]).slice(1, -1);
      }
      assert.deepEqual(logs, {
        ask: ["ann"],
        nap: ["nap"],
        flaky: ["flaky"],
        each: ["first", "ann"],
        join: ["left", "slow", "ann", "join"],
        call: ["ann"],
        bad: ["mended"],
        new: ["ann"],
      });
      // An older process that comes back takes nothing.
      await call(newUrl, "/v1/graphs/job/runs", { runId: "open", input: { mode: "ask" } });
      const open = await until(async () => {
        const body = await call(newUrl, "/v1/runs/open");
        return body.reason === "awaiting" && body;
      });
      const late = serve(1);
      await late.ready();
      await call(newUrl, `/v1/runs/open/waits/${open.waits![0]!.waitId}/answer`, { value: { by: "bob" } });
      const end = await until(async () => {
        const body = await call(newUrl, "/v1/runs/open");
        return body.status === "completed" && body;
      });
      assert.match(end.graphVersion, /:2$/);
      assert.equal(await late.stop(), 143);
      const keys = readFileSync(effects, "utf8").trim().split("\n");
      assert.deepEqual(keys, [...new Set(keys)], "nothing is done twice");
    } finally {
      for (const { child } of servers) if (child.exitCode === null) child.kill("SIGKILL");
      await Promise.all(servers.map(({ ended }) => ended));
      await remove();
    }
  },
);
