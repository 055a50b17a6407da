import type { Edge } from "./edges.ts";

/**
 * The edges that lead back, so that everything else flows down from the entry. Edges that lead away from the entry
 * never do; of the rest, static ones are the last to be taken for a way back, then choices, then error routes.
 */
export function edgesBack(entry: string, edges: readonly Edge[]): ReadonlySet<Edge> {
  const depth = depthsFrom(entry, edges);
  const of = (id: string) => depth.get(id) ?? Infinity;
  const rank = ({ from, to, kind }: Edge) => (of(from) < of(to) ? 0 : 3) + KINDS.indexOf(kind);
  const inOrder = edges.filter(({ from, to }) => from !== to)
    .sort((a, b) => rank(a) - rank(b) || of(a.from) - of(b.from));
  const back = new Set<Edge>();
  const forward = new Map<string, string[]>();
  for (const edge of inOrder) {
    if (reaches(forward, edge.to, edge.from)) back.add(edge);
    else forward.set(edge.from, [...forward.get(edge.from) ?? [], edge.to]);
  }
  return back;
}

const KINDS: readonly string[] = ["next", "conditional", "error"];

/** How many edges away from the entry each vertex is. */
function depthsFrom(entry: string, edges: readonly Edge[]): ReadonlyMap<string, number> {
  const targets = new Map<string, string[]>();
  for (const { from, to } of edges) targets.set(from, [...targets.get(from) ?? [], to]);
  const depths = new Map([[entry, 0]]);
  for (const [id, depth] of depths) {
    for (const to of targets.get(id) ?? []) if (!depths.has(to)) depths.set(to, depth + 1);
  }
  return depths;
}

function reaches(targets: ReadonlyMap<string, readonly string[]>, from: string, to: string): boolean {
  const seen = new Set([from]);
  for (const id of seen) {
    if (id === to) return true;
    for (const next of targets.get(id) ?? []) seen.add(next);
  }
  return false;
}
