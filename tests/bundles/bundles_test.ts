// Runs on deno by default: the bundlers are the same everywhere.
/**
 * Runs that source and bundles hand to each other over one Deno KV file. The test process runs the source (on Node the
 * emitted files), the bundles run as programs of their own outside of the repository, where no other copy is near.
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import process from "node:process";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import type { DuplicateVertexError } from "../../src/errors.ts";
import { graphOf, scan } from "../../src/scanner/mod.ts";
import { HOST } from "../support/runtimes.ts";
import { temporaryFolder } from "../support/stores.ts";
import { type Bundler, provideDriver, SUPERSTEP_OUTSIDE, withBun, withEsbuild } from "./build.ts";
import { Twins } from "./fixtures/twins.ts";
import { begin, claims, finish, type Report } from "./fixtures/program.ts";

const ENTRY = "tests/bundles/fixtures/main.ts";

const BUNDLERS: Readonly<Record<string, Bundler>> = {
  "bun build --minify": withBun("--minify"),
  "esbuild, minified": withEsbuild({ minify: true }),
  "esbuild, minified with names kept": withEsbuild({ minify: true, keepNames: true }),
  "esbuild, minified and split": withEsbuild({ minify: true, splitting: true }),
  "esbuild, legacy decorators": withEsbuild({
    minify: true,
    tsconfigRaw: { compilerOptions: { experimentalDecorators: true } },
  }),
};

/** The run after its claim was refused, whoever went on with it. */
const PATH = ["checked at attempt 2", "FatalError at attempt 1", "closed"];

for (const [words, bundle] of Object.entries(BUNDLERS)) {
  test(`what ${words} makes goes on with a run that was started from source, and the reverse (FC-37)`, async (t) => {
    const folder = await temporaryFolder();
    t.after(() => folder.remove());
    const file = join(folder.path, "claims.db");
    provideDriver(folder.path);

    const source = await claims(file);
    await begin(source.runner, "from-source");
    await source.close();

    const program = await bundle(ENTRY, join(folder.path, "out"));
    const { stdout, stderr, status } = spawnSync(
      process.execPath,
      [...HOST === "deno" ? ["run", "-A", "--unstable-kv"] : [], program, file, "from-source", "from-bundle"],
      { cwd: folder.path, encoding: "utf8" },
    );
    assert.equal(status, 0, stderr);
    const bundled: Report = JSON.parse(stdout);

    const again = await claims(file);
    t.after(() => again.close());
    const own = await finish(again.runner, "from-bundle");
    assert.deepEqual(bundled, { version: again.runner.topology().version, status: "completed", path: PATH });
    assert.deepEqual(own, bundled);
  });
}

test("two classes that claim one id fail with both places, from source and in a bundle that keeps or drops their names (FC-37, BLD-07)", async (t) => {
  const folder = await temporaryFolder();
  t.after(() => folder.remove());
  const refused = (workflow: typeof Twins, places: RegExp) =>
    assert.throws(() => graphOf(workflow), (error: DuplicateVertexError) => {
      assert.equal(error.name, "DuplicateVertexError");
      assert.equal(error.vertexId, "work");
      assert.match(error.message, places);
      return true;
    });
  await import("./fixtures/both_twins.ts");
  refused(Twins, /class Task in file:.*first_twin\.[jt]s and class Task in file:.*second_twin\.[jt]s/);
  for (const keepNames of [true, false]) {
    const bundle = withEsbuild({ minify: true, keepNames, plugins: [SUPERSTEP_OUTSIDE] });
    const file = await bundle("tests/bundles/fixtures/both_twins.ts", join(folder.path, String(keepNames)));
    const bundled: { readonly Twins: typeof Twins } = await import(pathToFileURL(file).href);
    assert.notEqual(bundled.Twins, Twins);
    refused(bundled.Twins, /class \S+ in file:.*both_twins\.mjs and class \S+ in file:.*both_twins\.mjs/);
  }
});

test("two workflows of one bundle with one id are a fault, whatever their names have become (FC-37)", async (t) => {
  const folder = await temporaryFolder();
  t.after(() => folder.remove());
  const bundle = withEsbuild({ minify: true, keepNames: true, plugins: [SUPERSTEP_OUTSIDE] });
  const file = await bundle("tests/bundles/fixtures/two_workflows.ts", folder.path);
  await assert.rejects(() => scan(import(pathToFileURL(file).href)), {
    name: "BuildError",
    message: /graph same is defined twice: class Flow in file:.* and class Flow in file:/,
  });
});
