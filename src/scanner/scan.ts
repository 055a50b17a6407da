import {
  type AnyClass,
  type GraphRecord,
  isWorkflow,
  readOwn,
  records,
  resolveGraph,
} from "../decorators/metadata.ts";
import type { WorkflowClass } from "../decorators/mod.ts";
import { BuildError, BuildFaultsError, isSuperstepError, messageOf } from "../errors.ts";
import type { CompiledGraph } from "../model/definition.ts";
import { compareIds } from "../model/ids.ts";
import { assemble, graphRecordOf, isReload, place } from "./assemble.ts";
import { undefinedGraph } from "./policies.ts";
import { loadSources } from "./sources.ts";

/** A workflow that {@link scan} found. */
export interface ScannedWorkflow {
  /** The pinned id of its graph. */
  readonly id: string;
  /** The version that `@Graph` gives it: several versions of one graph may be found side by side. */
  readonly version: number;
  /** The workflow class; `compile` takes it. */
  readonly workflow: WorkflowClass<unknown>;
  /** Its graph; `compile` takes it, too. */
  readonly graph: CompiledGraph<unknown>;
}

/**
 * The graph of a workflow class, from all tasks that have been imported so far. `compile` does it by itself; here it is
 * for those who want to look at a workflow without a store.
 *
 * @throws the one fault that it has, or {@link BuildFaultsError} with all of them
 */
export function graphOf<S, I>(workflow: WorkflowClass<S, I>): CompiledGraph<S, I> {
  if (typeof workflow !== "function") {
    throw new BuildError(
      "compile",
      `the workflow class is ${
        String(workflow)
      }; it has not been defined yet, probably because two modules import each other: ` +
        "compile after all modules are loaded",
    );
  }
  const assembled = assemble(workflow);
  if ("graph" in assembled) return assembled.graph;
  throw merged(assembled.faults);
}

/**
 * Finds workflows: every one that a module exports, or that a task which it exports is bound into, in ascending order of
 * their ids and versions.
 * Whatever is wrong with any of them is reported at once.
 *
 * Sources are modules, or where to find them:
 * - a module namespace, or a promise of one, such as `import("./approval.ts")`: bundlers see what it stands for;
 * - the path of a file, from the working directory;
 * - the path of a folder, for the modules at any depth below it;
 * - a glob such as `"flows/*.flow.ts"`, with forward slashes;
 * - a `file:` URL of any of these, as text or as a `URL`: `new URL("./flows/", import.meta.url)` does not depend on the
 *   working directory, and a query such as `?v=2` loads a file anew.
 *
 * Folders and globs give modules only (`.ts`, `.mts`, `.tsx`, `.js`, `.mjs`) and pass over `node_modules`, folders that
 * begin with a dot, declaration files, and tests (`*_test.*`, `*.test.*`, `*.spec.*`). All others are imported, one after
 * another and each once, so keep programs that do something when they are imported elsewhere. A module without a workflow
 * is ignored there.
 *
 * Of two classes with one id, one from the same module evaluated again (a hot reload) replaces the older one. One from
 * another module is another version of the graph, as in `flows/v1` and `flows/v2`; two of one version are a fault that
 * names both.
 *
 * On Node, TypeScript files need the package `tsx` in the project; it is found and loaded when there is one to import.
 * Deno asks for `--allow-read`.
 *
 * @param sources modules, promises of them, paths, globs or `file:` URLs
 * @returns at least one workflow
 * @throws {BuildError} (or another build error) when there is one fault: of a declaration, a file that cannot be imported,
 * or a source that holds no workflow
 * @throws {BuildFaultsError} with all of them when there are several
 *
 * @example From modules, as from files:
 * ```ts
 * @Graph({ id: "found" })
 * class Found extends Workflow(z.object({ n: z.number() })) {}
 *
 * @Vertex({ graph: Found, id: "only", entry: true, finish: true, select: (s) => s.n, reduce: () => {} })
 * class Only {
 *   execute(n: number): number {
 *     return n;
 *   }
 * }
 *
 * const [workflow] = await scan({ Found, Only });
 * const runner = compile(workflow!.graph, { store: memoryStore() }); // takes any input, which the schema judges
 * assert.equal((await runner.run({ n: 1 })).status, "completed");
 * ```
 *
 * @example
 * ```ts ignore
 * const workflows = await scan(import("./approval.ts"), "./flows", "./more/*.flow.ts");
 * for (const { id, graph } of workflows) console.log(id, compile(graph, { store }).topology().entry);
 * ```
 */
export async function scan(
  ...sources: (string | URL | object | Promise<object>)[]
): Promise<readonly ScannedWorkflow[]> {
  const faults: Error[] = [];
  const workflows: FoundIn = new Map();
  for (const source of await loadSources(sources, faults)) {
    const inside = workflowsIn(source.namespaces, faults);
    if (inside.size === 0 && !source.incomplete && source.place !== undefined) {
      faults.push(noWorkflow(source.place, source.namespaces));
    }
    for (const [workflow, module] of inside) workflows.set(workflow, module);
  }
  if (workflows.size === 0 && faults.length === 0) faults.push(nothingGiven(sources.length));
  const found: ScannedWorkflow[] = [];
  for (const [workflow, { id, version }] of uniqueGraphs(workflows, faults)) {
    const assembled = assemble(workflow);
    if ("graph" in assembled) {
      found.push({ id, version: versionOf(version), workflow, graph: assembled.graph });
    } else faults.push(...assembled.faults);
  }
  if (faults.length > 0) throw merged(faults);
  return found.sort((a, b) => compareIds(a.id, b.id) || a.version - b.version);
}

function nothingGiven(count: number): BuildError {
  const problem = count === 0
    ? 'no source was given; give a module, import("./flow.ts"), or the path of a file or folder'
    : `none of the ${count} modules given exports a workflow; ${EXPORT_IT}`;
  return new BuildError("scan", problem);
}

function noWorkflow(place: string, modules: readonly object[]): BuildError {
  const names = modules.flatMap((module) => Object.keys(module));
  const seen = modules.length > 1
    ? `none of its ${modules.length} modules exports one`
    : `it exports ${names.length === 0 ? "nothing" : names.join(", ")}`;
  return new BuildError("scan", `${place} holds no workflow: ${seen}; ${EXPORT_IT}`, { place });
}

const EXPORT_IT = "export the class that carries @Graph, or a task that is bound into it";

/** A fault that shows in several places is told once. */
function merged(all: readonly Error[]): Error {
  const faults = [...new Map(all.map((fault) => [fault.message, fault])).values()];
  return faults.length === 1 && faults[0] !== undefined ? faults[0] : new BuildFaultsError(faults);
}

/** Workflow classes, each with the module that led to it. */
type FoundIn = Map<WorkflowClass<unknown>, object>;

function workflowsIn(namespaces: readonly object[], faults: Error[]): FoundIn {
  const workflows: FoundIn = new Map();
  for (const namespace of namespaces.flatMap(withDefault)) {
    for (const name of Object.keys(namespace)) {
      const value = exported(namespace, name, faults);
      if (typeof value !== "function") continue;
      const cls = value as unknown as AnyClass;
      if (isWorkflow(cls) && readOwn(cls, records.graph) !== undefined) {
        workflows.set(cls as WorkflowClass<unknown>, namespace);
      }
      for (const { graph, id } of readOwn(cls, records.vertex) ?? []) {
        const workflow = resolveGraph(graph);
        if (workflow === undefined) faults.push(undefinedGraph("@Vertex", cls, id));
        else workflows.set(workflow as WorkflowClass<unknown>, namespace);
      }
    }
  }
  return workflows;
}

/** A CommonJS module shows what it exports under `default`, and on some loaders only there. */
function withDefault(namespace: object): readonly object[] {
  const inner = Object.hasOwn(namespace, "default") ? exported(namespace, "default", []) : undefined;
  return typeof inner === "object" && inner !== null ? [namespace, inner] : [namespace];
}

function exported(namespace: object, name: string, faults: Error[]): unknown {
  try {
    return (namespace as Readonly<Record<string, unknown>>)[name];
  } catch (error) {
    faults.push(
      new BuildError(
        "scan",
        `export ${name} has not been defined yet (${messageOf(error)}); scan after its module is loaded`,
        {},
        { cause: error },
      ),
    );
    return undefined;
  }
}

/**
 * One class per version of a graph: the last one of a module that was loaded again, none but a fault where two modules claim
 * it.
 */
function uniqueGraphs(
  workflows: FoundIn,
  faults: Error[],
): ReadonlyMap<WorkflowClass<unknown>, GraphRecord> {
  const kept: (readonly [cls: WorkflowClass<unknown>, record: GraphRecord, module: object])[] = [];
  for (const [cls, module] of workflows) {
    try {
      const record = graphRecordOf(cls);
      const others = kept.filter(([, known]) => known.id === record.id);
      // One module, such as a bundle, cannot export two evaluations of itself.
      const older = others.find(([knownCls, known, knownModule]) =>
        module !== knownModule && isReload({ cls, origin: record }, { cls: knownCls, origin: known })
      );
      const same = others.find(([, known]) => versionOf(known.version) === versionOf(record.version));
      if (same !== undefined && older === undefined) {
        const places = [place(same[0], same[1].module), place(cls, record.module)].sort(compareIds);
        throw new BuildError(
          "scan",
          `version ${versionOf(record.version)} of graph ${record.id} is defined twice: ${
            places.join(" and ")
          }; ` +
            `give one another id, or another version`,
          { graphId: record.id },
        );
      }
      if (older !== undefined) kept.splice(kept.indexOf(older), 1);
      kept.push([cls, record, module]);
    } catch (error) {
      if (!isSuperstepError(error)) throw error;
      faults.push(error);
    }
  }
  return new Map(kept.map(([cls, record]) => [cls, record]));
}

/** The version of a graph that may have none of its own. */
function versionOf(version: number | undefined): number {
  return version ?? 0;
}
