import { BuildError } from "../errors.ts";
import type { MigrationOptions } from "../model/definition.ts";
import type { KnownOptions } from "../model/known_options.ts";
import { KNOWN_MIGRATION } from "../model/policy_options.ts";
import {
  type Annotation,
  annotation,
  nameOf,
  refuseUnknown,
  requireGraph,
  requireOptions,
} from "./annotation.ts";
import { isWorkflow, prependOwn, records } from "./metadata.ts";
import { callerOrigin } from "./origin.ts";
import type { WorkflowClass } from "./workflow.ts";

/** Options of {@link Migration}. */
export interface MigrationDecoratorOptions<O> extends MigrationOptions<O> {
  /** The workflow class that the runs come to. */
  readonly graph: WorkflowClass<unknown>;
}

const KNOWN = { ...KNOWN_MIGRATION, graph: true } satisfies KnownOptions<
  keyof MigrationDecoratorOptions<never>
>;

/**
 * Says how runs of one user version of a workflow come to the next one: what becomes of their state, and which vertices have
 * another id, or are gone. Migrations are chained, and carried out when a run is claimed. Annotate the old state, or take
 * it as a record of unknown values. The class only carries the annotation.
 *
 * @throws {BuildError} when the graph is no workflow class, or an option is unknown
 *
 * @example
 * ```ts
 * @Graph({ id: "order", version: 2 })
 * class Order extends Workflow(z.object({ lines: z.array(z.string()) })) {}
 *
 * @Vertex({ graph: Order, id: "pack", entry: true, finish: true, select: (s) => s.lines, reduce: () => {} })
 * class Pack {
 *   execute(_lines: readonly string[]) {}
 * }
 *
 * @Migration({
 *   graph: Order, from: 1,
 *   state: (old: { line: string }) => ({ lines: [old.line] }),
 *   vertices: { wrap: "pack", weigh: null },
 * })
 * class FromOneLine {}
 *
 * const { migrations } = compile(Order, { store: memoryStore() }).graph;
 * assert.deepEqual(migrations[0]?.state?.({ line: "tea" }), { lines: ["tea"] });
 * ```
 */
export function Migration<O = Readonly<Record<string, unknown>>>(
  options: MigrationDecoratorOptions<O>,
): Annotation {
  requireOptions("@Migration", options);
  const origin = callerOrigin(undefined);
  return annotation("@Migration", (cls) => {
    const { graph, ...migration } = options;
    requireGraph("@Migration", cls, graph);
    if (!isWorkflow(graph)) {
      throw new BuildError(
        "@Migration",
        `on class ${nameOf(cls)}: its graph is no workflow class; give the class itself`,
      );
    }
    refuseUnknown("@Migration", cls, options, KNOWN);
    prependOwn(graph, records.migration, Object.freeze({ cls, options: migration, ...origin }));
  });
}
