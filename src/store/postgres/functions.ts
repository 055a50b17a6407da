import type { Names } from "./names.ts";
import { rowFunctions } from "./row_functions.ts";
import { define, lockCells, lockOf, SYNCED } from "./sql.ts";

/**
 * The functions behind every write. One call is one statement, one round trip and one transaction, which PgBouncer may give to
 * any connection. What is written comes as one JSON text and, behind one another, all bytes.
 *
 * 1. `write_many` takes its locks before it touches a row: those of owners shared, those of cells, each in one order; rows of
 *    runs follow in the order of the list. Whoever buries an owner takes its lock alone. So neither waits for the other in a
 *    circle, and an owner that is read after its lock is alive until this transaction ends (STORE-4).
 * 2. Each statement of a function sees what was committed before it began, so what is read behind a lock is what the lock holds.
 * 3. A member that is refused has written nothing, and answers what its caller needs to judge it.
 */
export function functions(t: Names): string {
  return [rowFunctions(t), append(t), post(t), together(t)].join("\n");
}

function append(t: Names): string {
  return [
    define(
      t,
      "evidence",
      "m jsonb",
      "jsonb",
      `declare r ${t("runs")}%rowtype; a ${t("records")}%rowtype;
begin
  select * into r from ${t("runs")} where run_id = m->>'r';
  if r.run_id is not null then
    select * into a from ${t("records")} where run_key = r.run_key and revision = (m->>'v')::int;
  end if;
  return jsonb_build_object('k', 'judge', 'e', r.run_key::text, 'v', r.revision, 't', r.token::text,
    'a', a.append_id, 'am', a.mailbox_version::text, 'ac', a.cells_version::text,
    'm', r.mailbox_version::text, 'mb', r.mailbox_by, 'mc', r.mailbox_cells::text,
    'w', m->>'w' is null or ${t("alive")}(m->>'w'), 'x', m->>'x' is not null and ${t("alive")}(m->>'x'),
    'cc', case when m ? 'c' then ${t("changed_cell")}(m->'c') end);
end`,
    ),
    define(
      t,
      "append_one",
      "m jsonb, b bytea",
      "jsonb",
      `declare
  rev int := (m->>'v')::int; pos int := (m->>'off')::int; len int; i int := 0;
  k bigint; stamp bigint; mv bigint; cv bigint; rec bytea; mail bytea; p jsonb;
begin
  if m ? 'no' or (m ? 'w' and not ${t("alive")}(m->>'w')) or (m ? 'x' and ${t("alive")}(m->>'x'))
    or (m ? 'c' and ${t("changed_cell")}(m->'c') is not null) then return ${t("evidence")}(m); end if;
  len := (m->>'rl')::int; rec := substring(b from pos + 1 for len); pos := pos + len;
  stamp := nextval('${t("stamps")}');
  if m ? 'c' then cv := stamp; end if;
  if m ? 'ml' then
    len := (m->>'ml')::int; mail := substring(b from pos + 1 for len); pos := pos + len;
    mv := nextval('${t("stamps")}');
  end if;
  if not m ? 'e' then
    if m->>'mv' is null then
      insert into ${t("runs")} (run_id, run_key, revision, token, owner, snapshot,
          mailbox, mailbox_version, mailbox_by, mailbox_cells)
        values (m->>'r', stamp, rev, stamp, m->>'o', (m->>'s')::int,
          mail, mv, case when m ? 'ml' then m->>'a' end, case when m ? 'ml' then cv end)
        on conflict (run_id) do nothing returning run_key into k;
    end if;
  elsif m ? 'ml' then
    update ${t("runs")} r set revision = rev, token = stamp, owner = m->>'o', snapshot = (m->>'s')::int,
        mailbox = mail, mailbox_version = mv, mailbox_by = m->>'a', mailbox_cells = cv
      where r.run_id = m->>'r' and r.run_key = (m->>'e')::bigint and r.revision = rev - 1
        and r.token = (m->>'t')::bigint and r.mailbox_version is not distinct from (m->>'mv')::bigint
      returning r.run_key into k;
  else
    update ${t("runs")} r set revision = rev, token = stamp, owner = m->>'o', snapshot = (m->>'s')::int
      where r.run_id = m->>'r' and r.run_key = (m->>'e')::bigint and r.revision = rev - 1
        and r.token = (m->>'t')::bigint
      returning r.run_key into k;
  end if;
  if k is null then return ${t("evidence")}(m); end if;
  insert into ${t("records")} values (k, rev, m->>'a', stamp, mv, cv, rec);
  if m ? 'p' then
    for p in select * from jsonb_array_elements(m->'p') loop
      len := p::int;
      insert into ${t("parts")} values (k, rev, i, substring(b from pos + 1 for len));
      pos := pos + len; i := i + 1;
    end loop;
  end if;
  if m ? 'ml' then pos := ${t("change_entries")}(k, m, b, pos); end if;
  if m ? 'i' then pos := ${t("change_index")}(k, m->'i', b, pos); end if;
  if m ? 'c' then perform ${t("set_cells")}(m->'c', b, pos, m->>'a', cv); end if;
  return jsonb_build_object('k', 'ok', 'e', k::text, 't', stamp::text, 'mv', mv::text, 'cv', cv::text);
end`,
    ),
  ].join("\n");
}

function post(t: Names): string {
  return define(
    t,
    "post_one",
    "m jsonb, b bytea",
    "jsonb",
    `declare
  pos int := (m->>'off')::int; len int := (m->>'ml')::int; k bigint; mv bigint; cv bigint;
begin
  if m ? 'no' or (m ? 'c' and ${t("changed_cell")}(m->'c') is not null) then return ${
      t("evidence")
    }(m); end if;
  mv := nextval('${t("stamps")}');
  if m ? 'c' then cv := mv; end if;
  update ${t("runs")} r set mailbox = substring(b from pos + 1 for len), mailbox_version = mv,
      mailbox_by = m->>'a', mailbox_cells = cv
    where r.run_id = m->>'r' and r.run_key = (m->>'e')::bigint
      and r.mailbox_version is not distinct from (m->>'mv')::bigint
    returning r.run_key into k;
  if k is null then return ${t("evidence")}(m); end if;
  pos := ${t("change_entries")}(k, m, b, pos + len);
  if m ? 'i' then pos := ${t("change_index")}(k, m->'i', b, pos); end if;
  if m ? 'pk' then
    insert into ${t("pokes")} select m->>'pk', m->>'r', mv
      where exists (select from ${t("owners")} where owner_id = m->>'pk')
      on conflict (owner_id, run_id) do update set stamp = excluded.stamp;
  end if;
  if m ? 'c' then perform ${t("set_cells")}(m->'c', b, pos, m->>'a', cv); end if;
  return jsonb_build_object('k', 'ok', 'mv', mv::text, 'cv', cv::text);
end`,
  );
}

function together(t: Names): string {
  return define(
    t,
    "write_many",
    "list jsonb, b bytea",
    "jsonb",
    `declare m jsonb; o text; c record; answers jsonb := '[]';
begin
  ${SYNCED}
  for o in select distinct v from jsonb_array_elements(list) l, lateral (values (l->>'w'), (l->>'x')) as t(v)
      where v is not null order by v loop
    perform pg_advisory_xact_lock_shared(${lockOf(t, 1, "o")});
  end loop;
  ${lockCells(t, "jsonb_array_elements(list) l, lateral jsonb_array_elements(l->'c') x")}
  for m in select * from jsonb_array_elements(list) loop
    answers := answers || case when m ? 'v' then ${t("append_one")}(m, b) else ${t("post_one")}(m, b) end;
  end loop;
  return answers;
end`,
  );
}
