import { postgres, type PostgresPlace } from "../store/postgres/mod.ts";
import type { Store } from "../store/store.ts";
import { UsageError } from "./faults.ts";

/** Whether `--db` names a database server and no file. */
export function isServer(db: string): boolean {
  return /^postgres(ql)?:\/\//.test(db);
}

/**
 * Opens a database server. The schema and prefix are parameters of the URL, such as `?schema=workflows`; everything else is for
 * the driver.
 *
 * @param create Whether tables that are missing are made, or a fault.
 */
export async function openServer(db: string, create: boolean): Promise<Store> {
  const { url, place } = placeOf(db);
  return await postgres(url, { ...place, migrate: create });
}

/** The URL for the driver, and where the tables are. */
export function placeOf(db: string): { readonly url: string; readonly place: PostgresPlace } {
  const url = parsed(db);
  const place: Record<string, string> = {};
  for (const name of ["schema", "prefix"]) {
    const value = url.searchParams.get(name);
    if (value !== null) place[name] = value;
    url.searchParams.delete(name);
  }
  return { url: url.href, place };
}

/** A database as it may be shown and typed again: without the password, which the driver takes from PGPASSWORD as well. */
export function shownDatabase(db: string): string {
  if (!isServer(db)) return db;
  if (!URL.canParse(db)) return "that database";
  const url = new URL(db);
  url.password = "";
  return url.href;
}

function parsed(db: string): URL {
  try {
    return new URL(db);
  } catch {
    // The text may hold a password.
    throw new UsageError("--db is no URL; give one such as postgres://user@host/database?schema=workflows");
  }
}
