import type { ExecutionStatus } from "../../model/checkpoint.ts";
import { END } from "../../model/ids.ts";
import type { Topology } from "../topology.ts";

/** A graph in words: what a picture of it says to those who do not see it. */
export function describeGraph(graph: Topology, status: ReadonlyMap<string, ExecutionStatus>): string {
  const count = graph.vertices.length;
  const sentences = graph.vertices.map(({ id }) => describeVertex(graph, id, status.get(id)));
  return [`${count} ${count === 1 ? "vertex" : "vertices"}, version ${graph.version}.`, ...sentences].join(
    " ",
  );
}

/** What a vertex is and where it leads, in one sentence. */
export function describeVertex(graph: Topology, id: string, status: ExecutionStatus | undefined): string {
  const vertex = graph.vertices.find((v) => v.id === id)!;
  const named = vertex.label.trim() === "" ? id : `${id} (${vertex.label.trim()})`;
  const traits = [
    ...(status === undefined ? [] : [`is ${status}`]),
    ...(graph.entry === id ? ["is the entry"] : []),
    ...(vertex.each ? ["runs once per item"] : []),
    ...(vertex.join === "all" ? ["joins all branches"] : []),
    ...(graph.finishes.includes(id) ? ["is a finish"] : []),
  ];
  const targets = (
    edges: Topology["edges"],
  ) => [...new Set(edges.filter((e) => e.from === id).map((e) => e.to))];
  const next = targets(graph.edges);
  const picked = graph.conditions.filter((c) => c.from === id).flatMap((c) => c.targets);
  const onError = targets(graph.errorRoutes);
  const ways = [
    ...(next.length === 0 ? [] : [`goes to ${list(next, "and")}`]),
    ...(picked.length === 0 ? [] : [`picks from ${list(picked, "and")}`]),
    ...(onError.length === 0 ? [] : [`on error goes to ${list(onError, "or")}`]),
  ];
  const all = [...traits, ...ways];
  return all.length === 0 ? `${named}.` : `${named} ${list(all, "and")}.`;
}

function list(ids: readonly string[], last: string): string {
  const words = ids.map((id) => id === END ? "the end" : id);
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} ${last} ${words.at(-1)}`;
}
