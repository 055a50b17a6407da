import { GraphBuilder, type GraphOptions, type SingleVertex } from "../../src/graph/mod.ts";
import type { Task } from "../../src/model/definition.ts";

/** The state of the graphs in these tests. */
export interface State {
  readonly count: number;
}

/** A task that hands its input on. */
export class Echo implements Task<number, number> {
  execute(input: number): number {
    return input;
  }
}

/** A builder of a graph named `g`. */
export function newBuilder(options: Partial<GraphOptions<State>> = {}): GraphBuilder<State> {
  return new GraphBuilder<State>({ id: "g", ...options });
}

/** A vertex with everything that it must have. */
export function vertex(
  id: string,
  more: Partial<SingleVertex<State, number, number>> = {},
): SingleVertex<State, number, number> {
  return { id, task: Echo, select: (s) => s.count, reduce: (s, n) => ({ ...s, count: n }), ...more };
}

/** A builder with plain vertices and static edges. */
export function graphWith(ids: readonly string[], edges: readonly (readonly [string, string])[] = []) {
  const builder = newBuilder();
  for (const id of ids) builder.addVertex(vertex(id));
  for (const [from, to] of edges) builder.addEdge(from, to);
  return builder;
}

/** Ids that are none. */
export const ZERO_IDS: readonly unknown[] = ["", undefined, null, 7, " a", "a b", "-a", "ä", "a".repeat(129)];

/** A value of the wrong type, as a caller without types may pass it. */
export function wrong(value: unknown): never {
  return value as never;
}

/** The same value under a type that it does not declare. */
export function as<T>(value: unknown): T {
  return value as T;
}
