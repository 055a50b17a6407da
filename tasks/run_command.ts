import { Buffer } from "node:buffer";
import { spawn } from "node:child_process";
import process from "node:process";
import type { Task, TaskContext } from "../mod.ts";

/** A command, without a shell. */
export interface RunCommandInput {
  /** The program, as it is found on the path. */
  readonly command: string;
  /** Its arguments, each as it is. @default none */
  readonly args?: readonly string[];
  /** The folder that it runs in. @default the folder of this process */
  readonly cwd?: string;
  /** Added to the environment of this process. */
  readonly env?: Readonly<Record<string, string>>;
  /** What the command reads. @default nothing */
  readonly stdin?: string;
}

/** What a command that ended with 0 printed. */
export interface CommandOutput {
  /** What it wrote to its standard output. */
  readonly stdout: string;
  /** What it wrote to its standard error. */
  readonly stderr: string;
}

/** A command that did not end with 0. */
export class CommandError extends Error {
  /** The name of the class, which minifying leaves as it is. */
  override readonly name = "CommandError";
  /** `data`: what `record` and whoever reads the failure get. */
  constructor(
    message: string,
    readonly data: { readonly code: number | string; readonly stdout: string; readonly stderr: string },
  ) {
    super(message);
  }
}

/** What a command may do; given by the class that is bound, not by the state. */
export interface RunCommandOptions {
  /** The most bytes that a command may print, on each of its two streams. @default 10 MiB */
  readonly maxBytes?: number;
}

/**
 * Runs a command and answers what it printed. Its environment holds `IDEMPOTENCY_KEY`, the same in every attempt. When
 * the attempt times out, the run is stopped, or the command prints too much, the command is terminated.
 *
 * @example
 * ```ts
 * @Graph({ id: "release" })
 * class Release extends Workflow(z.object({ version: z.string(), log: z.string().default("") })) {}
 *
 * @Vertex({
 *   graph: Release, id: "tag", entry: true, finish: true,
 *   select: (s) => ({ command: "echo", args: ["tagged", s.version] }),
 *   reduce: (s, output: CommandOutput) => { s.log = output.stdout; },
 * })
 * @Timeout("10m")
 * class Tag extends RunCommand {}
 *
 * const { state } = await compile(Release, { store: memoryStore() }).run({ version: "1.2.0" });
 * assert.equal(state.log.trim(), "tagged 1.2.0");
 * ```
 */
export class RunCommand implements Task<RunCommandInput, CommandOutput> {
  readonly #maxBytes: number;

  /** A command without options is held to the defaults. */
  constructor(options: RunCommandOptions = {}) {
    this.#maxBytes = options.maxBytes ?? 10 * 1024 * 1024;
  }

  /** Runs the command to its end. */
  execute(input: RunCommandInput, ctx: TaskContext): Promise<CommandOutput> {
    const { command, args = [], cwd, env = {}, stdin = "" } = input;
    return new Promise((resolve, reject) => {
      const child = spawn(command, args, {
        ...(cwd === undefined ? {} : { cwd }),
        env: { ...process.env, ...env, IDEMPOTENCY_KEY: ctx.idempotencyKey },
        signal: ctx.signal,
      });
      const printed = { stdout: "", stderr: "" };
      const fail = (end: number | string, said: string) =>
        reject(
          new CommandError(`${command} ended with ${end}${said === "" ? "" : `: ${said}`}`, {
            code: end,
            ...printed,
          }),
        );
      for (const name of ["stdout", "stderr"] as const) {
        let size = 0;
        child[name].setEncoding("utf8").on("data", (text: string) => {
          const room = this.#maxBytes - size;
          size += Buffer.byteLength(text);
          if (size <= this.#maxBytes) return void (printed[name] += text);
          // Nothing is kept of a character that is cut.
          const kept = Buffer.from(text).subarray(0, Math.max(0, room));
          printed[name] += new TextDecoder().decode(kept, { stream: true });
          child.kill();
          fail(
            "too much output",
            `more than ${this.#maxBytes} bytes on ${name}; raise maxBytes if it is meant`,
          );
        });
      }
      child.on("error", reject);
      child.on("close", (code, signal) => {
        if (code === 0) resolve(printed);
        else fail(signal ?? code ?? "unknown", printed.stderr.trim().split("\n").at(-1) ?? "");
      });
      // A command that reads nothing closes its input early, which is its own affair.
      child.stdin.on("error", () => {});
      child.stdin.end(stdin);
    });
  }
}
