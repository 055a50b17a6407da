import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { type TransformConfig, transformSync as swcTransform } from "@swc/wasm";
import { type TransformOptions, transformSync as esbuildTransform } from "esbuild";
import ts from "typescript";
import { compile } from "../../src/compile.ts";
import { Graph, OnError, Retry, Timeout, Vertex, Workflow } from "../../src/decorators/mod.ts";
import type { BuildError } from "../../src/errors.ts";
import { canonicalForm } from "../../src/graph/mod.ts";
import { graphOf } from "../../src/scanner/mod.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { ROOT } from "../support/paths.ts";
import { HOST } from "../support/runtimes.ts";
import { z } from "zod";
import type * as fixture from "./fixtures/approval.ts";
import { Approval } from "./fixtures/approval.ts";

const FIXTURE = join(ROOT, "tests/decorators/fixtures/approval.ts");
const EXT = import.meta.url.endsWith(".ts") ? ".ts" : ".js";

/** A folder inside the repository, where packages are found. */
function scratch(): string {
  mkdirSync(join(ROOT, ".tmp"), { recursive: true });
  return mkdtempSync(join(ROOT, ".tmp", "flavours-"));
}

const TEXT = readFileSync(FIXTURE, "utf8");

function tsc(compilerOptions: ts.CompilerOptions): string {
  const options = { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022, ...compilerOptions };
  return ts.transpileModule(TEXT, { compilerOptions: options }).outputText;
}

function swc(transform: TransformConfig & { readonly decoratorVersion?: string }): string {
  const parser = { syntax: "typescript", decorators: true } as const;
  return swcTransform(TEXT, { configFile: false, swcrc: false, jsc: { target: "es2022", parser, transform } })
    .code;
}

function esbuild(compilerOptions: Readonly<Record<string, boolean>>, more: TransformOptions = {}): string {
  return esbuildTransform(TEXT, { loader: "ts", target: "es2022", tsconfigRaw: { compilerOptions }, ...more })
    .code;
}

/** What compilers write of the fixture. */
const EMISSIONS: Readonly<Record<string, () => string>> = {
  "tsc, standard": () => tsc({}),
  "tsc, legacy": () => tsc({ experimentalDecorators: true }),
  "tsc, legacy with emitted types": () => tsc({ experimentalDecorators: true, emitDecoratorMetadata: true }),
  "swc, standard": () => swc({ decoratorVersion: "2023-11" }),
  "swc, standard as proposed in 2022": () => swc({ decoratorVersion: "2022-03" }),
  "swc, legacy with emitted types": () => swc({ legacyDecorator: true, decoratorMetadata: true }),
  "esbuild, standard": () => esbuild({}),
  "esbuild, standard, minified": () => esbuild({}, { minify: true }),
  "esbuild, legacy": () => esbuild({ experimentalDecorators: true }),
};

for (const [compiler, emit] of Object.entries(EMISSIONS)) {
  test(`the same source as ${compiler} writes it is the same graph, and runs (D2, FC-39)`, async (t) => {
    const folder = scratch();
    t.after(() => rmSync(folder, { recursive: true }));
    const file = join(folder, "approval.mjs");
    const source = new URL("../../src/", import.meta.url).href;
    writeFileSync(
      file,
      emit().replace(/"\.\.\/\.\.\/\.\.\/src\/(.*?)\.ts"/g, (_, path) => `"${source}${path}${EXT}"`),
    );
    const module: typeof fixture = await import(pathToFileURL(file).href);
    assert.notEqual(module.Approval, Approval);
    const graph = graphOf(module.Approval);
    assert.equal(canonicalForm(graph), canonicalForm(graphOf(Approval)));
    assert.equal(graph.version, graphOf(Approval).version);
    assert.equal(graph.vertices.get("draft")?.retry.maxAttempts, 3);
    assert.equal(graph.vertices.get("draft")?.handlers[0]?.route, "ticket");
    await sends(module);
  });
}

/** Runs the workflow of a module to its end, over its wait. */
async function sends({ Approval }: typeof fixture): Promise<void> {
  const rag = { ask: (text: string) => Promise.resolve(`about ${text}`) };
  const runner = compile(Approval, { store: memoryStore(), provide: (cls) => new cls(rag) });
  const paused = await runner.run({ question: "why" });
  const { rows: [wait] } = await runner.waits({ runId: paused.run.runId });
  assert.deepEqual(wait?.info, { draft: "about why" });
  await runner.answer(paused.run.runId, wait.waitId, { verdict: "approve" });
  const done = await runner.resume(paused.run.runId);
  assert.deepEqual([done.status, done.state.verdict], ["completed", "approve"]);
}

/** The settings that decide what the runtimes which read TypeScript themselves make of a decorator. */
const SETTINGS: Readonly<Record<typeof HOST, Readonly<Record<string, Readonly<Record<string, boolean>>>>>> = {
  node: {},
  deno: { "with experimentalDecorators": { experimentalDecorators: true } },
  bun: {
    "without settings": {},
    "with experimentalDecorators": { experimentalDecorators: true },
    "with emitDecoratorMetadata alone": { emitDecoratorMetadata: true },
    "with both": { experimentalDecorators: true, emitDecoratorMetadata: true },
    "with experimentalDecorators off and emitDecoratorMetadata": {
      experimentalDecorators: false,
      emitDecoratorMetadata: true,
    },
  },
};

for (const [words, compilerOptions] of Object.entries(SETTINGS[HOST])) {
  test(`${HOST} gives the same graph from source ${words} (D2, FC-39)`, (t) => {
    const folder = scratch();
    t.after(() => rmSync(folder, { recursive: true }));
    // A copy of the package, so that one configuration holds for it and for the workflow.
    cpSync(join(ROOT, "src"), join(folder, "src"), { recursive: true });
    mkdirSync(join(folder, "tests/decorators/fixtures"), { recursive: true });
    cpSync(FIXTURE, join(folder, "tests/decorators/fixtures/approval.ts"));
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions }));
    writeFileSync(join(folder, "deno.json"), JSON.stringify({ compilerOptions, nodeModulesDir: "manual" }));
    writeFileSync(
      join(folder, "main.ts"),
      `import { Approval } from "./tests/decorators/fixtures/approval.ts";
       import { graphOf } from "./src/scanner/mod.ts";
       let count = 0;
       function probe(...args: unknown[]) { count = args.length; }
       @probe class Probed {}
       console.log(graphOf(Approval).version, Probed && count);`,
    );
    const args = [...HOST === "deno" ? ["run", "-A"] : [], join(folder, "main.ts")];
    const { stdout, stderr, status } = spawnSync(process.execPath, args, { cwd: folder, encoding: "utf8" });
    assert.equal(status, 0, stderr);
    const [version, count] = stdout.trim().split(" ");
    assert.equal(version, graphOf(Approval).version);
    if (compilerOptions.experimentalDecorators) assert.equal(count, "1", "the setting has not been taken");
  });
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

test("a call with a class, alone or with the context of a class, is taken and answered with nothing (D2)", () => {
  for (const decorate of Object.values(decorators())) {
    assert.equal(decorate(class extends Workflow(STATE) {}), undefined);
    assert.equal(
      decorate(class extends Workflow(STATE) {}, { kind: "class", name: "C", addInitializer: () => {} }),
      undefined,
    );
  }
});

test("any other call throws at class definition and says what to change (D2, FC-38, FC-39)", () => {
  class C {}
  const misuses: readonly (readonly [readonly unknown[], RegExp])[] = [
    [[C.prototype, "execute", { value: () => {} }], /member \(execute\); put it on the class/],
    [[C, "create", { value: () => {} }], /member \(create\)/],
    [[() => {}, { kind: "method", name: "execute", static: false, private: false }], /member \(method\)/],
    [[() => {}, { kind: "method", name: "#secret", static: false, private: true }], /member \(method\)/],
    [[undefined, { kind: "field", name: "x", static: true, private: false }], /member \(field\)/],
    [[C, undefined, 0], /constructor parameter; put it on the class/],
    [[{ kind: "class", elements: [] }], /with 1 argument \(object\).*experimentalDecorators.*"2023-11"/],
    [[C, {}], /experimentalDecorators/],
    [[C, undefined], /with 2 arguments \(function, undefined\).*experimentalDecorators/],
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

test("a decorator without its call is refused at class definition, where it would be handed the class (D2)", () => {
  class Bare {}
  const ctx = { kind: "class", name: "Bare" };
  for (const [name, decorator] of Object.entries({ Graph, Vertex, Retry, Timeout, OnError })) {
    const misused = decorator as unknown as (...args: readonly unknown[]) => unknown;
    assert.throws(() => misused(Bare, ctx), {
      name: "BuildError",
      op: `@${name}`,
      message: new RegExp(`options are class Bare; call it with them: @${name}\\(`),
    });
    assert.throws(() => misused(), { name: "BuildError", op: `@${name}`, message: /options are undefined/ });
  }
});
