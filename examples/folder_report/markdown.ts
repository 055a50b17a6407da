import type { Report, Row } from "../folder_report.ts";

/** The report as Markdown: a table of the files, then totals, then what could not be read. */
export function render({ folder, rows }: Report): string {
  const readable = rows.filter((row) => row.error === undefined);
  const failed = rows.filter((row) => row.error !== undefined);
  const total = (field: "bytes" | "lines" | "words") =>
    readable.reduce((sum, row) => sum + (row[field] ?? 0), 0);
  return [
    `# ${escaped(folder)}`,
    "",
    "| file | bytes | lines | words | sha256 |",
    "| --- | ---: | ---: | ---: | --- |",
    ...readable.map(line),
    `| **${readable.length} files** | ${total("bytes")} | ${total("lines")} | ${total("words")} | |`,
    "",
    ...(failed.length === 0 ? [] : [
      `## ${failed.length} could not be read`,
      "",
      ...failed.map(({ path, error = "" }) => `- ${escaped(path)}: ${escaped(error)}`),
      "",
    ]),
  ].join("\n");
}

function line({ path, bytes, lines, words, sha256 }: Row): string {
  return `| ${escaped(path)} | ${bytes} | ${lines ?? "binary"} | ${words ?? ""} | \`${sha256}\` |`;
}

/** File names may hold anything but a slash. */
function escaped(text: string): string {
  return text.replace(/[\\`*_{}[\]<>|#]/g, "\\$&").replace(/[\r\n]+/g, " ");
}
