import { existsSync, realpathSync } from "node:fs";
import process from "node:process";
import { fileURLToPath } from "node:url";

/** Whether the module is the program that was started, on any runtime. */
export function isMain(moduleUrl: string): boolean {
  const [, program] = process.argv;
  return program !== undefined && existsSync(program) &&
    realpathSync(program) === realpathSync(fileURLToPath(moduleUrl));
}

/** The command that starts another module of this folder on the runtime of this process: source, or built for Node. */
export function programAt(moduleUrl: string): readonly [command: string, ...args: string[]] {
  const onDeno = "deno" in process.versions;
  return [process.execPath, ...(onDeno ? ["run", "-A", "--unstable-kv"] : []), fileURLToPath(moduleUrl)];
}
