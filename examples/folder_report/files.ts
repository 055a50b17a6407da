import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { readdir } from "node:fs/promises";
import { join, relative, sep } from "node:path";

/** What is known of a file that could be read. */
export interface FileFacts {
  readonly bytes: number;
  readonly sha256: string;
  /** Only of texts: a file with a NUL byte has neither lines nor words. */
  readonly lines?: number;
  readonly words?: number;
}

/**
 * The files below a folder, relative to it and sorted; without hidden ones, `node_modules` and links. A folder that
 * cannot be opened is listed itself, so that whoever reads the list finds out why.
 */
export async function listFiles(
  folder: string,
  without: readonly string[],
  signal: AbortSignal,
): Promise<string[]> {
  const files: string[] = [];
  const pending = [folder];
  for (let current = pending.pop(); current !== undefined; current = pending.pop()) {
    signal.throwIfAborted();
    const entries = await readdir(current, { withFileTypes: true }).catch((error: unknown) => {
      if (current === folder) throw error;
      files.push(current);
      return [];
    });
    for (const entry of entries) {
      const path = join(current, entry.name);
      if (entry.name.startsWith(".") || entry.name === "node_modules" || without.includes(path)) continue;
      if (entry.isDirectory()) pending.push(path);
      else if (entry.isFile()) files.push(path);
    }
  }
  return files.map((path) => relative(folder, path).split(sep).join("/")).sort();
}

/** Reads a file once, however large it is, without ever holding it whole. */
export async function readFacts(path: string, signal: AbortSignal): Promise<FileFacts> {
  const hash = createHash("sha256");
  let bytes = 0;
  let lines = 0;
  let words = 0;
  let text = true;
  let inWord = false;
  let last = NEWLINE;
  for await (const chunk of createReadStream(path, { signal }) as AsyncIterable<Uint8Array>) {
    hash.update(chunk);
    bytes += chunk.length;
    for (const byte of chunk) {
      if (byte === 0) text = false;
      if (byte === NEWLINE) lines++;
      const space = byte === SPACE || (byte >= TAB && byte <= CARRIAGE_RETURN);
      if (!space && !inWord) words++;
      inWord = !space;
      last = byte;
    }
  }
  if (last !== NEWLINE) lines++; // the last line need not end
  return { bytes, sha256: hash.digest("hex"), ...(text ? { lines, words } : {}) };
}

const TAB = 9;
const NEWLINE = 10;
const CARRIAGE_RETURN = 13;
const SPACE = 32;
