import type { Edge, EdgeKind } from "./edges.ts";
import { arrowHead, DIAMOND, diamond, px, textAt } from "./shapes.ts";
import { textWidth } from "./text.ts";
import { SIZES } from "./theme.ts";

/** What the kinds of edges mean; only those that a graph has are shown. */
const MEANINGS: readonly (readonly [EdgeKind, string])[] = [
  ["next", "always"],
  ["conditional", "if picked"],
  ["error", "on error"],
];
const SAMPLE = 38;
const GAP = 8;
const BETWEEN = 22;
const ROW = 20;

/** The key of a picture, in rows of at most `room` pixels. */
export function keyOf(
  edges: readonly Edge[],
  room: number,
): { width: number; height: number; draw: (x: number, y: number) => string } {
  const items = MEANINGS.filter(([kind]) => edges.some((edge) => edge.kind === kind)).map(([kind, text]) => ({
    kind,
    text,
    width: SAMPLE + GAP + textWidth(text, SIZES.caption),
  }));
  let [x, y, width] = [0, 0, 0];
  const placed = items.map((item) => {
    if (x > 0 && x + item.width > room) [x, y] = [0, y + ROW];
    const at = { ...item, x, y };
    x += item.width + BETWEEN;
    width = Math.max(width, x - BETWEEN);
    return at;
  });
  return {
    width,
    height: placed.length === 0 ? 0 : y + ROW,
    draw: (left, top) =>
      placed.map(({ kind, text, x, y }) => sample(kind, text, left + x, top + y + ROW / 2)).join("\n"),
  };
}

function sample(kind: EdgeKind, text: string, x: number, y: number): string {
  const tail = kind === "conditional" ? DIAMOND : 0;
  return `<g class="key ${kind}"><path class="line" d="M${px(x + tail)} ${px(y)}H${
    px(x + SAMPLE - SIZES.arrow + 1)
  }"/>` +
    (tail === 0 ? "" : diamond({ x, y }, 1, 0)) + arrowHead({ x: x + SAMPLE, y }, 1, 0) +
    textAt("", x + SAMPLE + GAP, y + SIZES.caption * 0.36, text) + "</g>";
}
