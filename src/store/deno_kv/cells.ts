import { CellConflictError } from "../../errors.ts";
import { checkCellNames, checkCellQuery, checkCellsEntry, isRemoved } from "../cell_limits.ts";
import type { Cell, CellChange, CellName, Cells } from "../cells.ts";
import type { KvEntry } from "./driver.ts";
import { corrupt, frame, unframe } from "./frame.ts";
import { cellKey, cellSpace } from "./keys.ts";
import type { Check, Write } from "./op.ts";
import type { Session } from "./session.ts";

/** Cells as keys, whose versions are their versionstamps. */
export function kvCells(session: Session): Cells {
  return {
    read: (names, options) =>
      session.run("cells.read", undefined, options, async (call) => {
        checkCellNames("cells.read", names);
        const entries = await session.getMany(call, names.map(cellKey));
        return entries.map((entry, i) => cellOf(entry, names[i]!) ?? null);
      }),

    list: (space, query, options) =>
      session.run("cells.list", undefined, options, async (call) => {
        const limit = checkCellQuery(space, query);
        const { prefix = "", after } = query;
        const root = cellSpace(space);
        // The first key behind a text is that text with a NUL, which no name holds.
        const start = [...root, after === undefined ? prefix : `${after}\0`];
        const entries = await session.list(call, { start, end: [...root, true] }, limit);
        const cells: Cell[] = [];
        for (const entry of entries) {
          const name = entry.key.at(-1);
          if (typeof name !== "string") throw corrupt("a cell");
          if (!name.startsWith(prefix)) break;
          cells.push(cellOf(entry, { space, name })!);
        }
        return cells;
      }),

    write: (entry, options) =>
      session.run("cells.write", undefined, options, async (call) => {
        checkCellsEntry(entry);
        const { writeId, cells } = entry;
        const op = { checks: cellChecks(cells), writes: cellWrites(cells, writeId) };
        return await session.settle(call, "cells", {
          build: () => op,
          done: (version) => ({ version }),
          judge: async () => {
            const entries = await session.getMany(call, cells.map(cellKey));
            const own = entries.find((found, i) => cells[i]!.value && writerOf(found) === writeId);
            if (own !== undefined) return { value: { version: own.versionstamp! } };
            const conflict = changedCell(cells, entries);
            if (conflict === undefined) return undefined;
            const isGone = (cell: CellName) => entries[cells.indexOf(cell)]?.versionstamp === null;
            if (isRemoved(cells, isGone)) return { value: { version: entries[0]!.versionstamp ?? GONE } };
            throw new CellConflictError(conflict.space, conflict.name);
          },
        });
      }),
  };
}

/** The version of no cell. */
const GONE = "gone";

/** What changes of cells demand of the operation that makes them. */
export function cellChecks(changes: readonly CellChange[]): Check[] {
  const checks: Check[] = [];
  for (const change of changes) {
    if (change.version !== undefined) checks.push({ key: cellKey(change), versionstamp: change.version });
  }
  return checks;
}

/** What changes of cells write, under the id of the append, post or write that makes them. */
export function cellWrites(changes: readonly CellChange[], writeId: string): Write[] {
  const writes: Write[] = [];
  for (const change of changes) {
    const { value } = change;
    if (value === undefined) continue;
    writes.push({ key: cellKey(change), value: value === null ? null : frame([writeId], value) });
  }
  return writes;
}

/** The first cell that has not the version demanded, by the entries of all of them. */
export function changedCell(
  changes: readonly CellChange[],
  entries: readonly KvEntry[],
): CellName | undefined {
  return changes.find(({ version }, i) => version !== undefined && version !== entries[i]!.versionstamp);
}

function cellOf({ value, versionstamp }: KvEntry, { space, name }: CellName): Cell | undefined {
  if (versionstamp === null) return undefined;
  return { space, name, version: versionstamp, value: unframe(value, "a cell").body.slice() };
}

function writerOf({ value, versionstamp }: KvEntry): unknown {
  return versionstamp === null ? undefined : unframe(value, "a cell").meta[0];
}
