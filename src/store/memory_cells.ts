import { CellConflictError } from "../errors.ts";
import type { Cell, CellChange, CellName, Cells } from "./cells.ts";
import { checkCellNames, checkCellQuery, checkCellsEntry, isRemoved } from "./cell_limits.ts";
import { checkSignal } from "./signal.ts";

interface MemoryCell extends Cell {
  /** The id of the append, post or write that set it. */
  readonly writeId: string;
}

/** The cells of a memory store, with what appends and posts ask of them. */
export interface MemoryCells extends Cells {
  /** The first cell that has not the version demanded. */
  changed(changes: readonly CellChange[] | undefined): CellName | undefined;
  /** Sets cells whose demands hold; answers their version. */
  set(changes: readonly CellChange[], writeId: string): string;
}

/** Cells kept in maps. */
export function memoryCells(
  open: (op: string) => void,
  nextVersion: () => string,
): MemoryCells {
  const spaces = new Map<string, Map<string, MemoryCell>>();
  const at = ({ space, name }: CellName) => spaces.get(space)?.get(name);

  function changed(changes: readonly CellChange[] = []): CellName | undefined {
    return changes.find((change) =>
      change.version !== undefined && change.version !== (at(change)?.version ?? null)
    );
  }

  function set(changes: readonly CellChange[], writeId: string): string {
    const version = nextVersion();
    for (const { space, name, value } of changes) {
      if (value === null) spaces.get(space)?.delete(name);
      if (value === undefined || value === null) continue;
      let cells = spaces.get(space);
      if (cells === undefined) spaces.set(space, cells = new Map());
      cells.set(name, { space, name, version, value: value.slice(), writeId });
    }
    return version;
  }

  return {
    changed,
    set,

    // deno-lint-ignore require-await
    async read(names, options) {
      open("cells.read");
      checkSignal("cells.read", options);
      checkCellNames("cells.read", names);
      return names.map((name) => {
        const cell = at(name);
        return cell === undefined ? null : copyCell(cell);
      });
    },

    // deno-lint-ignore require-await
    async list(space, query, options) {
      open("cells.list");
      checkSignal("cells.list", options);
      const limit = checkCellQuery(space, query);
      const { prefix = "", after = "" } = query;
      return [...spaces.get(space)?.values() ?? []]
        .filter(({ name }) => name.startsWith(prefix) && compareTexts(name, after) > 0)
        .sort((a, b) => compareTexts(a.name, b.name))
        .slice(0, limit)
        .map(copyCell);
    },

    // deno-lint-ignore require-await
    async write(entry, options) {
      open("cells.write");
      checkSignal("cells.write", options);
      checkCellsEntry(entry);
      const { writeId, cells } = entry;
      const own = cells.map(at).find((cell, i) => cells[i]!.value && cell?.writeId === writeId);
      if (own !== undefined) return { version: own.version };
      const conflict = changed(cells);
      if (conflict === undefined) return { version: set(cells, writeId) };
      if (isRemoved(cells, (cell) => at(cell) === undefined)) return { version: nextVersion() };
      throw new CellConflictError(conflict.space, conflict.name);
    },
  };
}

function copyCell({ space, name, version, value }: Cell): Cell {
  return { space, name, version, value: value.slice() };
}

/** Orders texts by their UTF-8 bytes, which is the order of their code points. */
function compareTexts(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const [x, y] = [a.charCodeAt(i), b.charCodeAt(i)];
    // A surrogate stands for a code point above all others.
    if (x !== y) return isSurrogate(x) === isSurrogate(y) ? x - y : isSurrogate(x) ? 1 : -1;
  }
  return a.length - b.length;
}

function isSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdfff;
}
