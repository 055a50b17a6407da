import { catalogPlace, limitOf, placeOf, waitPlace } from "../query.ts";
import type { CatalogQuery, CatalogRow, Page, WaitQuery, WaitRow, WakeOptions, WakeRow } from "../store.ts";
import type { Names } from "./names.ts";
import { waitOf } from "./read.ts";
import { field, jsonOf, pageOf } from "./rows.ts";
import type { Call, Session } from "./session.ts";

/** A statement and its parameters. */
export interface Statement {
  readonly text: string;
  readonly values: unknown[];
}

/** Conditions that must all hold, with their parameters. */
class Conditions {
  readonly values: unknown[] = [];
  readonly #texts: string[] = [];

  /** Adds a condition in which each `?` is one of the values, unless the first of them is absent. */
  add(text: string, ...values: readonly unknown[]): void {
    if (values[0] === undefined) return;
    let i = 0;
    this.#texts.push(text.replaceAll("?", () => this.place(values[i++])));
  }

  /** A parameter. */
  place(value: unknown): string {
    return `$${this.values.push(value)}`;
  }

  toString(): string {
    return this.#texts.length === 0 ? "true" : this.#texts.join(" and ");
  }
}

/** The newest created first: by the index of tags where one is asked for, else by one of the catalog. */
export function listStatement(t: Names, query: CatalogQuery, limit: number): Statement {
  const after = placeOf("list", query, 1);
  const where = new Conditions();
  const by = query.tag === undefined ? "c" : "g";
  where.add("g.tag = ?", query.tag);
  where.add("c.graph_id = ?", query.graphId);
  where.add("c.status = ?", query.status);
  where.add("c.reason = ?", query.reason);
  where.add(`(${by}.created_at, ${by}.run_id) < (?::float8, ?)`, ...after ?? []);
  const from = query.tag === undefined
    ? `${t("catalog")} c`
    : `${t("tags")} g join ${t("catalog")} c on c.run_key = g.run_key`;
  return {
    text: `select c.row::text as row from ${from} where ${where}
      order by ${by}.created_at desc, ${by}.run_id desc limit ${where.place(limit + 1)}`,
    values: where.values,
  };
}

/** The oldest opened first. */
export function waitsStatement(t: Names, query: WaitQuery, limit: number): Statement {
  const after = placeOf("waits", query, 2);
  const where = new Conditions();
  where.add("w.run_id = ?", query.runId);
  where.add("w.graph_id = ?", query.graphId);
  where.add("w.name = ?", query.name);
  where.add("(w.opened_at, w.run_id, w.wait_id) > (?::float8, ?, ?)", ...after ?? []);
  return {
    text: `select w.row::text as row, w.body from ${t("waits")} w where w.closed is null and ${where}
      order by w.opened_at, w.run_id, w.wait_id limit ${where.place(limit + 1)}`,
    values: where.values,
  };
}

/** The earliest due first. */
export function wakesStatement(
  t: Names,
  until: number,
  limit: number,
  after: WakeOptions["after"],
): Statement {
  const where = new Conditions();
  where.add("r.wake_due <= ?::float8", until);
  where.add("(r.wake_due, r.run_id) > (?::float8, ?)", after?.due, after?.runId);
  return {
    text: `select r.run_id, r.wake_graph, r.wake_version, r.wake_due from ${t("runs")} r
      where r.wake_due is not null and ${where} order by r.wake_due, r.run_id limit ${where.place(limit)}`,
    values: where.values,
  };
}

export async function list(
  session: Session,
  t: Names,
  call: Call,
  query: CatalogQuery,
): Promise<Page<CatalogRow>> {
  const limit = limitOf("list", query.limit);
  const { text, values } = listStatement(t, query, limit);
  const rows = await session.rows(call, text, values);
  return pageOf(rows.map((row) => jsonOf<CatalogRow>(field(row, "row"))), limit, catalogPlace);
}

export async function waits(
  session: Session,
  t: Names,
  call: Call,
  query: WaitQuery,
): Promise<Page<WaitRow>> {
  const limit = limitOf("waits", query.limit);
  const { text, values } = waitsStatement(t, query, limit);
  const rows = await session.rows(call, text, values);
  return pageOf(rows.map((row) => waitOf(row, "row")!), limit, waitPlace);
}

export async function wakes(
  session: Session,
  t: Names,
  call: Call,
  until: number,
  limit: number,
  after: WakeOptions["after"],
): Promise<readonly WakeRow[]> {
  const { text, values } = wakesStatement(t, until, limitOf("wakes", limit), after);
  return (await session.rows(call, text, values)).map((row) => ({
    runId: field(row, "run_id"),
    graphId: field(row, "wake_graph"),
    graphVersion: field(row, "wake_version"),
    due: field(row, "wake_due"),
  }));
}
