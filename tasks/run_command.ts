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

/**
 * Runs a command and answers what it printed. Its environment holds `IDEMPOTENCY_KEY`, the same in every attempt. When
 * the attempt times out or the run is stopped, the command is terminated.
 *
 * @example
 * ```ts ignore
 * @Vertex({
 *   graph: Release, id: "build", to: "publish",
 *   select: (s) => ({ command: "make", args: ["dist"], cwd: s.folder }),
 *   reduce: (s, output: CommandOutput) => { s.log = output.stdout; },
 * })
 * @Timeout("10m")
 * class Build extends RunCommand {}
 * ```
 */
export class RunCommand implements Task<RunCommandInput, CommandOutput> {
  execute(input: RunCommandInput, ctx: TaskContext): Promise<CommandOutput> {
    const { command, args = [], cwd, env = {}, stdin = "" } = input;
    return new Promise((resolve, reject) => {
      const child = spawn(command, args, {
        ...(cwd === undefined ? {} : { cwd }),
        env: { ...process.env, ...env, IDEMPOTENCY_KEY: ctx.idempotencyKey },
        signal: ctx.signal,
      });
      const printed = { stdout: "", stderr: "" };
      for (const name of ["stdout", "stderr"] as const) {
        child[name].setEncoding("utf8").on("data", (text: string) => printed[name] += text);
      }
      child.on("error", reject);
      child.on("close", (code, signal) => {
        if (code === 0) return resolve(printed);
        const end = signal ?? code ?? "unknown";
        const said = printed.stderr.trim().split("\n").at(-1) ?? "";
        reject(
          new CommandError(`${command} ended with ${end}${said === "" ? "" : `: ${said}`}`, {
            code: end,
            ...printed,
          }),
        );
      });
      // A command that reads nothing closes its input early, which is its own affair.
      child.stdin.on("error", () => {});
      child.stdin.end(stdin);
    });
  }
}
