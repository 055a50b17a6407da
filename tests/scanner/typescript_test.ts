/** TypeScript files with decorators, as users write them: Deno and Bun read them, Node does so with tsx. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { test, type TestContext } from "node:test";
import { compile } from "../../src/compile.ts";
import { scan } from "../../src/scanner/mod.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { ROOT } from "../support/paths.ts";
import { HOST } from "../support/runtimes.ts";
import { temporaryFolder } from "../support/stores.ts";
import { project } from "./project.ts";

/** What a run has done when its claim was refused. */
const PATH = ["checked at attempt 2", "FatalError at attempt 1", "closed"];

/** Copies the modules of a workflow, a file for each task. */
function writeFlows(folder: string): void {
  mkdirSync(folder, { recursive: true });
  for (const name of ["claim", "check", "review", "appeal"]) {
    cpSync(join(ROOT, `tests/bundles/fixtures/${name}.ts`), join(folder, `${name}.ts`));
  }
}

if (HOST !== "node") {
  test("a folder of TypeScript files is scanned and runs (D2, D9)", async (t) => {
    const { at, remove } = project({});
    t.after(remove);
    writeFlows(at("flows"));
    const [claim, ...others] = await scan(at("flows"));
    assert.equal(others.length, 0);
    const runner = compile(claim!.graph, { store: memoryStore() });
    const { run } = await runner.run({ amount: 40 });
    const { rows: [wait] } = await runner.waits({ runId: run.runId });
    await runner.answer(run.runId, wait!.waitId, { ok: false });
    const { state } = await runner.resume(run.runId);
    assert.deepEqual((state as { readonly path: unknown }).path, PATH);
  });
}

if (HOST === "node") {
  for (const type of ["module", "commonjs"]) {
    test(`a folder of TypeScript files is scanned and runs where tsx is installed, in a project of type ${type} (D2, D9)`, async (t) => {
      const { status, stdout, stderr } = await scanned(t, type, ["superstep", "zod", "tsx"]);
      assert.equal(status, 0, stderr);
      assert.deepEqual(JSON.parse(stdout), PATH);
    });
  }

  test("TypeScript files on Node without tsx are a fault that says what to install, once (D9)", async (t) => {
    const { status, stderr } = await scanned(t, "module", ["superstep", "zod"]);
    assert.equal(status, 1);
    assert.equal(stderr.match(/npm install --save-dev tsx/g)?.length, 1, stderr);
    assert.match(
      stderr,
      /4 faults:\n.*appeal\.ts cannot be imported: import: Node runs no TypeScript and no decorators/,
    );
    assert.match(stderr, /check\.ts cannot be imported: for the same reason as file:.*appeal\.ts/);
  });
}

/** Scans the workflow in a project of its own with these packages, and runs it. */
async function scanned(t: TestContext, type: string, packages: readonly string[]) {
  const folder = await temporaryFolder();
  t.after(() => folder.remove());
  const at = (file: string) => join(folder.path, file);
  writeFlows(at("flows"));
  mkdirSync(at("node_modules"));
  for (const name of packages) {
    const real = name === "superstep" ? ROOT : join(ROOT, "node_modules", name);
    symlinkSync(real, at(`node_modules/${name}`), "junction");
  }
  writeFileSync(at("package.json"), JSON.stringify({ private: true, type }));
  writeFileSync(
    at("main.mjs"),
    `import { compile, scan } from "superstep";
     import { memoryStore } from "superstep/store/memory";
     const [{ graph }] = await scan("flows").catch((error) => {
       console.error(error.message);
       process.exit(1);
     });
     const runner = compile(graph, { store: memoryStore() });
     const { run: { runId } } = await runner.run({ amount: 40 });
     const { rows: [wait] } = await runner.waits({ runId });
     await runner.answer(runId, wait.waitId, { ok: false });
     console.log(JSON.stringify((await runner.resume(runId)).state.path));`,
  );
  return spawnSync(process.execPath, ["main.mjs"], { cwd: folder.path, encoding: "utf8" });
}
