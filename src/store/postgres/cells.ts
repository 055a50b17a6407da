import { CellConflictError } from "../../errors.ts";
import { checkCellNames, checkCellQuery, checkCellsEntry } from "../cell_limits.ts";
import type { Cell, Cells } from "../store.ts";
import type { PgRow } from "./driver.ts";
import { encodeCells, joined } from "./encode.ts";
import type { Names } from "./names.ts";
import { field, jsonOf, optional } from "./rows.ts";
import type { Session } from "./session.ts";

/** No name that begins with a prefix is behind the prefix with these. */
const LAST = "\u{10ffff}".repeat(4);

export function pgCells(session: Session, t: Names): Cells {
  return {
    async read(names, options) {
      const call = session.begin("cells.read", undefined, options);
      checkCellNames("cells.read", names);
      const rows = await session.rows(
        call,
        `select x->>0 as space, x->>1 as name, c.version::text as version, c.value
         from jsonb_array_elements($1::text::jsonb) with ordinality as l(x, i)
         left join ${t("cells")} c on c.space = x->>0 and c.name = x->>1 order by i`,
        [JSON.stringify(names.map(({ space, name }) => [space, name]))],
      );
      return rows.map((row) => optional(row, "version") === null ? null : cellOf(row));
    },
    async list(space, query, options) {
      const call = session.begin("cells.list", undefined, options);
      const limit = checkCellQuery(space, query);
      const { prefix = "", after = "" } = query;
      const rows = await session.rows(
        call,
        `select space, name, version::text as version, value from ${t("cells")}
         where space = $1 and name >= $2 and name <= $3 and name > $4 order by name limit $5::float8`,
        [space, prefix, prefix + LAST, after, limit],
      );
      return rows.map(cellOf);
    },
    async write(entry, options) {
      const call = session.begin("cells.write", undefined, options);
      checkCellsEntry(entry);
      const chunks: Uint8Array[] = [];
      const list = JSON.stringify(encodeCells(entry.cells, chunks));
      const row = await session.row(
        call,
        `select ${t("write_cells")}($1::text::jsonb, $2::bytea, $3)::text as answer`,
        [list, joined(chunks), entry.writeId],
      );
      const { v: version, cc } = jsonOf<{ v?: string; cc?: readonly [string, string] }>(field(row, "answer"));
      if (version !== undefined) return { version };
      const [space, name] = cc!;
      throw new CellConflictError(space, name);
    },
  };
}

function cellOf(row: PgRow): Cell {
  return {
    space: field(row, "space"),
    name: field(row, "name"),
    version: field(row, "version"),
    value: field(row, "value"),
  };
}
