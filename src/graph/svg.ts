import type { ExecutionStatus } from "../model/checkpoint.ts";
import { STATUS_PAINTS } from "./palette.ts";
import { describeGraph } from "./svg/describe.ts";
import { keyOf } from "./svg/key.ts";
import { sceneOf } from "./svg/scene.ts";
import { px, textAt } from "./svg/shapes.ts";
import { escaped, textWidth } from "./svg/text.ts";
import { ROOT_CLASS, SIZES, STYLE } from "./svg/theme.ts";
import type { Topology } from "./topology.ts";

/** What a picture of a graph shows beside the graph. */
export interface SvgOptions {
  /** The status of vertices in a run, by id; it colours them. @default none */
  readonly status?: Readonly<Record<string, ExecutionStatus>>;
  /** Whether its style sheet is in it; else the page around it must have {@link SVG_STYLE}. @default true */
  readonly styled?: boolean;
}

/** The style sheet of every picture. It changes nothing else of a page. */
export const SVG_STYLE = STYLE;

/**
 * A graph as an SVG document that needs nothing beside it: no script, no font, no style sheet. Its colours follow the
 * reader's light or dark scheme; its title and description say in words what it shows. The same topology and status
 * always give the same text.
 *
 * Solid arrows are static edges, dashed ones with a diamond are targets of a `pick`, red ones are error routes. Map
 * vertices are drawn as stacks, joins with a bar on top. Rings stand for finishes and for the `END` of branches.
 */
export async function svg(graph: Topology, options: SvgOptions = {}): Promise<string> {
  const { margin, title: titleSize } = SIZES;
  const status = new Map(
    Object.entries(options.status ?? {}).filter(([, s]) => Object.hasOwn(STATUS_PAINTS, s)),
  );
  const scene = await sceneOf(graph, status);
  const key = keyOf(scene.edges, Math.max(scene.width, MIN_WIDTH));

  const titleHeight = titleSize + 22;
  const inner = Math.max(scene.width, key.width, textWidth(graph.id, titleSize));
  const width = Math.ceil(inner + 2 * margin);
  const keyTop = margin + titleHeight + scene.height + (key.height === 0 ? 0 : 20);
  const height = Math.ceil(keyTop + key.height + margin);
  const shift = `translate(${px((width - scene.width) / 2 - scene.left)} ${
    px(margin + titleHeight - scene.top)
  })`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" class="${ROOT_CLASS}" role="img" ` +
    `width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">`,
    `<title>${escaped(`Graph ${graph.id}`)}</title>`,
    `<desc>${escaped(describeGraph(graph, status))}</desc>`,
    options.styled === false ? "" : `<style>\n${STYLE}\n</style>`,
    `<rect class="ground" width="${width}" height="${height}" rx="12"/>`,
    textAt("title", margin, margin + titleSize * 0.75, graph.id),
    `<g transform="${shift}">`,
    ...scene.parts,
    "</g>",
    key.draw(margin, keyTop),
    "</svg>",
  ].filter((part) => part !== "").join("\n") + "\n";
}

/** The key of a narrow graph may be wider than the graph. */
const MIN_WIDTH = 320;
