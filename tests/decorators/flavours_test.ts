import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import ts from "typescript";
import { Graph, OnError, Retry, Timeout, Vertex, Workflow } from "../../src/decorators/mod.ts";
import type { BuildError } from "../../src/errors.ts";
import { canonicalForm } from "../../src/graph/mod.ts";
import { graphOf } from "../../src/scanner/mod.ts";
import { ROOT } from "../support/paths.ts";
import { HOST } from "../support/runtimes.ts";
import { z } from "zod";
import { Approval } from "./fixtures/approval.ts";

const FIXTURE = join(ROOT, "tests/decorators/fixtures/approval.ts");
const EXT = import.meta.url.endsWith(".ts") ? ".ts" : ".js";

/** A folder inside the repository, where packages are found. */
function scratch(): string {
  mkdirSync(join(ROOT, ".tmp"), { recursive: true });
  return mkdtempSync(join(ROOT, ".tmp", "flavours-"));
}

/** The fixture as the TypeScript compiler writes it, importing the source that this test uses. */
function emitted(options: ts.CompilerOptions): string {
  const { outputText } = ts.transpileModule(readFileSync(FIXTURE, "utf8"), {
    compilerOptions: { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022, ...options },
  });
  const source = new URL("../../src/", import.meta.url).href;
  return outputText.replace(/"\.\.\/\.\.\/\.\.\/src\/(.*?)\.ts"/g, (_, path) => `"${source}${path}${EXT}"`);
}

const EMISSIONS: Readonly<Record<string, ts.CompilerOptions>> = {
  "standard decorators, compiled away": {},
  "legacy decorators": { experimentalDecorators: true },
  "legacy decorators with emitted types": { experimentalDecorators: true, emitDecoratorMetadata: true },
};

for (const [flavour, options] of Object.entries(EMISSIONS)) {
  test(`D2, FC-39: the same source gives the same graph with ${flavour}`, async () => {
    const folder = scratch();
    try {
      const file = join(folder, "approval.mjs");
      writeFileSync(file, emitted(options));
      const module: { readonly Approval: typeof Approval } = await import(pathToFileURL(file).href);
      assert.notEqual(module.Approval, Approval);
      const graph = graphOf(module.Approval);
      assert.equal(canonicalForm(graph), canonicalForm(graphOf(Approval)));
      assert.deepEqual(graph.vertices.get("draft")?.retry.maxAttempts, 3);
      assert.equal(graph.vertices.get("draft")?.handlers[0]?.route, "ticket");
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
}

if (HOST === "bun") {
  const settings: Readonly<Record<string, Readonly<Record<string, boolean>>>> = {
    "without settings": {},
    "with experimentalDecorators": { experimentalDecorators: true },
    "with emitDecoratorMetadata alone": { emitDecoratorMetadata: true },
    "with both": { experimentalDecorators: true, emitDecoratorMetadata: true },
    "with experimentalDecorators off and emitDecoratorMetadata": {
      experimentalDecorators: false,
      emitDecoratorMetadata: true,
    },
  };
  for (const [words, compilerOptions] of Object.entries(settings)) {
    test(`D2, FC-39: Bun gives the same graph from source ${words}`, () => {
      const folder = scratch();
      try {
        // A copy of the package, so that one tsconfig holds for it and for the workflow.
        cpSync(join(ROOT, "src"), join(folder, "src"), { recursive: true });
        mkdirSync(join(folder, "tests/decorators/fixtures"), { recursive: true });
        cpSync(FIXTURE, join(folder, "tests/decorators/fixtures/approval.ts"));
        writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions }));
        writeFileSync(
          join(folder, "main.ts"),
          `import { Approval } from "./tests/decorators/fixtures/approval.ts";
           import { graphOf } from "./src/scanner/mod.ts";
           console.log(graphOf(Approval).version);`,
        );
        const { stdout, stderr, status } = spawnSync(process.execPath, [join(folder, "main.ts")], {
          cwd: folder,
          encoding: "utf8",
        });
        assert.equal(status, 0, stderr);
        assert.equal(stdout.trim(), graphOf(Approval).version);
      } finally {
        rmSync(folder, { recursive: true });
      }
    });
  }
}

const STATE = z.object({ n: z.number() });

function decorators() {
  class Flow extends Workflow(STATE) {}
  return {
    "@Graph": Graph({ id: "flow" }),
    "@Vertex": Vertex({ graph: Flow, id: "a", select: (s) => s.n, reduce: () => {} }),
    "@Retry": Retry({ maxAttempts: 2 }),
    "@Timeout": Timeout("1s"),
    "@OnError": OnError("pause"),
  } as unknown as Readonly<Record<string, (...args: readonly unknown[]) => unknown>>;
}

test("D2: a call with a class, alone or with the context of a class, is taken and answered with nothing", () => {
  for (const decorate of Object.values(decorators())) {
    assert.equal(decorate(class extends Workflow(STATE) {}), undefined);
    assert.equal(
      decorate(class extends Workflow(STATE) {}, { kind: "class", name: "C", addInitializer: () => {} }),
      undefined,
    );
  }
});

test("D2, FC-38, FC-39: any other call throws at class definition and says what to change", () => {
  class C {}
  const misuses: readonly (readonly [readonly unknown[], RegExp])[] = [
    [[C.prototype, "execute", { value: () => {} }], /member \(execute\); put it on the class/],
    [[C, "create", { value: () => {} }], /member \(create\)/],
    [[() => {}, { kind: "method", name: "execute", static: false, private: false }], /member \(method\)/],
    [[() => {}, { kind: "method", name: "#secret", static: false, private: true }], /member \(method\)/],
    [[undefined, { kind: "field", name: "x", static: true, private: false }], /member \(field\)/],
    [[C, undefined, 0], /constructor parameter; put it on the class/],
    [[{ kind: "class", elements: [] }], /experimentalDecorators/],
    [[C, {}], /experimentalDecorators/],
    [[C, undefined], /experimentalDecorators/],
    [[], /experimentalDecorators/],
  ];
  for (const [name, decorate] of Object.entries(decorators())) {
    for (const [args, about] of misuses) {
      assert.throws(() => decorate(...args), (error: BuildError) => {
        assert.equal(error.name, "BuildError");
        assert.equal(error.op, name);
        assert.match(error.message, about);
        return true;
      });
    }
  }
});
