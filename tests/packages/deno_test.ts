// Runs on deno: the other runtimes have files of their own.
import assert from "node:assert/strict";
import { join, relative } from "node:path";
import { before, test } from "node:test";
import { filesBelow } from "../house/source_tree.ts";
import { effort, LONG } from "../support/effort.ts";
import { ROOT } from "../support/paths.ts";
import { HOST } from "../support/runtimes.ts";
import {
  checkLoaded,
  checkValues,
  denoConfig,
  importEverything,
  lines,
  quickStart,
  Workbench,
} from "./projects.ts";

/**
 * A package that is linked is checked with the options of its user. Deno's own
 * lie between these two; without `strictNullChecks` zod works in no project.
 */
const USER_OPTIONS = {
  lax: { strict: false, strictNullChecks: true },
  strict: {
    exactOptionalPropertyTypes: true,
    noFallthroughCasesInSwitch: true,
    noImplicitOverride: true,
    noImplicitReturns: true,
    noPropertyAccessFromIndexSignature: true,
    noUncheckedIndexedAccess: true,
    noUnusedLocals: true,
    noUnusedParameters: true,
  },
};

// The other runtimes have files of their own.
if (HOST === "deno") onDeno();
else test("the package in a project on Deno (FT-G17)", { skip: "it is about Deno" }, () => {});

function onDeno() {
  const bench = new Workbench(["deno"]);
  let printed = "";

  before(async () => {
    bench.write("my-project/deno.json", denoConfig());
    bench.write("my-project/main.ts", quickStart());
    printed = await bench.shell(".", lines("Deno"));
  });

  test("in a project on Deno alone, the lines of the README run the program there, on the linked folder (SPEC 14)", () => {
    assert.match(printed, /^completed true$/m);
    assert.match(printed, /approval +completed/);
  });

  test("on Deno every entry point is imported and has the values that it declares (SPEC 14)", async () => {
    bench.write("my-project/all.mjs", importEverything());
    checkValues(await bench.shell("my-project", "deno run -A all.mjs"));
  });

  if (LONG) {
    test("a project on Deno checks the types of the first program (SPEC 14)", async () => {
      await bench.shell("my-project", "deno check main.ts");
    });
  }

  for (const name of effort(["strict"] as const, ["lax", "strict"] as const)) {
    test(`on Deno the types of every entry point hold under ${name} compiler options of its user (SPEC 14)`, async () => {
      const config = { ...JSON.parse(denoConfig()), compilerOptions: USER_OPTIONS[name] };
      bench.write(`my-project/${name}.json`, JSON.stringify(config));
      bench.write("my-project/all.ts", importEverything());
      await bench.shell("my-project", `deno check -c ${name}.json all.ts`);
    });
  }

  test("on Deno the root loads nothing of HTTP, command line, stores and drivers (SPEC 14)", async () => {
    checkLoaded(loadedBy(JSON.parse(await bench.shell("my-project", "deno info --json superstep"))));
  });

  test("the package can be published: its public types need no inference, and it holds the package alone (SPEC 14)", async () => {
    const told = await bench.shell(ROOT, "deno publish --dry-run --allow-dirty --no-check 2>&1");
    assert.match(told, /Success/);
    // What users name is imported by its name, so nobody can know it beforehand.
    const warned = [...told.matchAll(/^warning\[(.*?)\].*\n *--> (\S+?):\d/gm)].map(([, kind, file]) =>
      `${kind} ${file}`
    );
    assert.deepEqual(
      new Set(warned),
      new Set(IMPORTS_OF_USERS.map((file) => `unanalyzable-dynamic-import ${join(ROOT, file)}`)),
    );
    const files = [...told.matchAll(/^ +file:\/\/(\S+) \(/gm)].map(([, file]) => relative(ROOT, file!))
      .sort();
    const own = ["LICENSE", "README.md", "deno.json", "mod.ts", ...filesBelow("src"), ...filesBelow("tasks")];
    assert.deepEqual(files, own.sort());
  });
}

const IMPORTS_OF_USERS = ["src/cli/main.ts", "src/runtime/import_file.ts"];

interface ModuleGraph {
  readonly roots: readonly string[];
  readonly redirects: Readonly<Record<string, string>>;
  readonly modules: readonly {
    readonly specifier: string;
    readonly dependencies?: readonly {
      readonly code?: { readonly specifier: string };
      readonly isDynamic?: boolean;
    }[];
  }[];
}

/** What is loaded with a module: its static imports, without those of types. */
function loadedBy({ roots, redirects, modules }: ModuleGraph): readonly string[] {
  const byName = new Map(modules.map((module) => [module.specifier, module]));
  const seen = new Set(roots);
  for (const name of seen) {
    for (const { code, isDynamic } of byName.get(redirects[name] ?? name)?.dependencies ?? []) {
      if (code !== undefined && isDynamic !== true) seen.add(code.specifier);
    }
  }
  return [...seen].map((name) =>
    name.replace(/^npm:\/?/, "/node_modules/").replace(/(?<=\/node_modules\/.+)@.*$/, "")
  );
}
