import { StoreError } from "../errors.ts";
import type { CellChange, CellName, CellQuery, CellsEntry } from "./cells.ts";
import { checkKeyText } from "./limits.ts";
import { limitOf } from "./query.ts";

/** With what an append demands beside, four are what one operation of every store can demand. */
const MAX_DEMANDS = 4;
const MAX_CHANGES = 16;
const MAX_NAMES = 10;
const MAX_CELL_BYTES = 16_384;

/** Refuses changes of cells that a store could not make. */
export function checkCells(op: string, changes: readonly CellChange[]): void {
  checkCount(op, "changes", changes.length, MAX_CHANGES);
  checkCount(
    op,
    "cells with a version",
    changes.filter((cell) => cell.version !== undefined).length,
    MAX_DEMANDS,
  );
  const names = new Set<string>();
  for (const { space, name, value, version } of changes) {
    checkName(op, space, name);
    const key = `${space}\0${name}`;
    if (names.has(key)) throw new StoreError(op, `the cell ${space} ${name} is named twice; change it once`);
    names.add(key);
    if (value === undefined && version === undefined) {
      throw new StoreError(
        op,
        `the cell ${space} ${name} has neither a value nor a version; give one of them`,
      );
    }
    if (value && value.length > MAX_CELL_BYTES) {
      throw new StoreError(
        op,
        `the cell ${space} ${name} takes ${value.length} bytes, at most ${MAX_CELL_BYTES} are kept; keep less in it`,
      );
    }
  }
}

/** Refuses a write of cells that changes none, or that a store could not make. */
export function checkCellsEntry({ writeId, cells }: CellsEntry): void {
  checkKeyText("cells.write", "write id", writeId);
  checkCells("cells.write", cells);
  if (cells.every(({ value }) => value === undefined)) {
    throw new StoreError("cells.write", "no cell is set or removed; use read to look at cells");
  }
}

/** Refuses names that no cell has, and too many of them. */
export function checkCellNames(op: string, names: readonly CellName[]): void {
  checkCount(op, "names", names.length, MAX_NAMES);
  for (const { space, name } of names) checkName(op, space, name);
}

/** Refuses a listing of a space that cannot be; answers how many cells it may have. */
export function checkCellQuery(space: string, { prefix, after, limit }: CellQuery): number {
  checkKeyText("cells.list", "space", space);
  if (prefix !== undefined) checkKeyText("cells.list", "prefix", prefix);
  if (after !== undefined) checkKeyText("cells.list", "name", after);
  if (after !== undefined && !after.startsWith(prefix ?? "")) {
    throw new StoreError(
      "cells.list",
      `the name ${after} does not begin with the prefix ${prefix}; give one that does`,
    );
  }
  return limitOf("cells.list", limit);
}

/** Whether a write sets nothing and all that it removes is gone: it was made before. */
export function isRemoved(changes: readonly CellChange[], isGone: (cell: CellName) => boolean): boolean {
  return changes.every((cell) => cell.value === undefined || (cell.value === null && isGone(cell)));
}

function checkName(op: string, space: string, name: string): void {
  checkKeyText(op, "space", space);
  checkKeyText(op, "name of a cell", name);
}

function checkCount(op: string, what: string, count: number, most: number): void {
  if (count > most) throw new StoreError(op, `there are ${count} ${what}, at most ${most} are taken at once`);
}
