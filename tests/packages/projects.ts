import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join, relative, resolve } from "node:path";
import process from "node:process";
import { after } from "node:test";
import ts from "typescript";
import { ROOT } from "../support/paths.ts";
import { HOST } from "../support/runtimes.ts";

/** What a project gets from the package: everything else of the repository stays out of its reach. */
const PACKAGE = [
  "deno.json",
  "package.json",
  "tsconfig.json",
  "tsconfig.build.json",
  "mod.ts",
  "src",
  "tasks",
  "README.md",
  "LICENSE",
  "tests/tools/build.mjs",
];

/** What npm asks the network for beside packages. */
const QUIET_NPM = {
  npm_config_audit: "false",
  npm_config_fund: "false",
  npm_config_update_notifier: "false",
  npm_config_prefer_offline: "true",
};

/** A folder with a copy of the package in `superstep`, in which a user makes projects, with few programs on PATH. */
export class Workbench {
  readonly folder = realpathSync(mkdtempSync(join(tmpdir(), "superstep-packages-")));
  readonly #bin = join(this.folder, ".bin");

  /** @param programs The names of the only programs there are, beside a shell. */
  constructor(programs: readonly string[]) {
    mkdirSync(this.#bin);
    for (const name of [...programs, "sh", "env", "mkdir"]) {
      const path = findProgram(name);
      if (path === undefined) throw new Error(`there is no ${name} on PATH`);
      symlinkSync(path, join(this.#bin, name));
    }
    for (const path of PACKAGE) {
      mkdirSync(dirname(join(this.folder, "superstep", path)), { recursive: true });
      cpSync(join(ROOT, path), join(this.folder, "superstep", path), { recursive: true });
    }
    after(() => rmSync(this.folder, { recursive: true, force: true }));
  }

  /**
   * Builds the copy of the package, as package managers do. The build is kept for the other runtimes, which would make
   * the same.
   */
  async build(packageManager: "npm" | "bun"): Promise<void> {
    const clone = join(this.folder, "superstep");
    const kept = join(ROOT, ".tmp", "packages", this.#fingerprint("superstep"));
    if (!existsSync(kept)) {
      symlinkSync(join(ROOT, "node_modules"), join(clone, "node_modules"));
      await this.shell("superstep", `${packageManager} run prepare`);
      rmSync(dirname(kept), { recursive: true, force: true });
      mkdirSync(dirname(kept), { recursive: true });
      cpSync(join(clone, "dist"), `${kept}.new`, { recursive: true });
      renameSync(`${kept}.new`, kept);
    }
    cpSync(kept, join(clone, "dist"), { recursive: true });
  }

  /** A digest of every file below a folder of it. */
  #fingerprint(folder: string): string {
    const hash = createHash("sha256");
    for (const path of this.files(folder)) {
      hash.update(path).update(readFileSync(join(this.folder, folder, path)));
    }
    return hash.digest("hex");
  }

  /** Every file below a folder of it, by its path from there. */
  files(folder: string): readonly string[] {
    const whole = join(this.folder, folder);
    return readdirSync(whole, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
      .map((entry) => relative(whole, join(entry.parentPath, entry.name))).sort();
  }

  /** Writes a file below the folder. */
  write(path: string, content: string): void {
    mkdirSync(dirname(join(this.folder, path)), { recursive: true });
    writeFileSync(join(this.folder, path), content);
  }

  /** Runs a line of shell in a folder of it and answers what is printed; what fails is an error. */
  async shell(folder: string, line: string, env: Readonly<Record<string, string>> = {}): Promise<string> {
    const options = {
      cwd: resolve(this.folder, folder),
      env: {
        PATH: this.#bin,
        HOME: process.env.HOME,
        NO_COLOR: "1",
        ...QUIET_NPM,
        ...cachesOf(process.env),
        ...env,
      },
      maxBuffer: 2 ** 26,
    };
    return await new Promise((done, failed) => {
      execFile(join(this.#bin, "sh"), ["-ec", line], options, (error, stdout, stderr) => {
        if (error === null) done(stdout);
        else failed(new Error(`${line} in ${folder}: ${error.code}\n${stdout}\n${stderr}`));
      });
    });
  }
}

/** Settings of package managers and caches that a machine needs to reach its registry. */
function cachesOf(env: NodeJS.ProcessEnv): Record<string, string> {
  const kept = Object.entries(env).filter(([name, value]) =>
    value !== undefined &&
    /^(npm_config_(registry|cache|userconfig)|NPM_CONFIG_|BUN_|DENO_|https?_proxy|no_proxy|NODE_EXTRA_CA|SSL_)/i
      .test(name)
  );
  return Object.fromEntries(kept as [string, string][]);
}

/** Where a program is. The running runtime is found as itself, whatever its name on PATH is. */
export function findProgram(name: string): string | undefined {
  if (name === HOST || name === "bunx" && HOST === "bun") return process.execPath;
  const places = (process.env.PATH ?? "").split(delimiter).map((folder) => join(folder, name));
  return places.find((path) => existsSync(path));
}

const README = readFileSync(join(ROOT, "README.md"), "utf8");

/** The program that the README begins with. */
export function quickStart(): string {
  return README.split("```ts\n")[1]!.split("```")[0]!;
}

/** What the README has users type to use the package in a project of their own, beside a clone of it. */
export function lines(runtime: "Node" | "Bun" | "Deno"): string {
  return section(runtime).split("```sh\n")[1]!.split("```")[0]!;
}

/** The deno.json that the README gives such a project. */
export function denoConfig(): string {
  return section("Deno").split("```json\n")[1]!.split("```")[0]!;
}

function section(runtime: string): string {
  const use = README.split("\n## Use it in your project\n")[1]?.split("\n## ")[0] ?? "";
  const text = use.split(`\n**${runtime}**`)[1];
  assert.ok(text !== undefined, `the README tells how to use the package in a project on ${runtime}`);
  return text;
}

/** The entry points of the package, as users import them, and the names that each exports. */
export function entries(): ReadonlyMap<string, readonly string[]> {
  const names: Record<string, string[]> = JSON.parse(
    readFileSync(join(ROOT, "tests/house/exports.json"), "utf8"),
  );
  return new Map(Object.entries(names).map(([entry, all]) => [entry.replace(/^\./, "superstep"), all]));
}

/** A program that imports every entry and prints the names of its values, entry by entry, as JSON. */
export function importEverything(): string {
  const names = [...entries().keys()];
  return names.map((name, i) => `import * as m${i} from ${JSON.stringify(name)};\n`).join("") +
    `console.log(JSON.stringify([${names.map((_, i) => `Object.keys(m${i})`).join()}]));\n`;
}

/** Fails when an entry lacks a value, or has one that it does not declare. */
export function checkValues(printed: string): void {
  const values: readonly (readonly string[])[] = JSON.parse(printed);
  for (const [i, [name, declared]] of [...entries()].entries()) {
    assert.ok(values[i]!.length > 0, name);
    assert.deepEqual(values[i]!.filter((value) => !declared.includes(value)), [], name);
  }
}

/** A module that imports everything that each entry exports, types included. */
function nameEverything(): string {
  return [...entries()].map(([entry, names], i) =>
    `import type { ${names.map((name) => `${name} as ${name}${i}`).join(", ")} } from "${entry}";\n`
  ).join("");
}

/**
 * Compiles the first program of the README in a project, and a module that imports every name of every entry, as
 * strictly as can be. The declarations of the package are checked too; those of the platform and of others are not.
 */
export function compileStrictly(
  bench: Workbench,
  project: string,
  resolution: "nodenext" | "bundler",
  more: ts.CompilerOptions = {},
): void {
  bench.write(`${project}/main.ts`, quickStart().replace(/^class/gm, "export class"));
  bench.write(`${project}/names.ts`, nameEverything());
  const isNode = resolution === "nodenext";
  const folder = join(bench.folder, project);
  const options: ts.CompilerOptions = {
    target: ts.ScriptTarget.ES2022,
    module: isNode ? ts.ModuleKind.NodeNext : ts.ModuleKind.ESNext,
    moduleResolution: isNode ? ts.ModuleResolutionKind.NodeNext : ts.ModuleResolutionKind.Bundler,
    lib: ["lib.esnext.d.ts", "lib.dom.d.ts"],
    types: ["node"],
    typeRoots: [join(ROOT, "node_modules", "@types")],
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    noImplicitOverride: true,
    declaration: true,
    rootDir: folder,
    outDir: join(folder, "out"),
    ...more,
  };
  const program = ts.createProgram(
    [join(folder, "main.ts"), join(folder, "names.ts")],
    options,
    hostOf(options),
  );
  const ours = program.getSourceFiles().filter(({ fileName }) =>
    fileName.startsWith(`${folder}/`) && !/\/node_modules\/(?!superstep\/)/.test(fileName)
  );
  assert.ok(
    ours.some(({ fileName }) => fileName.endsWith("/superstep/dist/mod.d.ts")),
    "declarations were found",
  );
  assert.ok(
    ours.every(({ fileName }) => !/\/superstep\/(?!dist\/)/.test(fileName)),
    "no sources were checked",
  );
  const problems = [
    ...program.getOptionsDiagnostics(),
    ...ours.flatMap((
      file,
    ) => [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)]),
    ...program.emit(program.getSourceFile(join(folder, "main.ts"))).diagnostics,
  ];
  assert.deepEqual(
    problems.map(({ file, messageText }) =>
      `${file?.fileName}: ${ts.flattenDiagnosticMessageText(messageText, " ")}`
    ),
    [],
  );
}

const parsed = new Map<string, ts.SourceFile | undefined>();

/** A host that parses what two compilations share once: the declarations of platform and packages. */
function hostOf(options: ts.CompilerOptions): ts.CompilerHost {
  const host = ts.createCompilerHost(options);
  const getSourceFile = (fileName: string, ...more: [ts.ScriptTarget | ts.CreateSourceFileOptions]) => {
    const key = `${fileName} ${JSON.stringify(more[0])}`;
    if (!parsed.has(key)) parsed.set(key, host.getSourceFile(fileName, ...more));
    return parsed.get(key);
  };
  return { ...host, getSourceFile };
}

/** What the root needs of other packages, and nothing else. */
const PACKAGES_OF_THE_ROOT = [
  "@lukeed/ms",
  "croner",
  "fastest-levenshtein",
  "msgpackr",
  "mutative",
  "reflect-metadata",
  "zod",
];

/** Fails when, of the files that were loaded, one is none of the root's business. */
export function checkLoaded(files: readonly string[]): void {
  const paths = files.map((file) => file.replace(/^file:\/\//, "").split("/node_modules/").at(-1)!);
  const own = paths.map((path) =>
    /^(?:.*\/)?superstep\/(?:dist\/)?((?:src|tasks)\/.*|mod\..*)$/.exec(path)?.[1]
  );
  assert.ok(own.some((path) => /^mod\.[jt]s$/.test(path ?? "")), "the root itself was seen");
  const rooms = own.filter((path) => path !== undefined)
    .filter((path) => /^(src\/(http|cli|worker|testing|telemetry|store\/(?!store\.))|tasks)/.test(path));
  assert.deepEqual(rooms, []);
  const others = paths.filter((path, i) => own[i] === undefined && !path.startsWith("node:"));
  const packages = new Set(others.map((path) => /^(@[^/]+\/[^/]+|[^/]+)/.exec(path)![0]));
  assert.deepEqual([...packages].filter((name) => !PACKAGES_OF_THE_ROOT.includes(name)), []);
}
