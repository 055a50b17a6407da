/** Workers as child processes. */
import { type ChildProcess, spawn } from "node:child_process";
import process from "node:process";
import { createInterface } from "node:readline";
import { commandFor, type RuntimeName } from "../support/runtimes.ts";
import type { Orders } from "./worker.ts";

/** A line that a worker said. */
export type Said = Readonly<Record<string, unknown>>;

/** A worker at work. */
export class Child {
  readonly #process: ChildProcess;
  readonly #said: Said[] = [];
  readonly #waiting = new Set<() => void>();
  readonly ended: Promise<void>;
  #over = false;
  #complaints = "";

  constructor(runtime: RuntimeName, orders: object, file: string);
  constructor(runtime: RuntimeName, orders: Orders);
  constructor(runtime: RuntimeName, orders: object, file = "tests/durability/worker.ts") {
    const { command, args } = commandFor(runtime, file, [JSON.stringify(orders)]);
    this.#process = spawn(command, args, { stdio: ["pipe", "pipe", "pipe"] });
    this.#process.stdin!.on("error", () => {});
    this.#process.stderr!.setEncoding("utf8").on("data", (text: string) => this.#complaints += text);
    createInterface({ input: this.#process.stdout! }).on("line", (line) => {
      if (line.startsWith("{")) this.#said.push(JSON.parse(line) as Said);
      for (const look of this.#waiting) look();
    });
    this.ended = new Promise((resolve) =>
      this.#process.on("close", () => {
        this.#over = true;
        for (const look of this.#waiting) look();
        resolve();
      })
    );
  }

  /** The first line that the worker says from that place. */
  async until(at: string): Promise<Said> {
    for (;;) {
      const said = this.#said.find((line) => line.at === at);
      if (said !== undefined) return said;
      if (this.#over) {
        throw new Error(`the worker ended without ${at}: ${JSON.stringify(this.#said)} ${this.#complaints}`);
      }
      await new Promise<void>((resolve) => {
        const look = () => {
          this.#waiting.delete(look);
          resolve();
        };
        this.#waiting.add(look);
      });
    }
  }

  /** What the worker said from that place so far, if anything. */
  heard(at: string): Said | undefined {
    return this.#said.find((line) => line.at === at);
  }

  /** Lets a worker that waits for a line go on. */
  go(): void {
    this.#process.stdin!.write("go\n");
  }

  /** Not through the handle of the child: Deno's closes the pipes with any signal. */
  kill(signal: "SIGKILL" | "SIGSTOP" | "SIGCONT" | "SIGTERM"): void {
    if (this.#process.pid === undefined) return;
    try {
      process.kill(this.#process.pid, signal);
    } catch (error) {
      // It may have ended by itself a moment before anybody was told.
      if ((error as { code?: unknown }).code !== "ESRCH") throw error;
    }
  }

  /** Kills what is left of it; for the end of a test. */
  async dispose(): Promise<void> {
    if (!this.#over) this.kill("SIGKILL");
    await this.ended;
  }
}
