import { StoreError } from "../../errors.ts";
import { cursorAt, type Place } from "../query.ts";
import type { Page } from "../store.ts";
import type { PgRow } from "./driver.ts";

/** A column that is never null. */
export function field<T>(row: PgRow, name: string): T {
  const value = row[name];
  if (value === undefined || value === null) {
    throw new StoreError("read", `the database holds a row without ${name}; it was not written by superstep`);
  }
  return value as T;
}

/** A column that may be null. */
export function optional<T>(row: PgRow, name: string): T | null {
  return (row[name] ?? null) as T | null;
}

/** JSON that the database answers as a text. */
export function jsonOf<T>(text: string): T {
  return JSON.parse(text) as T;
}

/** A page of rows of which one more than asked for was read, where there was one. */
export function pageOf<T>(rows: readonly T[], limit: number, place: (row: T) => Place): Page<T> {
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  return {
    rows: page,
    ...(rows.length > limit && last !== undefined ? { cursor: cursorAt(place(last)) } : {}),
  };
}
