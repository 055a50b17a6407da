// @ts-check
/**
 * Builds the package: ESM and types in `dist`. npm runs it as `prepare`, before it packs and after it has fetched the
 * repository from git.
 */
import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../", import.meta.url));
const tsc = join(root, "node_modules", "typescript", "bin", "tsc");

if (existsSync(tsc)) {
  rmSync(join(root, "dist"), { recursive: true, force: true });
  const { status } = spawnSync(process.execPath, [
    ...interpreter(),
    tsc,
    "-p",
    join(root, "tsconfig.build.json"),
  ], {
    stdio: "inherit",
  });
  if (status !== 0) throw new Error(`tsc ended with ${status}`);
  const { bin } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  for (const file of Object.values(bin)) chmodSync(join(root, file), 0o755);
} else {
  // Installed without development dependencies, as for production: whoever does that does not publish.
  console.warn("superstep: not built, because typescript is not installed");
}

/** What the running runtime needs before a file to run. */
function interpreter() {
  return "deno" in process.versions ? ["run", "-A"] : [];
}
