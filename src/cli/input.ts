import { createReadStream, existsSync } from "node:fs";
import type { Readable } from "node:stream";
import { fromJson } from "../model/json.ts";
import { UsageError } from "./faults.ts";
import type { Io } from "./io.ts";
import { jsonFault } from "./json_fault.ts";

/** Nothing longer is read: a state holds 16 MiB by default. */
const MAX_BYTES = 64 * 1024 * 1024;

/**
 * A value given as JSON text, as `@file`, or as `-` for the standard input; lossless, see `model/json.ts`.
 *
 * @param what Names the value in faults, such as `the input`.
 */
export async function readValue(io: Io, text: string, what: string): Promise<unknown> {
  if (text === "-") return parsed(await readAll(io.stdin, what), what, "");
  if (text.startsWith("@")) {
    const path = text.slice(1);
    if (path === "") throw new UsageError(`${what} is "@"; name the file after it, such as @input.json`);
    return parsed(await readFile(path, what), what, ` (${path})`);
  }
  const hint = existsSync(text) ? `; to read that file write @${text}` : "";
  return parsed(text, what, "", hint);
}

function parsed(text: string, what: string, where: string, hint = ""): unknown {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    if (text.trim() === "") throw new UsageError(`${what}${where} is empty; give JSON`);
    const { line, column, problem } = jsonFault(text);
    throw new UsageError(`${what}${where} is no JSON: line ${line}, column ${column}: ${problem}${hint}`);
  }
  return fromJson(json, what);
}

async function readFile(path: string, what: string): Promise<string> {
  try {
    return await readAll(createReadStream(path), what);
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(`${what} cannot be read: ${fileFault(path, error)}`);
  }
}

async function readAll(stream: Readable, what: string): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of stream) {
    const bytes = typeof chunk === "string" ? new TextEncoder().encode(chunk) : chunk as Uint8Array;
    size += bytes.byteLength;
    if (size > MAX_BYTES) throw new UsageError(`${what} is longer than ${MAX_BYTES / 1024 / 1024} MiB`);
    chunks.push(bytes);
  }
  const decoder = new TextDecoder("utf-8", { fatal: true });
  try {
    return chunks.map((chunk) => decoder.decode(chunk, { stream: true })).join("") + decoder.decode();
  } catch {
    throw new UsageError(`${what} is no UTF-8 text`);
  }
}

/** What is wrong with a file, without the words of the system. */
export function fileFault(path: string, error: unknown): string {
  switch ((error as { readonly code?: unknown } | undefined)?.code) {
    case "ENOENT":
      return `there is no file ${path}`;
    case "EISDIR":
      return `${path} is a folder`;
    case "ENOTDIR":
      return `a part of ${path} is no folder`;
    case "EACCES":
    case "EPERM":
      return `${path} may not be opened by this user`;
    default:
      return `${path} cannot be opened`;
  }
}
