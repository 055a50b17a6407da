import { type Paint, STATUS_PAINTS } from "../palette.ts";

/** Every size of a picture, in pixels. */
export const SIZES = {
  margin: 24,
  title: 15,
  label: 14,
  labelLine: 19,
  caption: 11,
  captionLine: 16,
  chip: 10,
  chipHeight: 17,
  chipGap: 5,
  /** Between the parts of a box, above each other. */
  gap: 5,
  boxPadX: 18,
  boxPadY: 11,
  minBox: 104,
  maxText: 210,
  radius: 10,
  /** How far each sheet of a map vertex shows below the one above. */
  sheet: 4,
  dot: 7,
  arrow: 9,
} as const;

interface Theme {
  readonly ground: string;
  readonly box: Paint;
  readonly text: string;
  readonly quiet: string;
  readonly edge: string;
  readonly error: string;
  readonly onChip: string;
  readonly statuses: Readonly<Record<keyof typeof STATUS_PAINTS, Paint>>;
}

const LIGHT: Theme = {
  ground: "#ffffff",
  box: { fill: "#f6f8fb", line: "#8593a8" },
  text: "#101828",
  quiet: "#52607a",
  edge: "#64748b",
  error: "#c81e1e",
  onChip: "#ffffff",
  statuses: STATUS_PAINTS,
};

const DARK: Theme = {
  ground: "#0f1520",
  box: { fill: "#1c2534", line: "#6b7a92" },
  text: "#f1f5f9",
  quiet: "#a3b1c6",
  edge: "#8fa0b8",
  error: "#ff7b7b",
  onChip: "#0b1018",
  statuses: {
    pending: { fill: "#14294d", line: "#7fb2ff" },
    suspended: { fill: "#3b2c0a", line: "#fbbf24" },
    backoff: { fill: "#2c1e4d", line: "#c4a3ff" },
    done: { fill: "#0f3320", line: "#4ade80" },
    failed: { fill: "#431a1e", line: "#ff8585" },
  },
};

const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif";
const MONO = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'Liberation Mono', monospace";

/** The class of a picture. Every rule is below it, so that nothing of a page around it changes. */
export const ROOT_CLASS = "superstep-graph";

/** The style sheet of every picture: plain rules without variables, which some viewers do not know. */
export const STYLE = [
  `.R { font-family: ${FONT}; }`,
  `.R .title { font-size: ${SIZES.title}px; font-weight: 600; }`,
  `.R .label { font-size: ${SIZES.label}px; font-weight: 600; text-anchor: middle; }`,
  `.R .caption { font-family: ${MONO}; font-size: ${SIZES.caption}px; text-anchor: middle; }`,
  `.R .chip text { font-size: ${SIZES.chip}px; font-weight: 600; letter-spacing: .03em; text-anchor: middle; }`,
  `.R .note { font-size: ${SIZES.caption}px; text-anchor: middle; paint-order: stroke; stroke-width: 5px; stroke-linejoin: round; }`,
  `.R .key text { font-size: ${SIZES.caption}px; }`,
  ".R .box { stroke-width: 1.5; }",
  ".R .bar { stroke-width: 5; stroke-linecap: round; }",
  ".R .chip rect { stroke-width: 1; }",
  ".R .line { fill: none; stroke-width: 1.6; }",
  ".R .conditional .line { stroke-dasharray: 6 4; }",
  ".R .error .line { stroke-dasharray: 1.5 4; stroke-linecap: round; stroke-width: 2; }",
  ".R .diamond { stroke-width: 1.4; }",
  ".R .ring { fill: none; stroke-width: 1.6; }",
  ...coloured(LIGHT),
  "@media (prefers-color-scheme: dark) {",
  ...coloured(DARK),
  "}",
].map((rule) => rule.replaceAll(".R", `.${ROOT_CLASS}`)).join("\n");

function coloured(theme: Theme): readonly string[] {
  const { ground, box, text, quiet, edge, error, onChip, statuses } = theme;
  return [
    `.R .ground { fill: ${ground}; }`,
    `.R .title, .R .label { fill: ${text}; }`,
    `.R .caption, .R .key text, .R .chip text { fill: ${quiet}; }`,
    `.R .box, .R .chip rect { fill: ${box.fill}; stroke: ${box.line}; }`,
    `.R .bar { stroke: ${box.line}; }`,
    `.R .chip rect { fill: ${ground}; }`,
    `.R .line, .R .ring { stroke: ${edge}; }`,
    `.R .head, .R .dot { fill: ${edge}; }`,
    `.R .diamond { fill: ${ground}; stroke: ${edge}; }`,
    `.R .error .line { stroke: ${error}; }`,
    `.R .error .head, .R .error .note { fill: ${error}; }`,
    `.R .note { stroke: ${ground}; }`,
    ...Object.entries(statuses).flatMap(([status, { fill, line }]) => [
      `.R .${status} .box { fill: ${fill}; stroke: ${line}; }`,
      `.R .${status} .bar { stroke: ${line}; }`,
      `.R .${status} .status rect { fill: ${line}; stroke: ${line}; }`,
      `.R .${status} .status text { fill: ${onChip}; }`,
    ]),
  ];
}
