import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import type { Command, RuntimeName } from "../support/runtimes.ts";
import { bareCommit, type BenchFile, openFile, sizeOf } from "./file.ts";
import type { Request, Sample } from "./types.ts";

/** Commits that the bound is measured with, one after another. */
const BARE = 200;
/** Runs that commit beside each other, each so often, for the rate of one commit per append. */
const BARE_RUNS = 64;
const BARE_EACH = 20;

/** What a workload measures with: files of its own, the bound, and where results go. */
export class Bench {
  readonly request: Request;
  readonly #folder = mkdtempSync(join(tmpdir(), "superstep-bench-"));
  readonly #closing: (() => unknown)[] = [];
  readonly #samples: Sample[] = [];
  #files = 0;

  constructor(request: Request) {
    this.request = request;
  }

  get isCold(): boolean {
    return this.request.mode === "cold";
  }

  /** A size as it should be, or one that is quickly done. */
  size(full: number, quick: number): number {
    return this.request.quick ? quick : full;
  }

  /** Notes what a repeat came to. */
  report(sample: Sample): void {
    this.#samples.push(sample);
  }

  /** What was noted since the last call. */
  take(): Sample[] {
    return this.#samples.splice(0);
  }

  /** A path that no other file has. */
  path(): string {
    return join(this.#folder, `${this.#files++}.kv`);
  }

  /** A store on a file of its own, until the process has measured. */
  async open(path = this.path()): Promise<BenchFile> {
    const file = await openFile(path);
    this.defer(() => file.store.close());
    return file;
  }

  /** Works on a file of its own; the bytes are those of the closed file. */
  async inFile<T>(
    work: (file: BenchFile) => Promise<T>,
  ): Promise<{ readonly result: T; readonly bytes: number }> {
    const file = await openFile(this.path());
    const result = await work(file).finally(() => file.store.close());
    return { result, bytes: sizeOf(file.path) };
  }

  /** The milliseconds of a bare commit, now. */
  async bareCommit(): Promise<number> {
    return await bareCommit(this.path(), this.size(BARE, 10));
  }

  /** Bare commits in a second when many runs commit beside each other, now: the rate of one commit per append. */
  async bareRate(): Promise<number> {
    return 1_000 / await bareCommit(this.path(), this.size(BARE_EACH, 2), this.size(BARE_RUNS, 4));
  }

  /** Ends something with the process, the last one first. */
  defer(close: () => unknown): void {
    this.#closing.unshift(close);
  }

  async close(): Promise<void> {
    for (const close of this.#closing) await close();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** How long work takes, in milliseconds. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

const { Bun, gc } = globalThis as { Bun?: { gc(full: boolean): void }; gc?: () => void };

/** The heap after a collection, in bytes; `undefined` where the process cannot collect. */
export async function heap(): Promise<number | undefined> {
  const collect = Bun === undefined ? gc : () => Bun.gc(true);
  if (collect === undefined) return undefined;
  for (let i = 0; i < 5; i++) {
    await new Promise<void>((resolve) => setTimeout(resolve, 10));
    collect();
  }
  return process.memoryUsage().heapUsed;
}

/** Fails when a run did not come to what it should. */
export function expectStatus({ status }: { readonly status: string }, wanted: string): void {
  if (status !== wanted) throw new Error(`a run is ${status}, not ${wanted}`);
}

/** The same command with a garbage collector that can be called, and without a check of types. */
export function collecting(runtime: RuntimeName, { command, args }: Command): Command {
  if (runtime === "bun") return { command, args };
  if (runtime === "node") return { command, args: ["--expose-gc", ...args] };
  const [run, ...rest] = args;
  return { command, args: [run!, "--no-check", "--v8-flags=--expose-gc", ...rest] };
}
