import { compareIds, END } from "../../model/ids.ts";
import type { Topology } from "../topology.ts";
import type { NodeSize, Placed, Point, Routed } from "./layout.ts";
import { arrowHead, DIAMOND, diamond, loopOf, loopReach, pathOf, textAt } from "./shapes.ts";
import { escaped, textWidth } from "./text.ts";
import { SIZES } from "./theme.ts";

/** `mark`: from the start dot, and to the ring of a finish. */
export type EdgeKind = "next" | "conditional" | "error" | "mark";

/** An edge of the graph; one that was declared twice is drawn once. */
export interface Edge {
  readonly from: string;
  readonly to: string;
  readonly kind: EdgeKind;
}

/** How straight each kind of edge should be. */
export const WEIGHTS: Readonly<Record<EdgeKind, number>> = { next: 4, conditional: 2, error: 1, mark: 8 };

/** The word beside an error route. */
const ERROR_NOTE = "error";
export const ERROR_NOTE_SIZE: NodeSize = {
  width: textWidth(ERROR_NOTE, SIZES.caption) + 10,
  height: SIZES.captionLine + 2,
};

/** Every distinct edge: the main flow first, so that error routes bend around it. */
export function edgesOf({ edges, conditions, errorRoutes }: Topology): readonly Edge[] {
  const picked = conditions.flatMap(({ from, targets }) => targets.map((to) => ({ from, to })));
  const all = ([["next", edges], ["conditional", picked], ["error", errorRoutes]] as const).flatMap(
    ([kind, list]) =>
      [...list].sort((a, b) => compareIds(a.from, b.from) || compareIds(a.to, b.to))
        .map(({ from, to }): Edge => ({ from, to, kind })),
  );
  return all.filter((edge, i) =>
    i === 0 || all.findIndex((e) => e.kind === edge.kind && e.from === edge.from && e.to === edge.to) === i
  );
}

/** An edge in words, for the pointer that rests on it. */
function titleOf({ from, to, kind }: Edge): string {
  const verb = { next: "then", conditional: "may pick", error: "on error", mark: "" }[kind];
  const target = to === END ? "the end" : to;
  return kind === "mark" ? "" : `<title>${escaped(`${from} ${verb} ${target}`)}</title>`;
}

/** An edge between two nodes. */
export function drawEdge(edge: Edge, { points, label }: Routed): string {
  const [start, end] = [points[0]!, points.at(-1)!];
  const down = Math.sign(end.y - start.y);
  const tail = edge.kind === "conditional" ? DIAMOND : 0;
  return group(edge, [
    `<path class="line" d="${pathOf(points, tail, SIZES.arrow - 1)}"/>`,
    ...(tail === 0 ? [] : [diamond(start, 0, down)]),
    arrowHead(end, 0, down),
    ...(label === undefined ? [] : [note(label)]),
  ]);
}

/** The room on the right of a node that an edge to itself takes; `turn` counts those of one node. */
export function loopRoom({ kind }: Edge, turn: number): NodeSize {
  const { width, height } = kind === "error" ? ERROR_NOTE_SIZE : { width: 0, height: 0 };
  return { width: loopReach(turn) + width, height };
}

/** An edge from a node to itself. */
export function drawLoop(edge: Edge, node: Placed, turn: number): string {
  const isChoice = edge.kind === "conditional";
  const { start, end, path, side } = loopOf(node, turn, isChoice ? DIAMOND : 0);
  return group(edge, [
    `<path class="line" d="${path}"/>`,
    ...(isChoice ? [diamond(start, 1, 0)] : []),
    arrowHead(end, -1, 0),
    ...(edge.kind === "error" ? [note({ x: side.x + ERROR_NOTE_SIZE.width / 2 - 3, y: side.y })] : []),
  ]);
}

function note({ x, y }: Point): string {
  return textAt("note", x, y + SIZES.caption * 0.36, ERROR_NOTE);
}

function group(edge: Edge, parts: readonly string[]): string {
  return `<g class="${edge.kind}">${titleOf(edge)}${parts.join("")}</g>`;
}
