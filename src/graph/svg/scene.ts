import type { ExecutionStatus } from "../../model/checkpoint.ts";
import { END } from "../../model/ids.ts";
import type { Topology } from "../topology.ts";
import { boxOf, drawBox } from "./box.ts";
import { describeVertex } from "./describe.ts";
import { drawEdge, drawLoop, type Edge, edgesOf, ERROR_NOTE_SIZE, loopRoom, WEIGHTS } from "./edges.ts";
import { edgesBack } from "./flow.ts";
import { layout, type Link, type NodeSize, type Placed } from "./layout.ts";
import { finishRing, startDot } from "./shapes.ts";
import { SIZES } from "./theme.ts";

/** A drawn graph and the rectangle that it covers. */
interface Scene extends Bounds {
  readonly edges: readonly Edge[];
  readonly parts: readonly string[];
}

/** A rectangle. */
interface Bounds {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

const DOT: NodeSize = { width: 2 * SIZES.dot, height: 2 * SIZES.dot };

/** Lays a graph out and draws it: edges first, so that vertices lie above them. */
export async function sceneOf(
  graph: Topology,
  status: ReadonlyMap<string, ExecutionStatus>,
): Promise<Scene> {
  const edges = edgesOf(graph);
  const back = edgesBack(graph.entry, edges);
  const ids = graph.vertices.map(({ id }) => id);
  const byId = new Map(graph.vertices.map((vertex) => [vertex.id, vertex]));
  const boxes = ids.map((id) => boxOf(byId.get(id)!, status.get(id)));
  const rings = [...graph.finishes, ...edges.some(({ to }) => to === END) ? [END] : []];
  const sizes = [...boxes, DOT, ...rings.map(() => DOT)];
  const start = ids.length;

  const index = new Map([...ids.map((id, i) => [id, i] as const), [END, start + rings.length]]);
  const marks = [
    { from: start, to: index.get(graph.entry)!, weight: WEIGHTS.mark, back: false },
    ...graph.finishes.map((id, i) => ({
      from: index.get(id)!,
      to: start + 1 + i,
      weight: WEIGHTS.mark,
      back: false,
    })),
  ];
  const turnOf = (edge: Edge) =>
    edges.filter(({ from, to }) => from === to && from === edge.from).indexOf(edge);
  const links = edges.map((edge): Link => ({
    from: index.get(edge.from)!,
    to: index.get(edge.to)!,
    weight: WEIGHTS[edge.kind],
    back: back.has(edge),
    ...(edge.from === edge.to
      ? { label: loopRoom(edge, turnOf(edge)) }
      : edge.kind === "error"
      ? { label: ERROR_NOTE_SIZE }
      : {}),
  }));
  const placed = await layout(sizes, [...marks, ...links]);
  const [markRoutes, routes] = [placed.edges.slice(0, marks.length), placed.edges.slice(marks.length)];

  const nodeOf = (id: string) => placed.nodes[index.get(id)!]!;
  const loops = edges.filter(({ from, to }) => from === to).map((edge): Placed => {
    const { x, y, width } = nodeOf(edge.from);
    const room = loopRoom(edge, turnOf(edge));
    return { ...room, x: x + (width + room.width) / 2, y };
  });
  return {
    edges,
    parts: [
      ...markRoutes.map((route) => drawEdge({ from: "", to: "", kind: "mark" }, route)),
      ...edges.map((edge, i) =>
        edge.from === edge.to ? drawLoop(edge, nodeOf(edge.from), turnOf(edge)) : drawEdge(edge, routes[i]!)
      ),
      startDot(placed.nodes[start]!),
      ...rings.map((_, i) => finishRing(placed.nodes[start + 1 + i]!)),
      ...boxes.map((box, i) =>
        drawBox(box, placed.nodes[i]!, describeVertex(graph, ids[i]!, status.get(ids[i]!)))
      ),
    ],
    ...boundsOf([
      ...placed.nodes,
      ...loops,
      ...placed.edges.flatMap(({ points, label }) => [
        ...points.map(({ x, y }) => ({ x, y, width: 0, height: 0 })),
        ...(label === undefined ? [] : [label]),
      ]),
    ]),
  };
}

function boundsOf(places: readonly Placed[]): Bounds {
  const left = Math.min(...places.map(({ x, width }) => x - width / 2));
  const top = Math.min(...places.map(({ y, height }) => y - height / 2));
  const right = Math.max(...places.map(({ x, width }) => x + width / 2));
  const bottom = Math.max(...places.map(({ y, height }) => y + height / 2));
  return { left, top, width: right - left, height: bottom - top };
}
