// Runs on node: the other runtimes have files of their own.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { before, test } from "node:test";
import { effort } from "../support/effort.ts";
import { HOST } from "../support/runtimes.ts";
import {
  checkLoaded,
  checkValues,
  compileStrictly,
  findProgram,
  importEverything,
  lines,
  quickStart,
  Workbench,
} from "./projects.ts";

const LAX = { strict: false, exactOptionalPropertyTypes: false, noUncheckedIndexedAccess: false };

// The other runtimes have files of their own. A Node that came from npm as a package may be without npm.
if (HOST === "node" && findProgram("npm") !== undefined) onNode();
else {
  const reason = HOST === "node" ? "npm is not on PATH" : "it is about Node";
  test("the package in a project on Node and npm (FT-G17)", { skip: reason }, () => {});
}

function onNode() {
  const bench = new Workbench(["node", "npm", "npx", "tar", "gzip"]);
  let printed = "";

  before(async () => {
    await bench.build("npm");
    bench.write("my-project/main.ts", quickStart());
    printed = await bench.shell(
      ".",
      lines("Node").replace("npm install && npm pack", "npm pack --ignore-scripts"),
    );
  });

  test("the tarball of npm has the sources, their build, the licence and the README, and nothing else (SPEC 14)", async () => {
    const listed = await bench.shell("superstep", "tar -tf superstep-0.1.0.tgz");
    const files = listed.trim().split("\n").map((path) => path.replace(/^package\//, "")).sort();
    const sources = bench.files("superstep").filter((path) => /^(mod\.ts$|src\/|tasks\/)/.test(path));
    const built = sources.flatMap((path) =>
      [".js", ".d.ts"].map((end) => `dist/${path.replace(/\.ts$/, end)}`)
    );
    assert.deepEqual(files, ["LICENSE", "README.md", "package.json", ...sources, ...built].sort());
  });

  test("in an empty project on Node, the lines of the README install the package and run the program there (SPEC 14)", () => {
    assert.match(printed, /^completed true$/m);
    assert.match(printed, /approval +completed/);
  });

  test("on Node every entry point is imported and has the values that it declares (SPEC 14)", async () => {
    bench.write("my-project/all.mjs", importEverything());
    checkValues(await bench.shell("my-project", "node all.mjs"));
  });

  for (const resolution of effort(["nodenext"] as const, ["bundler", "nodenext"] as const)) {
    test(`a strict project compiles the first program with ${resolution}, and gets declarations of it (SPEC 14)`, async () => {
      compileStrictly(bench, "my-project", resolution);
      assert.equal(await bench.shell("my-project", "node out/main.js"), "completed true\n");
    });
  }

  test("a project that is not strict compiles the declarations of every entry point (SPEC 14)", () => {
    compileStrictly(bench, "my-project", "bundler", LAX);
  });

  test("importing the root loads nothing of HTTP, command line, stores and drivers (SPEC 14)", async () => {
    bench.write("my-project/hooks.mjs", HOOKS);
    bench.write(
      "my-project/watch.mjs",
      `import { register } from "node:module";\nregister("./hooks.mjs", import.meta.url);\n`,
    );
    bench.write(
      "my-project/root.mjs",
      `import "superstep";\nimport { createRequire } from "node:module";\n` +
        `console.log(Object.keys(createRequire(import.meta.url).cache).join("\\n"));\n`,
    );
    const log = join(bench.folder, "loaded.txt");
    const required = await bench.shell("my-project", "node --import ./watch.mjs root.mjs", { LOADED: log });
    checkLoaded([...readFileSync(log, "utf8").trim().split("\n"), ...required.trim().split("\n")]
      .filter((file) => !file.endsWith("/root.mjs")));
  });
}

/** Notes every module that is loaded. */
const HOOKS = `import { appendFileSync } from "node:fs";
export async function load(url, context, next) {
  appendFileSync(process.env.LOADED, url + "\\n");
  return await next(url, context);
}
`;
