import type { Cli } from "./cli.ts";

/** Nothing around the cells but two spaces between them. */
const NO_BORDERS = Object.fromEntries(
  ["top", "bottom", "left", "mid", "right"].flatMap((side) =>
    ["", "-mid", "-left", "-right"].map((part) => [`${side}${part}`, ""])
  ),
);

/** Prints rows under a head. Cells must be printable, see `printable.ts`. */
export async function printTable(
  cli: Cli,
  head: readonly string[],
  rows: readonly (readonly string[])[],
): Promise<void> {
  const { default: Table } = await import("cli-table3");
  const table = new Table({
    head: head.map((cell) => cli.colours.dim(cell)),
    chars: { ...NO_BORDERS, middle: "  " },
    style: { "padding-left": 0, "padding-right": 0, head: [], border: [], compact: true },
  });
  table.push(...rows.map((row) => [...row]));
  for (const row of table.toString().split("\n")) cli.print(row.trimEnd());
}
