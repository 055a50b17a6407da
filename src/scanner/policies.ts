import {
  type AnyClass,
  type GraphReference,
  type PolicyRecord,
  readOwn,
  records,
  resolveGraph,
} from "../decorators/metadata.ts";
import { nameOf } from "../decorators/annotation.ts";
import { BuildError } from "../errors.ts";
import type { VertexBase } from "../graph/mod.ts";
import { defined } from "../model/defined.ts";
import type { RetryPolicy, TimeoutPolicy } from "../model/definition.ts";
import type { Duration } from "../model/durations.ts";

/** The policies of a task class in one graph, as the builder takes them. */
type Policies<S> = Pick<VertexBase<S>, "retry" | "timeout" | "onError">;

/**
 * The policies that hold for the binding of a class into a graph. Each is looked for on the class, then on its parents:
 * the nearest class that has one for this binding decides alone, so an own stack of handlers replaces the parent's. On
 * one class a policy for this graph goes before one for every graph.
 *
 * @throws {BuildError} when one class has two such policies of a kind, or one with a graph that is not defined
 */
export function policiesOf<S>(cls: AnyClass, graph: AnyClass): Policies<S> {
  const retry = single<RetryPolicy>("@Retry", cls, graph, records.retry);
  const timeout = single<Duration | TimeoutPolicy>("@Timeout", cls, graph, records.timeout);
  // A handler without a graph is typed by its own annotation, one with this graph by the graph's state.
  const onError = nearest("@OnError", cls, graph, records.onError) as unknown as VertexBase<S>["onError"];
  return defined({ retry, timeout, onError });
}

type ListKey<P> = Parameters<typeof readOwn<readonly PolicyRecord<P>[]>>[1];

function single<P>(name: string, cls: AnyClass, graph: AnyClass, key: ListKey<P>): P | undefined {
  const found = nearest(name, cls, graph, key, true);
  if (found !== undefined && found.length > 1) {
    throw new BuildError(
      name,
      `stands twice on class ${nameOf(cls)} or one of its parents for one graph; keep one`,
    );
  }
  return found?.[0];
}

function nearest<P>(
  name: string,
  cls: AnyClass,
  graph: AnyClass,
  key: ListKey<P>,
  specificFirst = false,
): readonly P[] | undefined {
  for (let at: AnyClass | null = cls; at !== null; at = Object.getPrototypeOf(at) as AnyClass | null) {
    const own = (readOwn(at, key) ?? []).filter((r) => holds(name, at as AnyClass, r.graph, graph));
    const specific = specificFirst ? own.filter((r) => r.graph !== undefined) : [];
    const chosen = specific.length > 0 ? specific : own;
    if (chosen.length > 0) return chosen.map((r) => r.policy);
  }
  return undefined;
}

function holds(name: string, cls: AnyClass, reference: GraphReference | undefined, graph: AnyClass): boolean {
  if (reference === undefined) return true;
  const scope = resolveGraph(reference);
  if (scope === undefined) throw undefinedGraph(name, cls);
  return scope === graph;
}

/** The fault of a thunk that does not lead to a workflow class. */
export function undefinedGraph(name: string, cls: AnyClass, id?: string): BuildError {
  return new BuildError(
    name,
    `on class ${nameOf(cls)}${
      id === undefined ? "" : ` (vertex ${id})`
    }: its graph thunk does not return a workflow ` +
      "class yet; import the module that defines it, and compile after all modules are loaded",
  );
}
