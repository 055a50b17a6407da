import { execFileSync, spawn } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import type { Cli } from "../../src/cli/cli.ts";
import { executable } from "../support/runtimes.ts";
import type { Line } from "./types.ts";

/** Peers that need nothing but their packages, and their folders; those on PostgreSQL are added where `PGURL` is set. */
const PEERS: Readonly<Record<string, string>> = {
  restate: "restate",
  "lg-memory": "langgraph",
  "lg-sqlite-full": "langgraph",
  mastra: "mastra",
  openworkflow: "openworkflow",
  ...process.env["PGURL"] === undefined ? {} : { dbos: "dbos", "lg-postgres": "langgraph" },
};

/** What a folder needs beside its own packages. */
const MORE: Readonly<Record<string, readonly string[]>> = { langgraph: ["better-sqlite3@12"] };

interface PeerWorkload {
  readonly id: string;
  readonly name: string;
  readonly unit: "ms" | "steps/s";
  readonly of: "ms_per_step" | "total_ms" | "steps_per_s";
}

const STATE = "a step over its state of";
const WORKLOADS: Readonly<Record<string, PeerWorkload>> = {
  W1: { id: "N1", name: "chain of 200, a step with start and end", unit: "ms", of: "ms_per_step" },
  W2: { id: "N3", name: "200 runs of 10 steps at once", unit: "steps/s", of: "steps_per_s" },
  W3: { id: "N4", name: "fan-out of 100 with a join", unit: "ms", of: "total_ms" },
  "W4d-10k": { id: "N5", name: `${STATE} 10 KB`, unit: "ms", of: "ms_per_step" },
  "W4d-100k": { id: "N5", name: `${STATE} 100 KB`, unit: "ms", of: "ms_per_step" },
  "W4d-1m": { id: "N5", name: `${STATE} 1 MB`, unit: "ms", of: "ms_per_step" },
  W5: { id: "N6", name: "pause, answer and resume", unit: "ms", of: "ms_per_step" },
  W5c: { id: "N6", name: "100 times pause, answer and resume at once, each", unit: "ms", of: "ms_per_step" },
};

interface PeerResult extends Readonly<Record<PeerWorkload["of"], number>> {
  readonly ms_min: number;
  readonly ms_max: number;
  readonly n: number;
  readonly bytes_on_disk: number;
  readonly reps: number;
}

/** The same workloads by other engines: those whose ids were measured, and what superstep came to beside Restate. */
export async function peerLines(
  cli: Cli,
  given: string | true,
  own: readonly Line[],
  repeats: number,
): Promise<Line[]> {
  const source = given === true ? process.env["SUPERSTEP_BENCH_PEERS"] : given;
  if (source === undefined || !existsSync(join(source, "bench.mjs"))) {
    cli.note(
      `! peers are not measured: there is no bench.mjs in ${
        source ?? "$SUPERSTEP_BENCH_PEERS, which is not set"
      }`,
    );
    return [];
  }
  const scratch = join(tmpdir(), "superstep-bench-peers");
  mkdirSync(scratch, { recursive: true });
  cpSync(source, scratch, { recursive: true });
  const lines: Line[] = [];
  for (const [peer, folder] of Object.entries(PEERS)) {
    if (!install(cli, join(scratch, folder), MORE[folder] ?? [])) continue;
    for (const [workload, figure] of Object.entries(WORKLOADS)) {
      if (!own.some(({ id }) => id === figure.id)) continue;
      cli.note(cli.noteColours.dim(`${figure.id} ${workload} by ${peer}`));
      const result = await measure(scratch, peer, workload, repeats);
      if (result === undefined) cli.note(`! ${peer} did not do ${workload}`);
      else lines.push(lineOf(peer, figure, result));
    }
  }
  return [...lines, ...besideRestate(own, lines)];
}

function lineOf(peer: string, { id, name, unit, of }: PeerWorkload, result: PeerResult): Line {
  const scale = of === "total_ms" ? result.n : 1;
  const ends = [result.ms_min * scale, result.ms_max * scale];
  const [low, high] = unit === "steps/s" ? ends.map((ms) => 1_000 / ms).reverse() : ends;
  const bytes = result.bytes_on_disk / (of === "total_ms" ? 1 : result.n);
  return {
    id,
    name,
    on: peer,
    mode: "warm",
    unit,
    value: result[of],
    low: low!,
    high: high!,
    repeats: result.reps,
    bytes,
  };
}

/** N3: many short runs at once, to Restate. */
function besideRestate(own: readonly Line[], peers: readonly Line[]): Line[] {
  const { name } = WORKLOADS["W2"]!;
  const restate = peers.find((line) => line.on === "restate" && line.name === name);
  if (restate === undefined) return [];
  return own.filter((line) => line.name === name).map((line) => {
    const ratio = line.value / restate.value;
    const target = "ratio >= 1.2";
    return { ...line, name: `${name}, to Restate`, bound: restate.value, ratio, target, ok: ratio >= 1.2 };
  });
}

/** Installs the packages of a peer, unless they are there. */
function install(cli: Cli, folder: string, more: readonly string[]): boolean {
  if (!existsSync(folder)) return false;
  const { dependencies = {} } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as {
    dependencies?: Record<string, string>;
  };
  const names = [...Object.keys(dependencies), ...more.map((name) => name.split("@")[0]!)];
  if (names.every((name) => existsSync(join(folder, "node_modules", name)))) return true;
  try {
    execFileSync("npm", ["install", "--no-audit", "--no-fund", "--loglevel=error", ...more], { cwd: folder });
    return true;
  } catch {
    cli.note(`! the packages of ${folder} could not be installed`);
    return false;
  }
}

async function measure(
  folder: string,
  peer: string,
  workload: string,
  repeats: number,
): Promise<PeerResult | undefined> {
  const child = spawn(executable("node"), ["bench.mjs", peer, workload, String(repeats)], {
    cwd: folder,
    env: { ...process.env, BUN: executable("bun"), BENCH_TMP: join(folder, "data") },
    stdio: ["ignore", "pipe", "ignore"],
  });
  let printed = "";
  child.stdout.on("data", (text) => printed += String(text));
  const code = await new Promise<number | null>((resolve) =>
    child.once("error", () => resolve(1)).once("close", resolve)
  );
  const last = printed.trimEnd().split("\n").at(-1) ?? "";
  return code === 0 && last.startsWith("{") ? JSON.parse(last) as PeerResult : undefined;
}
