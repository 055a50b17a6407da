import type { Placed, Point } from "./layout.ts";
import { escaped } from "./text.ts";
import { SIZES } from "./theme.ts";

/** A number as short as it may be; nobody sees hundredths of a pixel. */
export function px(value: number): string {
  return `${Math.round(value * 10) / 10 + 0}`;
}

/** A rounded rectangle. */
export function rect(
  cls: string,
  x: number,
  y: number,
  width: number,
  height: number,
  radius: number,
): string {
  return `<rect${classed(cls)} x="${px(x)}" y="${px(y)}" width="${px(width)}" height="${px(height)}" rx="${
    px(radius)
  }"/>`;
}

/** A line of text on its base line. */
export function textAt(cls: string, x: number, y: number, text: string): string {
  return `<text${classed(cls)} x="${px(x)}" y="${px(y)}">${escaped(text)}</text>`;
}

function classed(cls: string): string {
  return cls === "" ? "" : ` class="${cls}"`;
}

/** Where a run starts. */
export function startDot({ x, y }: Point): string {
  return `<circle class="dot" cx="${px(x)}" cy="${px(y)}" r="${SIZES.dot}"/>`;
}

/** Where a run may end. */
export function finishRing({ x, y }: Point): string {
  const at = `cx="${px(x)}" cy="${px(y)}"`;
  return `<circle class="ring" ${at} r="${SIZES.dot}"/><circle class="dot" ${at} r="${SIZES.dot - 3.5}"/>`;
}

/** The point of an arrow, with its direction as a unit vector. */
export function arrowHead({ x, y }: Point, dx: number, dy: number): string {
  const { arrow } = SIZES;
  const [backX, backY] = [x - dx * arrow, y - dy * arrow];
  const [sideX, sideY] = [-dy * arrow * 0.5, dx * arrow * 0.5];
  return `<path class="head" d="M${px(x)} ${px(y)}L${px(backX + sideX)} ${px(backY + sideY)}` +
    `L${px(backX - sideX)} ${px(backY - sideY)}Z"/>`;
}

/** The mark of a choice, where the edges of it begin. */
export function diamond({ x, y }: Point, dx: number, dy: number): string {
  const [length, side] = [DIAMOND, 4];
  const [midX, midY] = [x + dx * length / 2, y + dy * length / 2];
  return `<path class="diamond" d="M${px(x)} ${px(y)}L${px(midX - dy * side)} ${px(midY + dx * side)}` +
    `L${px(x + dx * length)} ${px(y + dy * length)}L${px(midX + dy * side)} ${px(midY - dx * side)}Z"/>`;
}

/** The length of a {@link diamond}. */
export const DIAMOND = 11;

/**
 * The path of a routed edge: upright through its lanes, bent between them. It begins and ends that many pixels away from
 * its nodes, where something else is drawn.
 */
export function pathOf(points: readonly Point[], skipStart: number, skipEnd: number): string {
  const [start, end] = [points[0]!, points.at(-1)!];
  const down = Math.sign(end.y - start.y);
  const [first, last] = [start.y + down * skipStart, end.y - down * skipEnd];
  let path = `M${px(start.x)} ${px(first)}`;
  let at = { x: start.x, y: first };
  const upright = (y: number) => {
    if (px(y) !== px(at.y)) path += `V${px(y)}`;
    at = { x: at.x, y };
  };
  for (let i = 1; i + 1 < points.length; i += 2) {
    const [from, to] = [points[i]!, points[i + 1]!];
    upright(down * from.y > down * first ? from.y : first);
    const y = down * to.y < down * last ? to.y : last;
    if (px(from.x) === px(to.x)) upright(y);
    else {
      const middle = px((at.y + y) / 2);
      path += `C${px(at.x)} ${middle} ${px(to.x)} ${middle} ${px(to.x)} ${px(y)}`;
      at = { x: to.x, y };
    }
  }
  upright(last);
  return path;
}

/** How far a node's edge to itself reaches out; `turn` counts those of one node. */
export function loopReach(turn: number): number {
  return 30 + 14 * turn;
}

/** How an edge from a node to itself runs, on its right. */
interface Loop {
  readonly start: Point;
  readonly end: Point;
  readonly path: string;
  /** Its outermost point. */
  readonly side: Point;
}

/** The loop of a node. */
export function loopOf(node: Placed, turn: number, skipStart: number): Loop {
  const x = node.x + node.width / 2;
  const spread = Math.min(node.height / 2 - 6, 9 + 5 * turn);
  const [start, end] = [{ x, y: node.y + spread }, { x, y: node.y - spread }];
  const side = { x: x + loopReach(turn), y: node.y };
  const [out, back] = [start.x + skipStart, end.x + SIZES.arrow - 1];
  // Two quarter turns by way of the outermost point.
  return {
    start,
    end,
    side,
    path: `M${px(out)} ${px(start.y)}C${px(side.x - 4)} ${px(start.y)} ${px(side.x)} ${px(start.y - 2)} ` +
      `${px(side.x)} ${px(side.y)}S${px(side.x - 4)} ${px(end.y)} ${px(back)} ${px(end.y)}`,
  };
}
