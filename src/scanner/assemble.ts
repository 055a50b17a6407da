import { nameOf } from "../decorators/annotation.ts";
import {
  type AnyClass,
  type BoundTask,
  type GraphRecord,
  type MigrationRecord,
  readInherited,
  readOwn,
  records,
  settlePending,
} from "../decorators/metadata.ts";
import type { Origin } from "../decorators/origin.ts";
import type { WorkflowClass } from "../decorators/mod.ts";
import { BuildError, DuplicateVertexError, isSuperstepError, type SuperstepError } from "../errors.ts";
import { GraphBuilder, type GraphEnds, type SingleVertex } from "../graph/mod.ts";
import type { CompiledGraph, ScheduleOptions } from "../model/definition.ts";
import type { FlowOptions } from "../model/flow.ts";
import { compareIds } from "../model/ids.ts";
import type { Schema } from "../model/schema.ts";
import { policiesOf, undefinedGraph } from "./policies.ts";

/** A workflow's graph, or everything that stands in its way. */
type Assembled<S, I> =
  | { readonly graph: CompiledGraph<S, I> }
  | { readonly faults: readonly Error[] };

/** What `@Graph` wrote on a class itself, or the fault that it did not. */
export function graphRecordOf(cls: AnyClass): GraphRecord {
  const own = readOwn(cls, records.graph) ?? [];
  const [record] = own;
  if (record === undefined) {
    throw new BuildError("compile", `class ${nameOf(cls)} is no workflow; put @Graph({ id: "…" }) on it`);
  }
  if (own.length > 1) throw new BuildError("@Graph", `stands twice on class ${nameOf(cls)}; keep one`);
  return record;
}

/** Assembles the graph of a workflow class from the tasks that are bound into it by now. */
export function assemble<S, I>(workflow: WorkflowClass<S, I>): Assembled<S, I> {
  const unsettled = settlePending();
  const faults: Error[] = [];
  const attempt = <T>(build: () => T): T | undefined => {
    try {
      return build();
    } catch (error) {
      if (!isSuperstepError(error)) throw error;
      faults.push(error);
      return undefined;
    }
  };
  const builder = attempt(() => newBuilder(workflow));
  if (builder === undefined) return { faults };
  for (const { expression, options } of readOwn(workflow, records.schedule) ?? []) {
    attempt(() => builder.addSchedule(expression, options as ScheduleOptions<I>));
  }

  const limits = readOwn(workflow, records.flow);
  if (limits !== undefined) attempt(() => builder.limit(limits as FlowOptions<S>));

  for (const { options } of currentMigrations(readOwn(workflow, records.migration) ?? [])) {
    attempt(() => builder.addMigration(options));
  }

  const claims = claimsById(readOwn(workflow, records.bound) ?? [], graphRecordOf(workflow));
  for (const [id, all] of claims) {
    if (all.length < 2) continue;
    faults.push(
      new DuplicateVertexError(id, all.map(placeOf).join(" and "), { graphId: graphRecordOf(workflow).id }),
    );
  }
  const tasks = claims.flatMap(([, [task]]) => task === undefined ? [] : [task]);
  for (const { cls, vertex } of tasks) {
    attempt(() => {
      // The decorator's overloads have checked the types that its records no longer tell.
      const erased = { ...vertex.binding, id: vertex.id, task: cls } as unknown as SingleVertex<
        S,
        unknown,
        unknown
      >;
      builder.addVertex({ ...erased, ...policiesOf<S>(cls, workflow) });
    });
    for (const to of Array.isArray(vertex.to) ? vertex.to : [vertex.to]) {
      attempt(() => builder.addEdge(vertex.id, to));
    }
    const { route } = vertex;
    if (route !== undefined) attempt(() => builder.addConditionalEdge(vertex.id, route as never));
  }
  const ends = endsOf(claims.flatMap(([, all]) => all), workflow, faults);
  faults.push(...builder.faults(ends).filter((fault) => !follows(fault, tasks, faults)));
  if (faults.length === 0) return { graph: builder.build(ends) };
  // A vertex that is missing because its thunk leads nowhere yet always shows as a fault of its graph, never alone.
  return {
    faults: [...unsettled.map(({ cls, vertex }) => undefinedGraph("@Vertex", cls, vertex.id)), ...faults],
  };
}

function newBuilder<S, I>(workflow: WorkflowClass<S, I>): GraphBuilder<S, I> {
  const { id, version } = graphRecordOf(workflow);
  // The type of the class is that of its schema.
  const schema = readInherited(workflow, records.schema) as Schema<I, S>;
  return new GraphBuilder<S, I>({ id, schema, ...(version === undefined ? {} : { version }) });
}

/**
 * The classes that claim each id, in ascending id order: one, unless it is a fault. Of a module that was evaluated again
 * only the newest evaluation counts. Several stand in the order of their places, so that nothing depends on the order of
 * imports.
 */
function claimsById(
  bound: readonly BoundTask[],
  workflow: Origin,
): readonly (readonly [string, readonly BoundTask[]])[] {
  const byId = new Map<string, BoundTask[]>();
  const newest = new Map<string | undefined, Origin>();
  // Newest first, as the records are.
  for (const task of bound) {
    const { id, module } = task.vertex;
    if (!newest.has(module)) newest.set(module, task.vertex);
    if (isOtherEvaluation(newest.get(module) ?? task.vertex, task.vertex)) continue;
    const newer = byId.get(id) ?? [];
    // A module that defines the workflow too, such as a bundle, cannot have bound two evaluations to one of its classes.
    const replaced = module !== workflow.module &&
      newer.some((other) => isReload(declaration(other), declaration(task)));
    if (!replaced) byId.set(id, [...newer, task]);
  }
  return [...byId]
    .map(([id, claims]) => [id, claims.sort((a, b) => compareIds(placeOf(a), placeOf(b)))] as const)
    .sort(([a], [b]) => compareIds(a, b));
}

/** Of a module that was evaluated again, only the newest migrations. */
function currentMigrations(all: readonly MigrationRecord[]): readonly MigrationRecord[] {
  const asDeclared = (record: MigrationRecord) => ({ cls: record.cls, origin: record });
  // Newest first, as the records are.
  return all.filter((older, i) =>
    !all.slice(0, i).some((newer) =>
      newer.options.from === older.options.from && isReload(asDeclared(newer), asDeclared(older))
    )
  );
}

/** A class and where it is declared. */
interface Declaration {
  readonly cls: AnyClass;
  readonly origin: Origin;
}

/**
 * Whether one class stands in for the other one after a hot reload: both are of one module, which was evaluated again.
 * Where the runtime does not tell evaluations apart, the same name stands for the same class; classes without a name are
 * never taken for one another.
 */
export function isReload(newer: Declaration, older: Declaration): boolean {
  if (newer.cls === older.cls || newer.origin.module === undefined) return false;
  if (isOtherEvaluation(newer.origin, older.origin)) return true;
  return newer.origin.module === older.origin.module && newer.cls.name !== "" &&
    newer.cls.name === older.cls.name;
}

/** Whether both are places of one module, evaluated twice for sure. */
function isOtherEvaluation(a: Origin, b: Origin): boolean {
  return a.module !== undefined && a.module === b.module && a.evaluation !== b.evaluation;
}

function declaration({ cls, vertex }: BoundTask): Declaration {
  return { cls, origin: vertex };
}

function placeOf({ cls, vertex }: BoundTask): string {
  return place(cls, vertex.module);
}

/** Where a class is, for messages. */
export function place(cls: AnyClass, module: string | undefined): string {
  return `class ${nameOf(cls)} in ${module ?? "an unknown module"}`;
}

function endsOf(tasks: readonly BoundTask[], workflow: AnyClass, faults: Error[]): GraphEnds {
  const { id: graphId } = graphRecordOf(workflow);
  const entries = new Map(
    tasks.filter(({ vertex }) => vertex.entry).map(({ cls, vertex }) => [vertex.id, cls.name]),
  );
  if (tasks.length === 0) {
    faults.push(
      new BuildError(
        "compile",
        `no task is bound into workflow ${
          nameOf(workflow)
        } (graph ${graphId}); import the modules whose classes carry ` +
          `@Vertex({ graph: ${nameOf(workflow)}, … }) before it is compiled, or give them to scan()`,
        { graphId },
      ),
    );
  }
  if (entries.size > 1) {
    faults.push(
      new BuildError(
        "compile",
        `workflow ${nameOf(workflow)} (graph ${graphId}) has ${entries.size} entries: ${
          [...entries].map(([id, name]) => name === "" ? id : `${id} (class ${name})`).join(", ")
        }; mark one with entry: true`,
        { graphId },
      ),
    );
  }
  const finish = tasks.filter(({ vertex }) => vertex.finish).map(({ vertex }) => vertex.id);
  // The builder reports an absent entry as it reports an unknown one.
  return { entry: [...entries.keys()][0] as string, finish };
}

/** Whether a fault of the whole graph only repeats that a vertex could not be added, or that there is none. */
function follows(fault: SuperstepError, tasks: readonly BoundTask[], earlier: readonly Error[]): boolean {
  if (earlier.length === 0) return false;
  if (tasks.length === 0 || fault.code === "UNREACHABLE_VERTEX") return true;
  return (fault.code === "UNKNOWN_VERTEX" || fault.code === "MISSING_ENTRY") &&
    tasks.some(({ vertex }) => vertex.id === fault.fields["vertexId"]);
}
