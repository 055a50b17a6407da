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

/** A workflow that {@link scan} found. */
export interface ScannedWorkflow {
  readonly id: string;
  readonly workflow: WorkflowClass<unknown>;
  readonly graph: CompiledGraph<unknown>;
}

/**
 * The graph of a workflow class, from all tasks that have been imported so far.
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
 * Every workflow that the modules export, or that a task they export is bound into, in ascending id order.
 *
 * @param modules module namespaces, or promises of them such as `import("./approval.ts")`
 * @throws the one fault that there is, or {@link BuildFaultsError} with all of them
 *
 * @example
 * ```ts ignore
 * const workflows = await scan(import("./approval.ts"), import("./tasks.ts"));
 * ```
 */
export async function scan(
  ...modules: readonly (object | Promise<object>)[]
): Promise<readonly ScannedWorkflow[]> {
  const namespaces = await Promise.all(modules);
  const faults: Error[] = [];
  const found: ScannedWorkflow[] = [];
  for (const [workflow, record] of uniqueGraphs(workflowsIn(namespaces, faults), faults)) {
    const assembled = assemble(workflow);
    if ("graph" in assembled) found.push({ id: record.id, workflow, graph: assembled.graph });
    else faults.push(...assembled.faults.filter((f) => !faults.some((known) => known.message === f.message)));
  }
  if (faults.length > 0) throw merged(faults);
  return found.sort((a, b) => compareIds(a.id, b.id));
}

function merged(faults: readonly Error[]): Error {
  return faults.length === 1 && faults[0] !== undefined ? faults[0] : new BuildFaultsError(faults);
}

function workflowsIn(namespaces: readonly object[], faults: Error[]): ReadonlySet<WorkflowClass<unknown>> {
  const workflows = new Set<WorkflowClass<unknown>>();
  for (const namespace of namespaces) {
    for (const name of Object.keys(namespace)) {
      const value = exported(namespace, name, faults);
      if (typeof value !== "function") continue;
      const cls = value as unknown as AnyClass;
      if (isWorkflow(cls) && readOwn(cls, records.graph) !== undefined) {
        workflows.add(cls as WorkflowClass<unknown>);
      }
      for (const { graph, id } of readOwn(cls, records.vertex) ?? []) {
        const workflow = resolveGraph(graph);
        if (workflow === undefined) faults.push(undefinedGraph("@Vertex", cls, id));
        else workflows.add(workflow as WorkflowClass<unknown>);
      }
    }
  }
  return workflows;
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

/** One class per graph id: the last one of a module that was loaded again, none but a fault where two modules claim it. */
function uniqueGraphs(
  workflows: ReadonlySet<WorkflowClass<unknown>>,
  faults: Error[],
): ReadonlyMap<WorkflowClass<unknown>, GraphRecord> {
  const byId = new Map<string, { readonly cls: WorkflowClass<unknown>; readonly record: GraphRecord }>();
  for (const cls of workflows) {
    try {
      const record = graphRecordOf(cls);
      const known = byId.get(record.id);
      const reload = known !== undefined &&
        isReload({ cls, module: record.module }, { cls: known.cls, module: known.record.module });
      if (known === undefined || reload) byId.set(record.id, { cls, record });
      else {
        const places = [place(known.cls, known.record.module), place(cls, record.module)].sort(compareIds);
        faults.push(
          new BuildError(
            "scan",
            `graph ${record.id} is defined twice: ${places.join(" and ")}; give one another id`,
            {
              graphId: record.id,
            },
          ),
        );
      }
    } catch (error) {
      if (!isSuperstepError(error)) throw error;
      faults.push(error);
    }
  }
  return new Map([...byId.values()].map(({ cls, record }) => [cls, record]));
}
