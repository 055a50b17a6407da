import { namesAt, type PostgresPlace, REVISION } from "./names.ts";
import { field } from "./rows.ts";
import type { Call, Session } from "./session.ts";
import { postgresSchema } from "./tables.ts";

/** Makes the tables and functions, or completes them, or says who should. */
export async function open(
  session: Session,
  options: PostgresPlace & { readonly migrate?: boolean },
): Promise<void> {
  const call = session.begin("open", undefined, undefined);
  const found = await revisionAt(session, call, options);
  if (found !== undefined && found >= REVISION) return;
  if (options.migrate === false) {
    throw session.fault(
      call,
      found === undefined
        ? "its tables are not there; run what `superstep schema --print` prints on the database"
        : `its functions are of revision ${found}, this version needs ${REVISION}; ` +
          "run what `superstep schema --print` prints on the database",
    );
  }
  await session.script(call, postgresSchema(options));
}

/** The revision of the layout, `undefined` where there is none. */
async function revisionAt(
  session: Session,
  call: Call,
  options: PostgresPlace,
): Promise<number | undefined> {
  const layout = namesAt(options)("layout");
  const { there } = await session.row(call, "select to_regclass($1) is not null as there", [layout]);
  if (there !== true) return undefined;
  const [row] = await session.rows(call, `select revision from ${layout}`, []);
  return row && field<number>(row, "revision");
}
