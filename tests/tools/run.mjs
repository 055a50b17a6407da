// @ts-check
/** Runs a TypeScript file of this repository on the runtime that called, or on the one that `bun run` stands for. */
import { spawn } from "node:child_process";
import process from "node:process";
import { buildForNode, commandFor, HOST, installDependencies, locate } from "./runtimes.mjs";

const [file, ...args] = process.argv.slice(2);
if (file === undefined) throw new Error("usage: run.mjs <file.ts> [arguments]");

const name = process.env.npm_config_user_agent?.startsWith("bun/") ? "bun" : HOST;
const runtime = locate(name);
installDependencies();
if (name === "node") buildForNode(runtime);
const child = spawn(runtime, [...commandFor(name, file), ...args], { stdio: "inherit" });
// The program decides what a signal means. Ctrl-C reaches it by itself, for a terminal sends it to both.
process.on("SIGINT", () => {});
process.on("SIGTERM", () => child.kill("SIGTERM"));
child.on("close", (code) => process.exit(code ?? 1));
