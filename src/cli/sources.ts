import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { compile, type CompileOptions } from "../compile.ts";
import type { Runner } from "../engine/runner.ts";
import { closestId } from "../graph/closest.ts";
import { isId } from "../model/ids.ts";
import { importFile } from "../runtime/import_file.ts";
import { messageOf } from "../errors.ts";
import { scan, type ScannedWorkflow } from "../scanner/mod.ts";
import type { RunRecord } from "../model/run.ts";
import type { Store } from "../store/store.ts";
import type { Cli } from "./cli.ts";
import { UsageError } from "./faults.ts";
import { counted } from "./format.ts";
import { line } from "./printable.ts";

/** Arguments sorted by what they are. */
export interface Arguments {
  readonly ids: readonly string[];
  readonly sources: readonly string[];
}

/**
 * Tells ids from sources, in any order: a source is a file or folder that exists, or looks like a path or a glob.
 */
export function sorted(given: readonly string[]): Arguments {
  const ids: string[] = [];
  const sources: string[] = [];
  for (const word of given) {
    if (isSource(word)) sources.push(word);
    else if (isId(word)) ids.push(word);
    else {throw new UsageError(
        `${JSON.stringify(line(word, 80))} is no id, and no file or folder has that name`,
      );}
  }
  return { ids, sources };
}

/** Arguments of a command that takes one id, called `what`. */
export function oneId(given: readonly string[], what: string): { readonly id: string } & Arguments {
  const found = sorted(given);
  const [id, ...more] = found.ids;
  if (id === undefined) throw new UsageError(`no ${what} is given`);
  if (more.length > 0) {
    throw new UsageError(
      `one ${what} is expected, but ${found.ids.join(" and ")} are no files or folders; check the path`,
    );
  }
  return { ...found, id };
}

function isSource(word: string): boolean {
  return word === "." || word === ".." || /[/\\*?[\]{}]/.test(word) || existsSync(word);
}

/** Options of commands that compile workflows. */
export interface CompilingOptions {
  readonly provide?: string;
  readonly adopt?: boolean;
}

/** What tells which code a run needs. */
type RunOf = Pick<RunRecord, "runId" | "graphId" | "graphVersion">;

/** The workflows of the sources given. */
export class Workflows {
  readonly sources: readonly string[];
  readonly all: readonly ScannedWorkflow[];
  readonly #how: Pick<CompileOptions, "provide" | "adopt">;

  private constructor(
    sources: readonly string[],
    all: readonly ScannedWorkflow[],
    how: Pick<CompileOptions, "provide" | "adopt">,
  ) {
    this.sources = sources;
    this.all = all;
    this.#how = how;
  }

  /** Loads them. */
  static async load(sources: readonly string[], options: CompilingOptions = {}): Promise<Workflows> {
    if (sources.length === 0) {
      throw new UsageError("no source is given; name the file, folder or glob that holds the workflow");
    }
    const all = await scan(...sources);
    return new Workflows(sources, all, {
      ...(options.provide === undefined ? {} : { provide: await provideFrom(options.provide) }),
      ...(options.adopt === true ? { adopt: "compatible" } : {}),
    });
  }

  /** The one workflow there is, or the one that is named, such as `approval` or `approval@2`; of several versions the newest. */
  pick(named?: string): ScannedWorkflow {
    return this.named(named ?? this.#only()).at(-1)!;
  }

  /** All versions of the workflow that is named, or the one version that is, in ascending order. */
  named(named: string): readonly ScannedWorkflow[] {
    const [, id = named, version] = /^(.*)@(\d+)$/.exec(named) ?? [];
    const versions = this.all.filter((workflow) => workflow.id === id);
    const found = versions.filter((w) => version === undefined || w.version === Number(version));
    if (found.length > 0) return found;
    if (versions.length > 0) {
      throw new UsageError(
        `workflow ${id} has no version ${version}; found: ${versions.map((w) => w.version).join(", ")}`,
      );
    }
    const near = closestId(id, this.ids);
    throw new UsageError(
      `there is no workflow ${JSON.stringify(line(id, 80))}; ` +
        (near === undefined ? `found: ${this.#ids()}` : `did you mean ${near}?`),
    );
  }

  /** The workflow that a run belongs to, in the version of the run; where that is not there, in the newest one. */
  ofRun({ runId, graphId, graphVersion }: RunOf): ScannedWorkflow {
    const versions = this.all.filter((workflow) => workflow.id === graphId);
    const found = versions.find(({ graph }) => graph.version === graphVersion) ?? versions.at(-1);
    if (found !== undefined) return found;
    throw new UsageError(
      `run ${runId} belongs to workflow ${line(graphId)}, which ${this.sources.join(" ")} does not hold ` +
        `(found: ${this.#ids()})`,
    );
  }

  /** A runner of one of them. */
  runner(workflow: ScannedWorkflow, store: Store, cli: Cli): Runner<unknown> {
    return compile(workflow.graph, { store, logger: cli.logger, ...this.#how });
  }

  /** Says which tasks are made without the arguments that they take, for that is seen late and is hard to make out. */
  noteArguments(workflow: ScannedWorkflow, cli: Cli): void {
    if (this.#how.provide !== undefined) return;
    for (const { task } of workflow.graph.vertices.values()) {
      if (task.kind !== "class" || task.cls.length === 0) continue;
      const { name, length } = task.cls;
      cli.note(
        `! ${line(name)} takes ${counted(length, "argument")}; give a module that makes it with --provide`,
      );
    }
  }

  /** Whether one of them is of that version. */
  has(graphId: string, graphVersion: string): boolean {
    return this.all.some(({ graph }) => graph.id === graphId && graph.version === graphVersion);
  }

  /** The ids of the workflows, each once. */
  get ids(): readonly string[] {
    return [...new Set(this.all.map((workflow) => workflow.id))];
  }

  #ids(): string {
    return this.ids.join(", ");
  }

  #only(): string {
    const [first, ...more] = this.ids;
    if (first !== undefined && more.length === 0) return first;
    throw new UsageError(`${this.ids.length} workflows are found; name one with --workflow: ${this.#ids()}`);
  }
}

/** The ids of the workflows that a list is about; `undefined` for all there are. */
export async function graphIds(
  sources: readonly string[],
  workflow: string | undefined,
): Promise<readonly string[] | undefined> {
  return idsOf(sources.length === 0 ? undefined : await Workflows.load(sources), workflow);
}

/** As {@link graphIds}, of sources that were loaded. */
export function idsOf(
  workflows: Workflows | undefined,
  workflow: string | undefined,
): readonly string[] | undefined {
  if (workflows === undefined) return workflow === undefined ? undefined : [workflow];
  return workflow === undefined ? workflows.ids : [workflows.pick(workflow).id];
}

/** The `provide` that a module exports. */
async function provideFrom(path: string): Promise<NonNullable<CompileOptions["provide"]>> {
  if (!existsSync(path)) throw new UsageError(`--provide: there is no file ${path}`);
  let module: { readonly provide?: unknown; readonly default?: unknown };
  try {
    module = await importFile(pathToFileURL(resolve(path)).href);
  } catch (error) {
    throw new UsageError(`--provide: ${path} cannot be loaded: ${messageOf(error)}`);
  }
  const provide = module.provide ?? module.default;
  if (typeof provide === "function") return provide as NonNullable<CompileOptions["provide"]>;
  throw new UsageError(
    `--provide: ${path} exports no function \`provide\`, such as (cls) => new cls(services)`,
  );
}
