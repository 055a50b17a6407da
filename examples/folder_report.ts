/**
 * A report on any folder: size, lines, words and hash of every file, as a Markdown table. Stop it with Ctrl-C, or kill
 * it, and start it again: it goes on, and no file that it has finished is read a second time.
 *
 *     deno run -A examples/folder_report.ts <folder> [--out report.md] [--db folder_report.db] [--run <name>]
 *
 * All starts for one folder are one run; `--run` names another run of the same folder. The exit code is 0 when the
 * report is written, 2 when the program was stopped, 3 when a step failed, 1 on any other fault.
 *
 * @module
 */
import { writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import process from "node:process";
import { setTimeout as pause } from "node:timers/promises";
import {
  compile,
  Graph,
  Retry,
  type Runner,
  type Store,
  type Task,
  type TaskContext,
  Vertex,
  Workflow,
} from "superstep";
import { z } from "zod";
import { listFiles, readFacts } from "./folder_report/files.ts";
import { main } from "./folder_report/main.ts";
import { render } from "./folder_report/markdown.ts";
import { isMain } from "./support/host.ts";
import type { Ledger } from "./support/ledger.ts";

/** What one file came to: its facts, or why it could not be read. */
const Row = z.object({
  path: z.string(),
  bytes: z.number().optional(),
  lines: z.number().optional(),
  words: z.number().optional(),
  sha256: z.string().optional(),
  error: z.string().optional(),
});
export type Row = z.infer<typeof Row>;

/** The state of a run; its input is the folder. */
const Report = z.object({
  folder: z.string(),
  files: z.array(z.string()).default([]),
  rows: z.array(Row).default([]),
});
export type Report = z.infer<typeof Report>;

/** What the tasks work with. None of it is part of the run: the next start may bring another. */
export interface Workspace {
  readonly ledger: Ledger;
  /** Where the report goes. */
  readonly out: string;
  /** Files that belong in no report: the store's, the ledger, the report itself. */
  readonly own: readonly string[];
  /** How long to linger over each file, in milliseconds. */
  readonly paceMs: number;
}

@Graph({ id: "folder-report", version: 1 })
export class FolderReport extends Workflow(Report) {}

@Vertex({
  graph: FolderReport,
  id: "list",
  entry: true,
  select: (s) => s.folder,
  reduce: (s, files: string[]) => {
    s.files = files; // from now on the list stands, whatever happens in the folder
  },
  to: "read",
})
export class ListFiles implements Task<string, string[]> {
  constructor(private readonly workspace: Workspace) {}

  execute(folder: string, ctx: TaskContext): Promise<string[]> {
    return listFiles(folder, this.workspace.own, ctx.signal);
  }
}

@Vertex({
  graph: FolderReport,
  id: "read",
  each: (s) => s.files.map((path) => ({ folder: s.folder, path })), // one durable execution per file
  reduce: (s, rows: readonly Row[]) => {
    s.rows = [...rows];
  },
  to: "write",
})
export class ReadFile implements Task<{ folder: string; path: string }, Row> {
  constructor(private readonly workspace: Workspace) {}

  async execute({ folder, path }: { folder: string; path: string }, ctx: TaskContext): Promise<Row> {
    const { ledger, paceMs } = this.workspace;
    ledger.write({ event: "read", run: ctx.runId, key: ctx.idempotencyKey, detail: path });
    try {
      const facts = await readFacts(resolve(folder, path), ctx.signal);
      await pause(paceMs, undefined, { signal: ctx.signal });
      ctx.emit("read", path);
      return { path, ...facts };
    } catch (error) {
      ctx.signal.throwIfAborted(); // stopped, not unreadable
      ctx.emit("failed", path);
      return { path, error: error instanceof Error ? error.message : String(error) };
    }
  }
}

@Vertex({ graph: FolderReport, id: "write", finish: true, select: (s) => s, reduce: () => {} })
@Retry({ maxAttempts: 3, backoff: { initial: "500ms" } })
export class WriteReport implements Task<Report, void> {
  constructor(private readonly workspace: Workspace) {}

  execute(report: Report): Promise<void> {
    return writeFile(this.workspace.out, render(report));
  }
}

/** The workflow on a store; every body, outcome and file read goes to the ledger. */
export function folderReportRunner(store: Store, workspace: Workspace): Runner<Report> {
  const { ledger } = workspace;
  return compile(FolderReport, {
    store,
    provide: (cls) => ledger.watch(new cls(workspace)),
    hooks: ledger.hooks,
  });
}

if (isMain(import.meta.url)) process.exitCode = await main(folderReportRunner);
