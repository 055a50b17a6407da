import { svg, type SvgOptions } from "../../graph/mod.ts";
import type { GraphBody } from "../wire.ts";
import { type Html, markup, raw } from "./html.ts";

type Graph = Omit<GraphBody, "input">;

/** The most vertices, and ranks that edges run over. More take seconds to be drawn, and nobody could read them. */
const MOST = 1_300;
/** So many drawings are kept. */
const MOST_KEPT = 32;

/** Graphs as drawings, whose style is that of the page. Those that were asked for last are kept: a drawing takes its time. */
export class Drawings {
  readonly #kept = new Map<string, Promise<Html>>();

  draw({ input: _, ...graph }: GraphBody, status: SvgOptions["status"] = {}): Promise<Html> {
    const key = JSON.stringify([graph, status]);
    const drawing = this.#kept.get(key) ?? drawn(graph, status);
    // What was asked for last is last.
    this.#kept.delete(key);
    this.#kept.set(key, drawing);
    for (const oldest of this.#kept.keys()) if (this.#kept.size > MOST_KEPT) this.#kept.delete(oldest);
    return drawing;
  }
}

async function drawn(graph: Graph, status: NonNullable<SvgOptions["status"]>): Promise<Html> {
  const edges = edgesOf(graph);
  const { entry, vertices: { length } } = graph;
  if (length + edges.length > MOST || length + ranksOver(entry, edges) > MOST) {
    return markup`<p class="quiet">It is too large to be drawn: ${length} vertices, ${edges.length} edges.</p>`;
  }
  // The drawing escapes what it writes.
  const drawing = raw(await svg(graph, { status, styled: false }));
  return markup`<div class="picture" tabindex="0" role="region" aria-label="Drawing of the graph">${drawing}</div>
`;
}

type Edge = readonly [from: string, to: string];

function edgesOf({ edges, conditions, errorRoutes }: Graph): readonly Edge[] {
  return [
    ...[...edges, ...errorRoutes].map(({ from, to }): Edge => [from, to]),
    ...conditions.flatMap(({ from, targets }) => targets.map((to): Edge => [from, to])),
  ];
}

/** Over how many ranks the edges run in all, when each vertex is below those that lead to it. */
function ranksOver(entry: string, edges: readonly Edge[]): number {
  const targets = new Map<string, string[]>();
  for (const [from, to] of edges) targets.set(from, [...targets.get(from) ?? [], to]);
  const order = orderFrom(entry, targets);
  const places = new Map(order.map((id, i) => [id, i]));
  const ranks = new Map<string, number>();
  for (const from of order) {
    const rank = ranks.get(from) ?? 0;
    for (const to of targets.get(from) ?? []) {
      // Edges that lead back put nothing lower.
      if (places.get(to)! > places.get(from)!) ranks.set(to, Math.max(rank + 1, ranks.get(to) ?? 0));
    }
  }
  const rankOf = (id: string) => ranks.get(id) ?? 0;
  return edges.reduce((sum, [from, to]) => sum + Math.max(1, Math.abs(rankOf(from) - rankOf(to))), 0);
}

/** Vertices in an order in which edges lead on, but for those that lead back. */
function orderFrom(entry: string, targets: ReadonlyMap<string, readonly string[]>): readonly string[] {
  const order: string[] = [];
  const seen = new Set([entry]);
  const path = [{ id: entry, next: 0 }];
  for (let at = path.at(-1); at !== undefined; at = path.at(-1)) {
    const next = (targets.get(at.id) ?? [])[at.next++];
    if (next === undefined) order.push(path.pop()!.id);
    else if (!seen.has(next)) {
      seen.add(next);
      path.push({ id: next, next: 0 });
    }
  }
  return order.reverse();
}
