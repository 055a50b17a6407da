import { messageOf } from "../../errors.ts";

/** What drivers and systems say, in which words, and what to do about it. */
const REASONS: readonly (readonly [said: RegExp, problem: string])[] = [
  [/disk is full|SQLITE_FULL|no space left|ENOSPC|EDQUOT|quota/i, "the disk is full; make room on it"],
  [
    /read-?only|SQLITE_READONLY|EROFS/i,
    "the file or its folder is read-only; let this process write to both, beside the file too",
  ],
  [
    /permission|EACCES|EPERM|SQLITE_PERM|SQLITE_AUTH|not permitted|requires (read|write|net|all)/i,
    "this process may not read and write the file and its folder",
  ],
  [/database is locked|SQLITE_BUSY/i, "it is locked by another program; close that program, or try again"],
  [
    /not a database|malformed|SQLITE_CORRUPT|SQLITE_NOTADB/i,
    "it is no Deno KV file, or a damaged one; give another path, or restore it",
  ],
  [
    /no such file|ENOENT|cannot find the (file|path)|SQLITE_CANTOPEN|unable to open database/i,
    "the folder of the file does not exist, or the path names a folder; make it, or give another path",
  ],
  [/disk i\/o error|SQLITE_IOERR|EIO/i, "the disk fails, or is gone; look after it"],
];

/** Why a driver failed and what to do, in words; `undefined` when it says nothing that is known here. */
export function reasonInWords(error: unknown): string | undefined {
  if (error === undefined) return undefined;
  const said = messageOf(error) + (error instanceof Error ? ` ${messageOf(error.cause)}` : "");
  return REASONS.find(([pattern]) => pattern.test(said))?.[1];
}
