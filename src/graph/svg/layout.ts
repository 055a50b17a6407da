/**
 * Where everything of a picture stands.
 *
 * 1. Edges run down through the ranks of the layout, and up where they close a cycle. They bend between two ranks and are
 *    straight beside the nodes of a rank, in the lane that the layout keeps free there, so that none crosses a node.
 * 2. Edges meet a node at places of their own, spread over its top and bottom in the order of where they come from.
 * 3. The same nodes and edges in the same order are always placed in the same way.
 */
import type { EdgeLabel, GraphLabel, NodeLabel } from "@dagrejs/dagre";

/** A node to place. */
export interface NodeSize {
  readonly width: number;
  readonly height: number;
}

/** An edge to route between two nodes, by their index. */
export interface Link {
  readonly from: number;
  readonly to: number;
  /** Whether it runs up, against the flow. The links that do not must be free of cycles. */
  readonly back: boolean;
  /** How much it should be short and straight, from 1. */
  readonly weight: number;
  /** The room that its label needs; from a node to itself the room that the edge takes on the node's right. */
  readonly label?: NodeSize;
}

/** A rectangle by its centre. */
export interface Placed extends NodeSize {
  readonly x: number;
  readonly y: number;
}

/** A point of an edge; between two points of one lane it is straight. */
export interface Point {
  readonly x: number;
  readonly y: number;
}

/** How an edge runs. */
export interface Routed {
  /** Pairs of points, from the beginning to the end of each lane; the first and the last are those of its own nodes. */
  readonly points: readonly Point[];
  readonly label?: Placed;
}

/** A graph in its place. */
export interface Layout {
  readonly nodes: readonly Placed[];
  /** In the order of the links; those from a node to itself have no points. */
  readonly edges: readonly Routed[];
}

const NODE_GAP = 44;
const EDGE_GAP = 22;
const RANK_GAP = 52;
/** Between two ranks where labels need room. */
const RANK_GAP_WITH_LABELS = 64;
/** The distance of two edges at one node, where there is room. */
const PORT_GAP = 30;
const CORNER = 16;

/** Places nodes in ranks and routes edges between them. */
export async function layout(nodes: readonly NodeSize[], links: readonly Link[]): Promise<Layout> {
  const dagre = await import("@dagrejs/dagre");
  const graph = new dagre.Graph<GraphLabel, NodeLabel, EdgeLabel>({ multigraph: true });
  const ranksep = links.some(({ label }) => label !== undefined) ? RANK_GAP_WITH_LABELS : RANK_GAP;
  graph.setGraph({ rankdir: "TB", nodesep: NODE_GAP, edgesep: EDGE_GAP, ranksep });
  nodes.forEach(({ width, height }, i) => graph.setNode(`${i}`, { width, height }));
  const ends = ({ from, to, back }: Link) =>
    back ? [`${to}`, `${from}`] as const : [`${from}`, `${to}`] as const;
  links.forEach((link, i) => {
    graph.setEdge(...ends(link), { weight: link.weight, labelpos: "c", ...link.label }, `${i}`);
  });
  dagre.layout(graph);
  const placed = nodes.map((size, i): Placed => {
    const { x = 0, y = 0 } = graph.node(`${i}`);
    return { ...size, x, y };
  });
  const ranks = ranksOf(placed);
  const found = links.map((link, i) => {
    if (link.from === link.to) return { lanes: [] };
    const { points = [], x = 0, y = 0 } = graph.edge(...ends(link), `${i}`);
    const label = link.label === undefined ? undefined : { ...link.label, x, y };
    return { lanes: lanesOf(points.slice(1, -1), ranks, link.back, label), label };
  });
  /** The point below or above a port where its rank, with nodes taller than its own, is left behind. */
  const edgeOfRank = ({ x, rank, bottom }: Port): Point => {
    const half = ranks.get(centre(rank))! / 2;
    return { x, y: bottom ? rank + half : rank - half };
  };
  const ports = portsOf(placed, links, found.map(({ lanes }) => lanes));
  return {
    nodes: placed,
    edges: found.map(({ lanes, label }, i) => {
      const [start, end] = [ports.get(`${i}>`), ports.get(`${i}<`)];
      if (start === undefined || end === undefined) return { points: [] };
      const [leave, arrive] = [edgeOfRank(start), edgeOfRank(end)];
      return { points: [start, leave, ...lanes, arrive, end], ...(label === undefined ? {} : { label }) };
    }),
  };
}

/** The height of the ranks, by the height of their centre. */
function ranksOf(nodes: readonly Placed[]): ReadonlyMap<number, number> {
  const ranks = new Map<number, number>();
  for (const { y, height } of nodes) ranks.set(centre(y), Math.max(height, ranks.get(centre(y)) ?? 0));
  return ranks;
}

/** The layout computes heights in sums of fractions. */
function centre(y: number): number {
  return Math.round(y * 16);
}

/** What an edge passes, in its direction: the ranks between its nodes, and its own label. */
function lanesOf(
  points: readonly Point[],
  ranks: ReadonlyMap<number, number>,
  back: boolean,
  label: Placed | undefined,
): readonly Point[] {
  const lanes = points.flatMap(({ x, y }) => {
    const own = label !== undefined && centre(label.y) === centre(y) ? label.height : 0;
    const half = Math.max(own, ranks.get(centre(y)) ?? 0) / 2;
    return half === 0 ? [] : [{ x, y: y - half }, { x, y: y + half }];
  });
  return back ? lanes.reverse() : lanes;
}

/** Where an edge meets a node. */
interface Port extends Point {
  readonly bottom: boolean;
  /** The centre of the node's rank. */
  readonly rank: number;
}

/** Where edges meet their nodes: the start of the edge `i` under `i>`, its end under `i<`. */
function portsOf(
  nodes: readonly Placed[],
  links: readonly Link[],
  lanes: readonly (readonly Point[])[],
): ReadonlyMap<string, Port> {
  const sides = new Map<string, { readonly key: string; readonly x: number }[]>();
  links.forEach(({ from, to, back }, i) => {
    if (from === to) return;
    const [source, target] = [nodes[from]!, nodes[to]!];
    const meet = (node: number, bottom: boolean, key: string, x: number) => {
      const side = `${node}${bottom ? "b" : "t"}`;
      sides.set(side, [...sides.get(side) ?? [], { key, x }]);
    };
    meet(from, !back, `${i}>`, lanes[i]!.at(0)?.x ?? target.x);
    meet(to, back, `${i}<`, lanes[i]!.at(-1)?.x ?? source.x);
  });
  const ports = new Map<string, Port>();
  for (const [side, ends] of sides) {
    const { x, y, width, height } = nodes[Number.parseInt(side)]!;
    const gap = Math.min(PORT_GAP, (width - 2 * CORNER) / Math.max(1, ends.length - 1));
    [...ends].sort((a, b) => a.x - b.x).forEach(({ key }, i) => {
      const bottom = side.endsWith("b");
      ports.set(key, {
        x: x + (i - (ends.length - 1) / 2) * gap,
        y: bottom ? y + height / 2 : y - height / 2,
        bottom,
        rank: y,
      });
    });
  }
  return ports;
}
