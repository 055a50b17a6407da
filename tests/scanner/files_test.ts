import assert from "node:assert/strict";
import { symlinkSync } from "node:fs";
import { basename, join, relative } from "node:path";
import process from "node:process";
import { test, type TestContext } from "node:test";
import { pathToFileURL } from "node:url";
import { type BuildError, type BuildFaultsError, isSuperstepError } from "../../src/errors.ts";
import { Vertex } from "../../src/decorators/mod.ts";
import { scan } from "../../src/scanner/mod.ts";
import { as } from "../graph/fixtures.ts";
import { HOST } from "../support/runtimes.ts";
import { Echo, type FlowClass, newWorkflow, PLAIN } from "./fixtures/workflows.ts";
import { flow, imported, type Project, project, SUPERSTEP } from "./project.ts";

function projectOf(t: TestContext, files: Readonly<Record<string, string>>): Project {
  const made = project(files);
  t.after(() => made.remove());
  imported();
  return made;
}

async function idsOf(...sources: Parameters<typeof scan>): Promise<readonly string[]> {
  return (await scan(...sources)).map(({ id }) => id);
}

/** The messages of all faults that a scan ends with. */
async function faultsOf(...sources: Parameters<typeof scan>): Promise<readonly Error[]> {
  try {
    await scan(...sources);
  } catch (error) {
    assert.ok(isSuperstepError(error), String(error));
    return (error as Partial<BuildFaultsError>).faults ?? [error as Error];
  }
  return [];
}

async function faultOf(...sources: Parameters<typeof scan>): Promise<string> {
  const faults = await faultsOf(...sources);
  assert.equal(faults.length, 1, faults.map(({ message }) => message).join("\n"));
  return faults[0]!.message;
}

const FLOWS = {
  "flows/b.js": flow("b"),
  "flows/a.mjs": flow("z"),
  "flows/deep/er/c.js": flow("c"),
  "flows/deep/helper.js": "export const helper = 1; export class Plain {}",
  "flows/empty.js": "",
  "flows/(group)/d.js": flow("d"),
} as const;

test("a folder gives every workflow below it, and its other modules are passed over (D9)", async (t) => {
  const { path, at } = projectOf(t, FLOWS);
  assert.deepEqual(await idsOf(at("flows")), ["b", "c", "d", "z"]);
  assert.deepEqual(await idsOf(join(relative(process.cwd(), path), "flows")), ["b", "c", "d", "z"]);
});

test("files are imported one after another in ascending order of their paths, and each once (D9)", async (t) => {
  const { at, url } = projectOf(t, FLOWS);
  await scan(at("flows"), at("flows/b.js"), at("flows/*.js"), url("flows/b.js"), import(url("flows/b.js")));
  assert.deepEqual(imported().slice(1).map((file) => basename(file)), ["d.js", "a.mjs", "c.js"]);
  await scan(at("flows"));
  assert.deepEqual(imported(), []);
});

test("node_modules, dot folders, declarations and tests are passed over in folders and globs (D9)", async (t) => {
  const broken = "throw new Error('imported')";
  const { at, write } = projectOf(t, {
    "flows/node_modules/pkg/a.js": broken,
    "flows/.hidden/a.js": broken,
    "flows/.dot.js": broken,
    "flows/a.d.ts": broken,
    "flows/a.d.mts": broken,
    "flows/a_test.js": broken,
    "flows/a.test.js": broken,
    "flows/a.spec.mjs": broken,
    "flows/a.css": broken,
    "flows/a.json": broken,
    "flows/a.cjs": broken,
    "flows/fine.js": flow("fine"),
  });
  assert.deepEqual(await idsOf(at("flows")), ["fine"]);
  assert.deepEqual(await idsOf(at("fl*/**/*.*s")), ["fine"]);
  write("flows/my_test.js", flow("named"));
  assert.deepEqual(await idsOf(at("flows/my_test.js")), ["named"], "a file that is named is taken");
});

test("a glob is taken from the working directory, a file, folder or glob also as a file: URL (D9)", async (t) => {
  const { path, at, url } = projectOf(t, { ...FLOWS, "more/e.js": flow("e") });
  const here = relative(process.cwd(), path);
  assert.deepEqual(await idsOf(join(here, "flows/*.{js,mjs}")), ["b", "z"]);
  assert.deepEqual(await idsOf(`./${join(here, "*/b.js")}`, join(here, "more")), ["b", "e"]);
  assert.deepEqual(await idsOf(new URL("flows/deep/", pathToFileURL(`${path}/`))), ["c"]);
  assert.deepEqual(await idsOf(url("flows/deep")), ["c"]);
  assert.deepEqual(await idsOf(url("**/*.mjs")), ["z"]);
  assert.deepEqual(await idsOf(url("more/e.js")), ["e"]);
  assert.deepEqual(await idsOf(at("flows/(group)")), ["d"], "what exists is no pattern");
});

test("one file that several links lead to is one module (D9)", async (t) => {
  const { at } = projectOf(t, { "flows/a.js": flow("a") });
  symlinkSync(at("flows/a.js"), at("flows/b.js"));
  symlinkSync(at("flows"), at("flows/loop"), "junction");
  assert.deepEqual(await idsOf(at("flows")), ["a"]);
  assert.equal(imported().length, 1);
});

test("a place that does not exist is named, with the closest one that does (D9)", async (t) => {
  const { path, at } = projectOf(t, FLOWS);
  const text = await faultOf(at("flow"));
  assert.ok(text.includes(`there is no file or folder ${JSON.stringify(at("flow"))}`), text);
  assert.match(text, /did you mean "flows"\?/);
  assert.match(await faultOf(at("flows/a.js")), /did you mean "a\.mjs"\?/);
  const here = join(relative(process.cwd(), path), "unlike-anything");
  const far = await faultOf(here);
  assert.ok(
    far.includes(`"${here}" (looked for ${at("unlike-anything")}); give a path from the working`),
    far,
  );
  assert.match(await faultOf(at("flws/*.js")), /no file or folder .*flws".*did you mean "flows"/);
});

test("a place that holds no workflow is named, with what was looked at (D9)", async (t) => {
  const { at, write } = projectOf(t, {
    ...FLOWS,
    "none/readme.txt": "",
    "other/a.js": "export const a = 1;",
  });
  const none = await faultOf(at("none"));
  assert.ok(none.includes(`the folder ${JSON.stringify(at("none"))} holds no module (looked for `), none);
  assert.match(none, /none\); modules are \.ts, .* no tests \(\*_test/);
  assert.match(
    await faultOf(at("flows/*.ts")),
    /the pattern ".*" holds no module \(looked for \*\.ts in \S+flows\);/,
  );
  const other = await faultOf(at("other"));
  assert.match(
    other,
    /the folder ".*other" holds no workflow: it exports a; export the class that carries @Graph/,
  );
  write("other/b.js", "export class B {}");
  assert.match(await faultOf(at("other")), /none of its 2 modules exports one; export the class/);
  assert.match(
    await faultOf(at("flows/empty.js")),
    /the file ".*empty\.js" .*it exports nothing; export the class/,
  );
  assert.match(
    await faultOf({ a: 1 }, {}),
    /none of the 2 modules given exports a workflow; export the class/,
  );
  assert.match(await faultOf(), /no source was given; give a module/);
});

test("what is no source is refused by its number, and a text that is no path with what to do (D9)", async () => {
  class Flow {}
  assert.match(await faultOf({}, Flow), /source 2 is the class or function Flow; give a module/);
  const wrong = [undefined, null, 7] as unknown as readonly object[];
  assert.deepEqual((await faultsOf(...wrong)).map(({ message }) => /source \d is \w+/.exec(message)?.[0]), [
    "source 1 is undefined",
    "source 2 is null",
    "source 3 is 7",
  ]);
  assert.match(await faultOf("npm:flows"), /"npm:flows" is no file.*scan\(import\("npm:flows"\)\)/);
  assert.match(await faultOf(new URL("https://example.com/flow.ts")), /import it yourself/);
});

test("all faults come at once: files that cannot be imported, promises, places and graphs, with the closest ids (D9)", async (t) => {
  const { at, url } = projectOf(t, {
    "flows/a_broken.js": "export const = 1;",
    "flows/b_throwing.js": "throw new Error('no such service');",
    "flows/c_importing.js": 'import "./b_throwing.js";',
    "flows/d_missing.js": 'import "./nowhere.js";',
    "flows/e.js": flow("e", ["onyl"]),
    "flows/f.js": flow("fine"),
  });
  const cause = new Error("not found");
  const faults = await faultsOf(at("flows"), Promise.reject(cause), at("flwos"));
  const texts = faults.map(({ message }) => message);
  const importing = /superstep: scan: (\S+) cannot be imported: (.+)/;
  assert.deepEqual(texts.slice(0, 4).map((text) => importing.exec(text)?.[1]), [
    url("flows/a_broken.js"),
    url("flows/b_throwing.js"),
    url("flows/c_importing.js"),
    url("flows/d_missing.js"),
  ]);
  assert.equal(importing.exec(texts[1]!)?.[2], "no such service");
  assert.equal(importing.exec(texts[2]!)?.[2], `for the same reason as ${url("flows/b_throwing.js")}`);
  assert.equal((faults[1] as BuildError).cause, (faults[2] as BuildError).cause);
  assert.match(texts[3]!, /nowhere\.js/);
  assert.ok(texts.every((text) => !text.includes("\n")), "one line each");
  assert.match(texts[4]!, /source 2, the promise of a module, failed: not found/);
  assert.equal((faults[4] as BuildError).cause, cause);
  assert.match(texts[5]!, /no file or folder .*flwos".*did you mean "flows"/);
  assert.match(texts[6]!, /unknown vertex "onyl".*did you mean "only"/);
  assert.equal(faults.length, 7, texts.join("\n"));
});

test("a fault that shows in several places is told once (D9)", async (t) => {
  const { at, url } = projectOf(t, { "a.js": flow("a", ["onyl"]), "b.js": "throw new Error('down')" });
  const module = await import(url("a.js"));
  assert.match(await faultOf(at("b.js"), at("b.js"), at("b*")), /b\.js cannot be imported: down/);
  assert.match(await faultOf(module, at("a.js")), /unknown vertex "onyl"/);
  const later: { flow?: FlowClass } = {};
  @Vertex({ graph: () => as<FlowClass>(later.flow), id: "late", ...PLAIN })
  class Late extends Echo {}
  assert.match(await faultOf({ Late, default: { Late } }), /on class Late \(vertex late\): its graph thunk/);
  later.flow = newWorkflow("later");
});

test("one graph id from two files fails naming both (D9)", async (t) => {
  const { at, url } = projectOf(t, { "a.js": flow("same"), "b.js": flow("same") });
  const text = await faultOf(at("."));
  assert.ok(
    text.includes(`class Flow in ${url("a.js")} and class Flow in ${url("b.js")}; give one another id`),
    text,
  );
});

test("a file loaded anew under a query replaces the workflow that it defined before (D9, FC-40)", async (t) => {
  const { at, url, write } = projectOf(t, { "a.js": flow("hot") });
  const [old] = await scan(at("a.js"));
  // Bun leaves the query out of its stacks: a workflow is known there by its name.
  const name = HOST === "bun" ? "Flow" : "Moved";
  write("a.js", flow("hot").replaceAll("Only", "Renamed").replaceAll("Flow", name));
  const [found] = await scan(at("a.js"), `${url("a.js")}?v=2`);
  assert.notEqual(found?.workflow, old?.workflow);
  assert.equal(found?.workflow.name, name);
});

// What else changes has to be told there with the evaluation of the module.
const MODULE = HOST === "bun" ? "module: import.meta.url," : "";

function task(name: string, id: string, more: string): string {
  return `export class ${name} { execute(n) { return n; } }
    Vertex({ graph: Growing, id: "${id}", select: (s) => s.n, reduce: () => {}, ${MODULE} ${more} })(${name});`;
}

test("a module of tasks loaded anew replaces all that it had bound, what was renamed and what is gone (D9, FC-40)", async (t) => {
  const header = `import { Graph, Vertex, Workflow } from ${JSON.stringify(SUPERSTEP)};`;
  const { at, url, write } = projectOf(t, {
    "growing.js": `${header} import { z } from "zod";
      export class Growing extends Workflow(z.object({ n: z.number() })) {}
      Graph({ id: "growing" })(Growing);`,
  });
  const tasks = (text: string) =>
    write("tasks.js", `${header} import { Growing } from "./growing.js"; ${text}`);
  tasks(task("First", "first", 'entry: true, to: "second"') + task("Second", "second", "finish: true"));
  const [old] = await scan(at("tasks.js"));
  assert.deepEqual([...old!.graph.vertices.keys()], ["first", "second"]);
  tasks(task("Begin", "first", 'entry: true, to: "third"') + task("Third", "third", "finish: true"));
  const [found] = await scan(`${url("tasks.js")}?v=2`);
  assert.equal(found?.workflow, old?.workflow);
  assert.deepEqual([...found!.graph.vertices.keys()], ["first", "third"]);
  const first = found!.graph.vertices.get("first")?.task;
  assert.equal(first?.kind === "class" && first.cls.name, "Begin");
});

test("what a CommonJS module exports is found under its default export (D9)", async (t) => {
  const { url } = projectOf(t, { "a.js": flow("inner") });
  const { Flow } = await import(url("a.js"));
  assert.deepEqual(await idsOf({ default: { Flow } }), ["inner"]);
  assert.deepEqual(await idsOf({ default: Flow }), ["inner"]);
});

test("a module that uses a class before it is defined is answered with where ids and thunks belong (D9)", async (t) => {
  const { at } = projectOf(t, {
    "early.js": "(() => {\nconst options = { to: B };\nconst B = class {};\nreturn [options, B];\n})();",
  });
  assert.match(
    await faultOf(at("early.js")),
    /early\.js cannot be imported: .*B.*; `to`, `targets` and `route` take the id text of a vertex, such as to: "review"/,
  );
});
