/** Small projects on disk, in plain JavaScript so that every runtime loads them. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { ROOT } from "../support/paths.ts";

/** The package as this test has loaded it. */
export const SUPERSTEP = new URL(`../../mod${import.meta.url.slice(-3)}`, import.meta.url).href;

/** A folder with files, inside the repository, where packages are found. */
export interface Project {
  readonly path: string;
  /** The absolute path of a file in it. */
  at(file: string): string;
  /** The URL of a file in it. */
  url(file: string): string;
  write(file: string, text: string): void;
  remove(): void;
}

/** Creates a project of these files. */
export function project(files: Readonly<Record<string, string>>): Project {
  mkdirSync(join(ROOT, ".tmp"), { recursive: true });
  const path = realpathSync(mkdtempSync(join(ROOT, ".tmp", "project-")));
  const made: Project = {
    path,
    at: (file) => join(path, file),
    url: (file) => pathToFileURL(join(path, file)).href,
    write: (file, text) => {
      mkdirSync(dirname(join(path, file)), { recursive: true });
      writeFileSync(join(path, file), text);
    },
    remove: () => rmSync(path, { recursive: true }),
  };
  for (const [file, text] of Object.entries(files)) made.write(file, text);
  return made;
}

/** A module that exports a workflow of one vertex, which leads `to` others, and notes that it has been imported. */
export function flow(id: string, to: readonly string[] = []): string {
  return `
    import { Graph, Vertex, Workflow } from ${JSON.stringify(SUPERSTEP)};
    import { z } from "zod";
    (globalThis.imported ??= []).push(import.meta.url);
    export class Flow extends Workflow(z.object({ n: z.number() })) {}
    Graph({ id: ${JSON.stringify(id)} })(Flow);
    export class Only { execute(n) { return n; } }
    Vertex({
      graph: Flow, id: "only", entry: true, finish: true, to: ${JSON.stringify(to)},
      select: (s) => s.n, reduce: () => {},
    })(Only);
  `;
}

/** The modules made by {@link flow} that have been imported since this was asked last, in that order. */
export function imported(): readonly string[] {
  const holder = globalThis as { imported?: readonly string[] };
  const urls = holder.imported ?? [];
  holder.imported = [];
  return urls;
}
