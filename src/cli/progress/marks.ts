import type { Colours, Paint } from "../colours.ts";
import type { RowState } from "./model.ts";

/** The sign of each state. */
export const MARKS: Readonly<Record<RowState, string>> = {
  running: "▶",
  done: "✔",
  failed: "✘",
  waiting: "⏸",
  backoff: "↻",
};

/** The colour of each state. */
export const PAINT: Readonly<Record<RowState, (colours: Colours) => Paint>> = {
  running: (colours) => colours.cyan,
  done: (colours) => colours.green,
  failed: (colours) => colours.red,
  waiting: (colours) => colours.yellow,
  backoff: (colours) => colours.yellow,
};
