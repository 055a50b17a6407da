// @ts-check
/**
 * Finds Deno, Bun and Node, fetching from npm what the machine lacks, and prepares what they need to run this
 * repository. Plain JavaScript, because it has to run on whichever of the three is there before anything is installed.
 *
 * @typedef {"deno" | "bun" | "node"} RuntimeName
 */
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";

export const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** @type {readonly RuntimeName[]} */
export const RUNTIMES = ["deno", "bun", "node"];

const OLDEST = { deno: 2, bun: 1, node: 20 };
const ON_WINDOWS = process.platform === "win32";

/** The runtime that executes this file. */
export const HOST = hostRuntime();

/** @returns {RuntimeName} */
function hostRuntime() {
  if ("deno" in process.versions) return "deno";
  return "bun" in process.versions ? "bun" : "node";
}

/**
 * The path of a runtime's executable: this process, PATH, or a copy fetched from npm.
 *
 * @param {RuntimeName} name
 * @returns {string}
 */
export function locate(name) {
  const places = [
    ...(HOST === name ? [process.execPath] : []),
    ...(process.env.PATH ?? "").split(delimiter).filter(Boolean).map((folder) =>
      join(folder, executable(name))
    ),
    ...fetchedPlaces(name),
  ];
  const found = places.find((place) => isRuntime(name, place));
  if (found !== undefined) return found;
  try {
    fetch(name);
  } catch (error) {
    throw new Error(`${name} is not on PATH and cannot be fetched from npm`, { cause: error });
  }
  const fetched = fetchedPlaces(name).find((place) => isRuntime(name, place));
  if (fetched === undefined) throw new Error(`${name} is not on PATH and the copy from npm does not start`);
  return fetched;
}

/** @param {RuntimeName} name */
function executable(name) {
  return ON_WINDOWS ? `${name}.exe` : name;
}

/**
 * Whether the file is that runtime, and not another one under its name: `bun run` lends its own as `node`.
 *
 * @param {RuntimeName} name
 * @param {string} path
 */
function isRuntime(name, path) {
  if (!existsSync(path)) return false;
  const code =
    "const v = process.versions; console.log(v.deno ? `deno ${v.deno}` : v.bun ? `bun ${v.bun}` : `node ${v.node}`)";
  const { stdout } = spawnSync(path, name === "deno" ? ["eval", code] : ["-e", code], {
    encoding: "utf8",
    timeout: 60_000,
  });
  const [kind, version] = (stdout ?? "").trim().split(" ");
  return kind === name && Number.parseInt(version ?? "", 10) >= OLDEST[name];
}

/**
 * Outside of node_modules, where Deno would not install anything.
 *
 * @param {RuntimeName} name
 */
function fetchFolder(name) {
  return join(ROOT, ".runtimes", name);
}

/**
 * Where a runtime's executable lies in its npm packages; Deno keeps indirect dependencies in a folder of its own.
 *
 * @param {RuntimeName} name
 */
function fetchedPlaces(name) {
  const modules = join(fetchFolder(name), "node_modules");
  const scope = { bun: "@oven", deno: "@deno", node: "." }[name];
  return [modules, join(modules, ".deno", "node_modules")]
    .map((folder) => join(folder, scope))
    .filter((folder) => existsSync(folder))
    .flatMap((folder) => readdirSync(folder).sort().map((pkg) => join(folder, pkg)))
    .flatMap((folder) => [join(folder, "bin", executable(name)), join(folder, executable(name))]);
}

/**
 * Installs a runtime's npm package with whichever package manager is there.
 *
 * @param {RuntimeName} name
 */
function fetch(name) {
  const folder = fetchFolder(name);
  // The package `node` fetches its executable by calling npm, which may be the very thing that is missing.
  const dependency = name === "node"
    ? { [`node-${process.platform}-${process.arch}`]: "22" }
    : { [name]: String(OLDEST[name]) };
  console.log(`fetching ${name} from npm into ${folder}`);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, dependencies: dependency }));
  writeFileSync(join(folder, "deno.json"), JSON.stringify({ nodeModulesDir: "auto" }));
  install(folder);
}

/** Installs this repository's dependencies unless every one of them is there. */
export function installDependencies() {
  const { dependencies, devDependencies } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
  const names = Object.keys({ ...dependencies, ...devDependencies });
  const missing = names.filter((name) => !existsSync(join(ROOT, "node_modules", name, "package.json")));
  if (missing.length > 0) install(ROOT);
}

/**
 * No package here needs its install scripts: what they would fetch or build comes as packages of its own.
 *
 * @param {string} folder
 */
function install(folder) {
  const npm = ON_WINDOWS ? "npm.cmd" : "npm";
  const [command, args] = HOST === "node"
    ? [npm, ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]]
    : [
      process.execPath,
      HOST === "deno" ? ["install", "--quiet"] : ["install", "--silent", "--ignore-scripts"],
    ];
  execFileSync(command, args, { cwd: folder, stdio: "inherit", shell: ON_WINDOWS });
}

/**
 * Builds the whole repository for Node. Types are the business of the `check` task; here only the emitted code counts.
 *
 * @param {string} node
 */
export function buildForNode(node) {
  const tsc = join(ROOT, "node_modules", "typescript", "bin", "tsc");
  const args = ["--noCheck", "--declaration", "false", "--tsBuildInfoFile", "dist/fast.tsbuildinfo"];
  const { status } = spawnSync(node, [tsc, "-p", ROOT, ...args], { cwd: ROOT, stdio: "inherit" });
  if (status !== 0) throw new Error(`tsc ended with ${status}`);
}

/**
 * The command that runs a TypeScript file of this repository.
 *
 * @param {RuntimeName} name
 * @param {string} file relative to the repository
 * @returns {readonly string[]}
 */
export function commandFor(name, file) {
  if (name === "deno") return ["run", "-A", "--unstable-kv", join(ROOT, file)];
  return [name === "bun" ? join(ROOT, file) : join(ROOT, "dist", file.replace(/\.ts$/, ".js"))];
}
