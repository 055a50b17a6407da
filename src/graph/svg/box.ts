import type { ExecutionStatus } from "../../model/checkpoint.ts";
import type { TopologyVertex } from "../topology.ts";
import type { NodeSize, Placed } from "./layout.ts";
import { escaped, textWidth, wrapped } from "./text.ts";
import { SIZES } from "./theme.ts";
import { px, rect, textAt } from "./shapes.ts";

/** A vertex as it is drawn. */
interface Box extends NodeSize {
  readonly label: readonly string[];
  /** The id, below a label that differs from it. */
  readonly caption: readonly string[];
  readonly chips: readonly Chip[];
  readonly map: boolean;
  readonly join: boolean;
  readonly status: ExecutionStatus | undefined;
}

interface Chip {
  readonly text: string;
  readonly width: number;
  readonly isStatus: boolean;
}

/** What a vertex looks like, and how large it is. */
export function boxOf({ id, label, join, each }: TopologyVertex, status?: ExecutionStatus): Box {
  const { maxText, minBox, boxPadX, boxPadY, gap, chipGap, chipHeight } = SIZES;
  const shown = label.trim() === "" ? id : label;
  const lines = wrapped(shown, SIZES.label, maxText, 3);
  const caption = shown === id ? [] : wrapped(id, SIZES.caption, maxText, 2);
  const chips = [
    ...(each ? [chip("map")] : []),
    ...(join === "all" ? [chip("join all")] : []),
    ...(status === undefined ? [] : [chip(status, true)]),
  ];
  const widths = [
    ...lines.map((line) => textWidth(line, SIZES.label)),
    ...caption.map((line) => textWidth(line, SIZES.caption)),
    chips.reduce((sum, { width }) => sum + width + chipGap, -chipGap),
  ];
  const heights = [
    lines.length * SIZES.labelLine,
    ...(caption.length === 0 ? [] : [caption.length * SIZES.captionLine - gap]),
    ...(chips.length === 0 ? [] : [chipHeight]),
  ];
  const sheets = each ? 2 * SIZES.sheet : 0;
  return {
    label: lines,
    caption,
    chips,
    map: each,
    join: join === "all",
    status,
    width: Math.max(minBox, ...widths) + 2 * boxPadX + 2 * sheets,
    height: heights.reduce((sum, height) => sum + height + gap, -gap) + 2 * boxPadY + sheets,
  };
}

function chip(text: string, isStatus = false): Chip {
  return { text, width: textWidth(text, SIZES.chip) + 14, isStatus };
}

/** A vertex in its place; the sheets of a map vertex lie on both sides, so that its middle stays the middle. */
export function drawBox(box: Box, place: Placed, title: string): string {
  const sheets = box.map ? 2 * SIZES.sheet : 0;
  const width = box.width - 2 * sheets;
  const height = box.height - sheets;
  const [left, top] = [place.x - width / 2, place.y - box.height / 2];
  const parts = [`<title>${escaped(title)}</title>`];
  for (let lower = sheets; lower >= 0; lower -= SIZES.sheet) {
    parts.push(rect("box", left + lower, top + lower, width, height, SIZES.radius));
  }
  if (box.join) {
    const inset = SIZES.radius + 2;
    parts.push(`<path class="bar" d="M${px(left + inset)} ${px(top)}h${px(width - 2 * inset)}"/>`);
  }
  let y = top + SIZES.boxPadY;
  for (const line of box.label) {
    parts.push(textAt("label", place.x, y + SIZES.labelLine * 0.73, line));
    y += SIZES.labelLine;
  }
  for (const line of box.caption) {
    parts.push(textAt("caption", place.x, y + SIZES.captionLine * 0.68, line));
    y += SIZES.captionLine;
  }
  y += SIZES.gap;
  let x = place.x - (box.chips.reduce((sum, c) => sum + c.width + SIZES.chipGap, -SIZES.chipGap)) / 2;
  for (const { text, width, isStatus } of box.chips) {
    parts.push(
      `<g class="${isStatus ? "chip status" : "chip"}">` +
        rect("", x, y, width, SIZES.chipHeight, SIZES.chipHeight / 2) +
        textAt("", x + width / 2, y + SIZES.chipHeight * 0.7, text) + "</g>",
    );
    x += width + SIZES.chipGap;
  }
  return `<g class="vertex${box.status === undefined ? "" : ` ${box.status}`}">${parts.join("")}</g>`;
}
