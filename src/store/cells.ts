import type { CallOptions } from "./call_options.ts";

/**
 * Small named values beside the runs, each with a version: the mark of a schedule, the count of a limit, a place in a
 * queue. A cell belongs to no run; neither `purge` nor `trim` removes one. What it holds is known to whoever made its
 * space. Cells are changed by an append or a post, in its own atomic step, or by `write`.
 *
 * @example A mark that is stored with the run it tells of, or not at all.
 * ```ts
 * const store = memoryStore();
 * const mark = { space: "marks", name: "daily" };
 * const [seen] = await store.cells.read([mark]);
 * const version = seen?.version ?? null;
 * await store.cells.write({ writeId: "w1", cells: [{ ...mark, version, value: new Uint8Array([1]) }] });
 * const [cell] = await store.cells.read([mark]);
 * assert.deepEqual(cell?.value, new Uint8Array([1]));
 * await assert.rejects(
 *   store.cells.write({ writeId: "w2", cells: [{ ...mark, version: null, value: new Uint8Array([2]) }] }),
 *   { code: "CELL_CONFLICT" }, // somebody else was faster: read it again
 * );
 * ```
 */
export interface Cells {
  /** The cells of at most 10 names as they are at one moment, in that order; `null` where there is none. */
  read(names: readonly CellName[], options?: CallOptions): Promise<readonly (Cell | null)[]>;
  /** The cells of a space in the order of the UTF-8 bytes of their names. */
  list(space: string, query: CellQuery, options?: CallOptions): Promise<readonly Cell[]>;
  /**
   * Changes cells without a run. Made again under its id it succeeds and changes nothing while a cell that it set is as it
   * left it, or, where it sets none, while what it removes is gone.
   *
   * @returns the version of every cell that it set
   * @throws {CellConflictError} when a cell has not the version demanded; nothing was changed
   */
  write(entry: CellsEntry, options?: CallOptions): Promise<{ readonly version: string }>;
}

/**
 * Where a cell is. Both texts are well-formed, without NUL, of 1 to 512 bytes; `space` tells what kind of thing it is and
 * `name` which one.
 */
export interface CellName {
  /** The kind of cell. */
  readonly space: string;
  /** Which one. */
  readonly name: string;
}

/** A cell as it was read. */
export interface Cell extends CellName {
  /** Changes with every write of the cell, also when it was removed in between; given by the store, never made up. */
  readonly version: string;
  /** What it holds. */
  readonly value: Uint8Array;
}

/** A change of a cell, or a demand on one, or both. At most 16 in one call, of which 4 demand a version; no cell twice. */
export interface CellChange extends CellName {
  /** The version that it must have, `null`: there must be none. Absent: whatever it is. */
  readonly version?: string | null;
  /** What it holds afterwards, at most 16 KiB; `null`: it is removed. Absent: it stays as it is, and is only demanded. */
  readonly value?: Uint8Array | null;
}

/** Which cells of a space to list. */
export interface CellQuery {
  /** Only names that begin with this. */
  readonly prefix?: string;
  /** Begins behind this name, whether or not there is such a cell; it begins with the prefix. */
  readonly after?: string;
  /** At most 1000; more may be asked for but is not answered. */
  readonly limit: number;
}

/** Cells to change without a run. */
export interface CellsEntry {
  /** Unique to this write; a retry of it carries the same. */
  readonly writeId: string;
  /** What changes; one at least is set or removed. */
  readonly cells: readonly CellChange[];
}
