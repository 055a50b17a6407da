import type { Names } from "./names.ts";

/** Defines a function of the database. */
export function define(t: Names, name: string, parameters: string, returns: string, body: string): string {
  return `create or replace function ${
    t(name)
  }(${parameters}) returns ${returns} language plpgsql volatile as $superstep$
${body.trim()}
$superstep$;`;
}

/** What a lock is called: 1 of owners, 2 of cells; those of two places are not the same. */
export const lockOf = (t: Names, kind: number, text: string) =>
  `hashtextextended('${t("lock").replaceAll('"', "")}' || ${text}, ${kind})`;

/** A transaction that may be acknowledged before it is on the disk is none; a stronger setting than ours stays. */
export const SYNCED = `if current_setting('synchronous_commit') = 'off' then
    perform set_config('synchronous_commit', 'on', true);
  end if;`;

/** Locks cells: those that are only demanded are shared, and what is set is set by one transaction at a time. */
export function lockCells(t: Names, from: string): string {
  return `for c in select ${
    lockOf(t, 2, "(x->>'s') || ' ' || (x->>'n')")
  } as id, bool_or(x ?| '{l,d}') as sets
      from ${from} group by 1 order by 1 loop
    if c.sets then perform pg_advisory_xact_lock(c.id); else perform pg_advisory_xact_lock_shared(c.id); end if;
  end loop;`;
}
