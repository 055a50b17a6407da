import type { Cli } from "../../src/cli/cli.ts";
import { printTable } from "../../src/cli/table.ts";
import type { Line } from "./types.ts";

const HEAD = [
  "",
  "what",
  "on",
  "",
  "median (quartiles)",
  "bound",
  "ratio",
  "target",
  "",
  "per operation",
  "heap",
];

/** Prints lines as a table for people; keys written are a table of their own. */
export async function printLines(cli: Cli, lines: readonly Line[]): Promise<void> {
  const figures = lines.filter(({ keys }) => keys === undefined);
  if (figures.length > 0) await printTable(cli, HEAD, figures.map((line) => rowOf(cli, line)));
  const written = lines.filter(({ keys }) => keys !== undefined);
  for (const on of new Set(written.map((line) => line.on))) {
    await printKeys(cli, on, written.filter((line) => line.on === on));
  }
}

function rowOf({ colours }: Cli, line: Line): string[] {
  const { id, name, on, mode, unit, value, low, high, repeats, bound, ratio, target, ok, heap } = line;
  const spread = repeats > 1 ? ` (${short(low)}–${short(high)})` : "";
  return [
    id,
    name,
    on,
    mode,
    `${short(value)}${spread} ${unit}`,
    bound === undefined ? "" : short(bound),
    ratio === undefined ? "" : short(ratio),
    target ?? "",
    ok === undefined ? "" : ok ? colours.green("ok") : colours.red("missed"),
    costsOf(line),
    heap === undefined ? "" : `${heap.toFixed(1)} MB`,
  ];
}

/** What was written, for each operation. */
function costsOf({ commits, mutations, reads, bytes }: Line): string {
  return [
    commits === undefined ? [] : `${short(commits)} commits`,
    mutations === undefined ? [] : `${short(mutations)} mutations`,
    reads === undefined ? [] : `${short(reads)} reads`,
    bytes === undefined ? [] : `${(bytes / 1024).toFixed(1)} KB`,
  ].flat().join(", ");
}

async function printKeys(cli: Cli, on: string, lines: readonly Line[]): Promise<void> {
  const kinds = [...new Set(lines.flatMap(({ keys }) => Object.keys(keys ?? {}).map(kindOf)))];
  const rows = lines.map(({ name, value, keys = {} }) => [
    name,
    String(value),
    ...kinds.map((kind) =>
      [signed("+", keys[kind]), signed("−", keys[`-${kind}`])].filter(Boolean).join(" ")
    ),
  ]);
  cli.print("");
  await printTable(cli, [`keys set (+) and deleted (−), ${on}`, "all", ...kinds], rows);
}

const kindOf = (key: string) => key.replace(/^-/, "");
const signed = (sign: string, count: number | undefined) => count === undefined ? "" : `${sign}${count}`;

/** Three digits are enough to read. */
function short(value: number): string {
  return Math.abs(value) >= 1_000
    ? Math.round(value).toLocaleString("en")
    : String(Number(value.toPrecision(3)));
}
