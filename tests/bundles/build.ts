/** What users' bundlers make of a program, as files outside of the repository. */
import { execFileSync } from "node:child_process";
import { mkdirSync, symlinkSync } from "node:fs";
import { basename, join } from "node:path";
import { build, type BuildOptions, type Plugin } from "esbuild";
import { ROOT } from "../support/paths.ts";
import { executable } from "../support/runtimes.ts";

/** A way to bundle: writes `<folder>/main.mjs` or another file there, and returns its path. */
export type Bundler = (entry: string, folder: string) => Promise<string>;

/** With esbuild: superstep and all packages go into the bundle, only the native driver stays outside. */
export function withEsbuild(options: BuildOptions): Bundler {
  return async (entry, folder) => {
    const ending = options.format === "cjs" ? ".cjs" : ".mjs";
    await build({
      absWorkingDir: ROOT,
      entryPoints: [entry],
      outdir: folder,
      outExtension: { ".js": ending },
      bundle: true,
      platform: "node",
      format: "esm",
      target: "es2022",
      conditions: ["bun"],
      external: ["@deno/kv"],
      logLevel: "error",
      ...options,
    });
    return join(folder, basename(entry).replace(/\.ts$/, ending));
  };
}

/** A plugin of esbuild that leaves superstep outside, as the copy that the test itself has loaded. */
export const SUPERSTEP_OUTSIDE: Plugin = {
  name: "superstep-outside",
  setup: (build) => {
    const url = new URL(`../../mod${import.meta.url.slice(-3)}`, import.meta.url).href;
    build.onResolve({ filter: /^superstep$/ }, () => ({ path: url, external: true }));
  },
};

/** With `bun build --minify`. */
export function withBun(...flags: readonly string[]): Bundler {
  return (entry, folder) => {
    const args = ["build", join(ROOT, entry), "--outdir", folder, "--entry-naming=[name].mjs"];
    const more = ["--target=node", "--format=esm", "--conditions=bun", "--external=@deno/kv", ...flags];
    execFileSync(executable("bun"), [...args, ...more], {
      cwd: ROOT,
      stdio: ["ignore", "ignore", "inherit"],
    });
    return Promise.resolve(join(folder, basename(entry).replace(/\.ts$/, ".mjs")));
  };
}

/** Lets programs in the folder find the driver, and no other package. */
export function provideDriver(folder: string): void {
  mkdirSync(join(folder, "node_modules/@deno"), { recursive: true });
  symlinkSync(join(ROOT, "node_modules/@deno/kv"), join(folder, "node_modules/@deno/kv"), "junction");
}
