import assert from "node:assert/strict";
import { cpSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { z } from "zod";
import { Graph, Vertex, Workflow } from "../../src/decorators/mod.ts";
import type { BuildError } from "../../src/errors.ts";
import { graphOf, scan } from "../../src/scanner/mod.ts";
import { withEsbuild } from "../bundles/build.ts";
import { ROOT } from "../support/paths.ts";
import { HOST } from "../support/runtimes.ts";
import { Approval } from "./fixtures/approval.ts";

const EXT = import.meta.url.endsWith(".ts") ? ".ts" : ".js";
const LOADED = new URL(`../../src/decorators/metadata${EXT}`, import.meta.url).href;
const ENTRY = "tests/bundles/fixtures/both_twins.ts";
const STATE = z.object({ n: z.number() });

/** A folder inside the repository, where packages are found. */
function scratch(): string {
  mkdirSync(join(ROOT, ".tmp"), { recursive: true });
  return mkdtempSync(join(ROOT, ".tmp", "copies-"));
}

/** Checks that loading another copy fails, and that it names the one that is loaded and the one that is refused. */
async function refused(load: () => unknown, url: string): Promise<void> {
  await assert.rejects(async () => await load(), (error: BuildError) => {
    assert.equal(error.code, "BUILD");
    assert.match(error.message, /two copies of superstep are loaded: 0\.\d+\.\d+ from /);
    assert.ok(error.message.includes(`from ${LOADED} and`), error.message);
    assert.ok(error.message.includes(`from ${url};`), error.message);
    assert.deepEqual([error.fields.loaded, error.fields.refused], [LOADED, url]);
    return true;
  });
  assert.ok(graphOf(Approval).vertices.has("draft"), "the first copy goes on");
}

test("a second copy of the source is refused when it is loaded, naming both (D9, FC-40)", async (t) => {
  const folder = scratch();
  t.after(() => rmSync(folder, { recursive: true }));
  cpSync(fileURLToPath(new URL("../../src/", import.meta.url)), join(folder, "src"), { recursive: true });
  cpSync(fileURLToPath(new URL(`../../mod${EXT}`, import.meta.url)), join(folder, `mod${EXT}`));
  const second = pathToFileURL(join(folder, `mod${EXT}`)).href;
  await refused(() => import(second), pathToFileURL(join(folder, `src/decorators/metadata${EXT}`)).href);
});

// The source is TypeScript, which Node cannot load beside what is built from it.
if (HOST !== "node") {
  test("the package as built for Node is refused beside its source, naming both (D9, FC-40)", async () => {
    const built = pathToFileURL(join(ROOT, "dist/mod.js")).href;
    await refused(() => import(built), new URL("src/decorators/metadata.js", built).href);
  });
}

test("a bundle that contains a copy of its own is refused, naming both, and by scan with the file (D9, FC-40)", async (t) => {
  const folder = scratch();
  t.after(() => rmSync(folder, { recursive: true }));
  const url = pathToFileURL(await withEsbuild({ minify: true })(ENTRY, folder)).href;
  await refused(() => import(url), url);
  await assert.rejects(() => scan(folder), (error: BuildError) => {
    assert.equal(error.name, "BuildError");
    assert.ok(error.message.includes(`scan: ${url} cannot be imported: `), error.message);
    assert.ok(error.message.includes(`from ${LOADED} and`), error.message);
    assert.equal((error.cause as BuildError).fields.refused, url);
    return true;
  });
});

test("a CommonJS bundle, which knows no URL of its own, is refused too (D9, FC-40)", async (t) => {
  const folder = scratch();
  t.after(() => rmSync(folder, { recursive: true }));
  const file = await withEsbuild({ format: "cjs", logOverride: { "empty-import-meta": "silent" } })(
    ENTRY,
    folder,
  );
  await refused(() => createRequire(import.meta.url)(file), pathToFileURL(file).href);
});

test("the package's own modules may be evaluated again from the same place (FC-40)", async () => {
  const again = await import(`../../src/decorators/metadata${EXT}?t=1`);
  assert.equal(again.readOwn(Approval, again.records.graph)?.[0]?.id, "approval");
});

test("an older copy of reflect-metadata that is loaded later takes nothing away (FC-40)", () => {
  const names = ["defineMetadata", "getOwnMetadata", "getMetadata"] as const;
  const originals = names.map((name) => Reflect[name]);
  try {
    // What such a copy does: it puts its own functions, with an empty store, in place of those it finds.
    for (const name of names) Object.assign(Reflect, { [name]: () => undefined });
    @Graph({ id: "between" })
    class Between extends Workflow(STATE) {}
    Vertex({ graph: Between, id: "a", entry: true, finish: true, select: (s) => s.n, reduce: () => {} })(
      class {
        execute(n: number) {
          return n;
        }
      },
    );
    assert.ok(graphOf(Between).vertices.has("a"));
    assert.ok(graphOf(Approval).vertices.has("draft"));
  } finally {
    names.forEach((name, i) => Object.assign(Reflect, { [name]: originals[i] }));
  }
});
