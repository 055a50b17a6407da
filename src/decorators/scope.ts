import { requireGraph } from "./annotation.ts";
import type { AnyClass, GraphReference } from "./metadata.ts";
import type { KnownOptions } from "../model/known_options.ts";
import type { WorkflowReference } from "./workflow.ts";

/** Which bindings of a class a policy holds for. */
export interface PolicyScope {
  /** The graph it holds for. @default every graph that the class is bound into */
  readonly graph?: WorkflowReference<unknown>;
}

/** The options of {@link PolicyScope}. */
export const KNOWN_SCOPE = { graph: true } satisfies KnownOptions<keyof PolicyScope>;

/** The graph of a policy. One that is given and `undefined` is a class that has not been defined yet. */
export function scopeOf(name: string, cls: AnyClass, options: unknown): GraphReference | undefined {
  if (typeof options !== "object" || options === null || !("graph" in options)) return undefined;
  return requireGraph(name, cls, options.graph as GraphReference | undefined);
}
