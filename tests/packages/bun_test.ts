// Runs on bun: the other runtimes have files of their own.
import { before, test } from "node:test";
import assert from "node:assert/strict";
import { HOST } from "../support/runtimes.ts";
import { checkLoaded, checkValues, importEverything, lines, quickStart, Workbench } from "./projects.ts";

// The other runtimes have files of their own.
if (HOST === "bun") onBun();
else test("the package in a project on Bun (FT-G17)", { skip: "it is about Bun" }, () => {});

function onBun() {
  const bench = new Workbench(["bun", "bunx"]);
  let printed = "";

  before(async () => {
    await bench.build("bun");
    bench.write("my-project/main.ts", quickStart());
    printed = await bench.shell(
      ".",
      lines("Bun").replace("bun install && bun pm pack", "bun pm pack --ignore-scripts"),
    );
  });

  test("in an empty project on Bun alone, the lines of the README install the package and run the program there (SPEC 14)", () => {
    assert.match(printed, /^completed true$/m);
    assert.match(printed, /approval +completed/);
  });

  test("on Bun every entry point is imported and has the values that it declares (SPEC 14)", async () => {
    bench.write("my-project/all.mjs", importEverything());
    checkValues(await bench.shell("my-project", "bun all.mjs"));
  });

  test("on Bun the root is loaded from its sources, and with it nothing of HTTP, command line, stores and drivers (SPEC 14)", async () => {
    bench.write(
      "my-project/root.mjs",
      `await import("superstep");\nconsole.log(Object.keys(require.cache).join("\\n"));\n`,
    );
    const files = (await bench.shell("my-project", "bun root.mjs")).trim().split("\n");
    assert.ok(files.some((file) => file.endsWith("superstep/mod.ts")));
    checkLoaded(files.filter((file) => !file.endsWith("/root.mjs")));
  });
}
