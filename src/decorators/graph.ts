import { BuildError } from "../errors.ts";
import type { KnownOptions } from "../model/known_options.ts";
import { type Annotation, annotation, nameOf, refuseUnknown, requireOptions } from "./annotation.ts";
import { isWorkflow, prependOwn, records } from "./metadata.ts";
import { callerOrigin } from "./origin.ts";
import type { WorkflowClass } from "./workflow.ts";

/** Options of {@link Graph}. */
export interface GraphDecoratorOptions {
  /** The pinned id of the graph: `[A-Za-z0-9][A-Za-z0-9._:-]{0,127}`. */
  readonly id: string;
  /** Raise it when the code changes so that waiting runs must not go on with it. A whole number. @default 0 */
  readonly version?: number;
  /** `import.meta.url`, where the module cannot be told from the stack. @default the module of the decorator */
  readonly module?: string;
}

const KNOWN = {
  id: true,
  version: true,
  module: true,
} satisfies KnownOptions<keyof GraphDecoratorOptions>;

/**
 * Makes a class that extends `Workflow(schema)` a graph with a pinned id. Tasks are bound into it with {@link Vertex}.
 *
 * @throws {BuildError} when the class does not extend `Workflow(schema)`, or an option is unknown
 *
 * @example
 * ```ts
 * @Graph({ id: "invoice", version: 2 })
 * class Invoice extends Workflow(z.object({ total: z.number() })) {}
 * ```
 */
export function Graph(options: GraphDecoratorOptions): Annotation<WorkflowClass<unknown>> {
  requireOptions("@Graph", options);
  const origin = callerOrigin(options.module);
  const { id, version } = options;
  return annotation("@Graph", (cls) => {
    if (!isWorkflow(cls)) {
      throw new BuildError("@Graph", `class ${nameOf(cls)} does not extend Workflow(schema); let it do so`);
    }
    refuseUnknown("@Graph", cls, options, KNOWN);
    prependOwn(cls, records.graph, Object.freeze({ id, version, ...origin }));
  });
}
