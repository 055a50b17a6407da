import type { CompiledGraph } from "../model/definition.ts";
import { compareIds } from "../model/ids.ts";

/**
 * A graph as plain JSON: exactly what its version is made of, and beside it the ids, the version and the labels. Every
 * list is sorted, apart from the error routes of one vertex, which stand in the order they are asked.
 */
export interface Topology {
  /** The pinned id of the graph. */
  readonly id: string;
  /** sha256 of the canonical form, a colon, the user's version. */
  readonly version: string;
  /** The vertex that runs first. */
  readonly entry: string;
  /** The vertices after which a run may complete. */
  readonly finishes: readonly string[];
  /** Every vertex. */
  readonly vertices: readonly TopologyVertex[];
  /** Static edges, those to `END` included; one that was declared twice is listed twice. */
  readonly edges: readonly { readonly from: string; readonly to: string }[];
  /** For each vertex with a `pick`, what it may return, `END` included. */
  readonly conditions: readonly { readonly from: string; readonly targets: readonly string[] }[];
  /** Where vertices lead when they fail. */
  readonly errorRoutes: readonly { readonly from: string; readonly to: string }[];
}

/** One vertex of a {@link Topology}. */
export interface TopologyVertex {
  /** The pinned id of the vertex. */
  readonly id: string;
  /** Empty when none was given. */
  readonly label: string;
  /** Whether it waits for every in-edge that can still arrive. */
  readonly join: "any" | "all";
  /** Whether it is a map vertex. */
  readonly each: boolean;
}

/** What a topology is made from: a compiled graph before it has a version. */
export interface GraphShape {
  readonly entry: string;
  readonly finishes: ReadonlySet<string>;
  readonly vertices: ReadonlyMap<string, VertexShape>;
}

interface VertexShape {
  readonly id: string;
  readonly label: string;
  readonly join: "any" | "all";
  readonly each: unknown;
  readonly edges: readonly string[];
  readonly condition: { readonly targets: readonly string[] } | undefined;
  readonly handlers: readonly { readonly route: string }[];
}

/** The topology of a compiled graph. */
export function topology<S>(graph: CompiledGraph<S>): Topology {
  return { id: graph.id, version: graph.version, ...topologyOf(graph) };
}

/** Everything of a topology but the graph's identity. */
export function topologyOf(shape: GraphShape): Omit<Topology, "id" | "version"> {
  const vertices = [...shape.vertices.values()].sort((a, b) => compareIds(a.id, b.id));
  return {
    entry: shape.entry,
    finishes: [...shape.finishes].sort(compareIds),
    vertices: vertices.map(({ id, label, join, each }) => ({ id, label, join, each: each !== undefined })),
    edges: vertices.flatMap(({ id, edges }) => [...edges].sort(compareIds).map((to) => ({ from: id, to }))),
    conditions: vertices.flatMap(({ id, condition }) =>
      condition === undefined ? [] : [{ from: id, targets: [...condition.targets].sort(compareIds) }]
    ),
    errorRoutes: vertices.flatMap(({ id, handlers }) =>
      handlers.map(({ route }) => ({ from: id, to: route }))
    ),
  };
}
