import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { StoreError } from "../../errors.ts";

/**
 * A handle goes on writing into a file that was deleted or replaced, and everything that it writes is lost with it. So the
 * file at the path is compared with the one that was opened.
 */
export class SameFile {
  readonly #path: string;
  readonly #opened: string;

  private constructor(path: string, opened: string) {
    this.#path = path;
    this.#opened = opened;
  }

  /** @returns `undefined` for a store that is in no file */
  static async of(path: string): Promise<SameFile | undefined> {
    const found = await identity(resolve(path));
    return found === undefined ? undefined : new SameFile(resolve(path), found);
  }

  /** What became of the file; `undefined` while it is the one that was opened, or nobody can tell. */
  async problem(): Promise<string | undefined> {
    const found = await identity(this.#path).catch(() => this.#opened);
    if (found === this.#opened) return undefined;
    return `the file ${JSON.stringify(this.#path)} was ${
      found === undefined ? "deleted" : "replaced"
    } while it was ` +
      "open, and what is written from now on would be lost; stop this process, restore the file, and start again";
  }
}

/** Tells a file from every other one at its path; `undefined`: there is none. */
async function identity(path: string): Promise<string | undefined> {
  try {
    const { dev, ino } = await stat(path, { bigint: true });
    return `${dev}:${ino}`;
  } catch (cause) {
    if ((cause as { code?: unknown } | null)?.code === "ENOENT") return undefined;
    throw new StoreError("open", `the file ${JSON.stringify(path)} cannot be looked at`, { cause });
  }
}
