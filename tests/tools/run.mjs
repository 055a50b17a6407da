// @ts-check
/** Runs a TypeScript file of this repository on the runtime that called, or on the one that `bun run` stands for. */
import { spawnSync } from "node:child_process";
import process from "node:process";
import { buildForNode, commandFor, HOST, installDependencies, locate } from "./runtimes.mjs";

const [file, ...args] = process.argv.slice(2);
if (file === undefined) throw new Error("usage: run.mjs <file.ts> [arguments]");

const name = process.env.npm_config_user_agent?.startsWith("bun/") ? "bun" : HOST;
const runtime = locate(name);
installDependencies();
if (name === "node") buildForNode(runtime);
const { status } = spawnSync(runtime, [...commandFor(name, file), ...args], { stdio: "inherit" });
process.exit(status ?? 1);
