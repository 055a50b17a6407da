import type { Colours } from "../colours.ts";
import { span, timeOfDay } from "../format.ts";
import { MARKS, PAINT } from "./marks.ts";
import { currentState, type Execution, type Row, type RowState, type RowWait, stateOf } from "./model.ts";

/** How the rows are drawn. */
interface RowStyle {
  readonly colours: Colours;
  readonly columns: number;
  /** The most lines; what has been done longest gives way. */
  readonly lines: number;
}

const SPINNER = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
/** How long one picture of the spinner stands; also how often the rows are drawn. */
export const SPIN_MS = 100;

/** The lines that show the rows as they are now. */
export function drawn(rows: Iterable<Row>, now: number, style: RowStyle): string[] {
  const all = [...rows].filter((row) => row.executions.size > 0);
  const excess = all.length - style.lines;
  if (excess <= 0) return all.map((row) => drawRow(row, now, style));
  const done = all.filter((row) => stateOf(row, now) === "done").slice(0, excess + 1);
  const hidden = new Set(done);
  const shown = all.filter((row) => !hidden.has(row)).slice(0, style.lines - 1);
  return [
    style.colours.dim(`  and ${all.length - shown.length} more`),
    ...shown.map((row) => drawRow(row, now, style)),
  ];
}

function drawRow(row: Row, now: number, { colours, columns }: RowStyle): string {
  const state = stateOf(row, now);
  const mark = state === "running" ? SPINNER[Math.floor(now / SPIN_MS) % SPINNER.length]! : MARKS[state];
  const again = row.runs > 1 ? ` (${row.runs}×)` : "";
  const name = `${row.vertexId}${again}`.padEnd(16);
  const text = row.items > 0 ? itemsText(row, now) : executionText(row.executions.get(-1)!, now);
  const said = row.said !== undefined && state === "running" ? `  ${row.said}` : "";
  const shown = cut(`${mark} ${name}  ${text}${said}`, columns - 1);
  return PAINT[state](colours)(mark) + shown.slice(mark.length);
}

function executionText(x: Execution, now: number): string {
  const time = span((x.endedAt ?? now) - x.startedAt);
  switch (currentState(x, now)) {
    case "done":
      return time + (x.attempt > 1 ? `, attempt ${x.attempt}` : "");
    case "failed":
      return `failed after attempt ${x.attempt}: ${x.problem}`;
    case "backoff":
      return `attempt ${x.attempt} failed: ${x.problem}; again in ${span((x.nextAt ?? now) - now)}`;
    case "waiting":
      return waitsText([...x.waits.values()], now);
    case "running": {
      const attempt = x.state === "backoff" ? x.attempt + 1 : x.attempt;
      return span(now - x.startedAt) + (attempt > 1 ? `, attempt ${attempt}` : "");
    }
  }
}

function waitsText(waits: readonly RowWait[], now: number): string {
  const texts = waits.map(({ name, due, isTimer }) =>
    isTimer
      ? `sleeps ${due === undefined ? "" : `${span(due - now)} `}(${name})`
      : `waits for ${name}${due === undefined ? "" : `, until ${timeOfDay(due).slice(0, 8)}`}`
  );
  return texts.join(", ") || "waits";
}

function itemsText(row: Row, now: number): string {
  const counts = new Map<RowState, number>();
  for (const x of row.executions.values()) {
    const state = currentState(x, now);
    counts.set(state, (counts.get(state) ?? 0) + 1);
  }
  const rest = (["running", "backoff", "waiting", "failed"] as const)
    .filter((state) => counts.has(state))
    .map((state) => `${counts.get(state)} ${state === "backoff" ? "to be tried again" : state}`);
  return [`${counts.get("done") ?? 0}/${row.items} items`, ...rest].join(", ");
}

/** Cut so that it fills one line of a terminal at most; whatever is not ASCII may be two columns wide. */
function cut(text: string, columns: number): string {
  let width = 0;
  let end = 0;
  for (const c of text) {
    width += c.codePointAt(0)! < 0x2000 ? 1 : 2;
    if (width > columns) return text.slice(0, end);
    end += c.length;
  }
  return text;
}
