import type { Names } from "./names.ts";
import { define, lockCells, lockOf, SYNCED } from "./sql.ts";

/** Functions that change what hangs on a run, owners and cells. */
export function rowFunctions(t: Names): string {
  return [guards(t), index(t), owners(t), cells(t), emits(t), leases(t), removal(t)].join("\n");
}

function guards(t: Names): string {
  return [
    define(
      t,
      "alive",
      "o text",
      "boolean",
      `begin return exists (select from ${t("owners")} where owner_id = o and alive); end`,
    ),
    define(
      t,
      "changed_cell",
      "list jsonb",
      "jsonb",
      `begin
  return (
    select jsonb_build_array(x->>'s', x->>'n') from jsonb_array_elements(list) with ordinality as l(x, i)
    left join ${t("cells")} c on c.space = x->>'s' and c.name = x->>'n'
    where x ? 'v' and c.version is distinct from (x->>'v')::bigint order by i limit 1
  );
end`,
    ),
    define(
      t,
      "set_cells",
      "list jsonb, b bytea, start int, writer text, stamp bigint",
      "int",
      `declare x jsonb; len int; pos int := start;
begin
  for x in select * from jsonb_array_elements(list) loop
    if x ? 'l' then
      len := (x->>'l')::int;
      insert into ${t("cells")} values (x->>'s', x->>'n', stamp, writer, substring(b from pos + 1 for len))
        on conflict (space, name) do update
        set version = excluded.version, write_id = excluded.write_id, value = excluded.value;
      pos := pos + len;
    elsif x ? 'd' then
      delete from ${t("cells")} where space = x->>'s' and name = x->>'n';
    end if;
  end loop;
  return pos;
end`,
    ),
  ].join("\n");
}

function index(t: Names): string {
  return [
    define(
      t,
      "close_waits",
      "k bigint, list jsonb",
      "void",
      `begin
  insert into ${t("waits")} (run_key, wait_id, run_id, opened_at, closed)
  select k, c->>'waitId', c->>'runId', (c->>'openedAt')::float8, c::json from jsonb_array_elements(list) c
  on conflict (run_key, wait_id) do update set closed = excluded.closed, body = null, row = null;
end`,
    ),
    define(
      t,
      "set_wake",
      "k bigint, w jsonb",
      "void",
      `begin
  update ${t("runs")} set wake_due = (w->>'due')::float8, wake_graph = w->>'graphId',
    wake_version = w->>'graphVersion', leased_until = null where run_key = k;
end`,
    ),
    define(
      t,
      "set_catalog",
      "k bigint, c jsonb",
      "void",
      `begin
  insert into ${t("catalog")} values
    (k, c->>'runId', c->>'graphId', c->>'status', c->>'reason', (c->>'createdAt')::float8, c::json)
    on conflict (run_key) do update set graph_id = excluded.graph_id, status = excluded.status,
      reason = excluded.reason, created_at = excluded.created_at, row = excluded.row;
  if jsonb_array_length(c->'tags') > 0 or exists (select from ${t("tags")} where run_key = k) then
    delete from ${t("tags")} where run_key = k and not c->'tags' ? tag;
    insert into ${t("tags")}
      select distinct k, x, (c->>'createdAt')::float8, c->>'runId' from jsonb_array_elements_text(c->'tags') x
      on conflict do nothing;
  end if;
end`,
    ),
    define(
      t,
      "change_index",
      "k bigint, i jsonb, b bytea, start int",
      "int",
      `declare x jsonb; len int; pos int := start;
begin
  if i ? 'c' then perform ${t("set_catalog")}(k, i->'c'); end if;
  for x in select * from jsonb_array_elements(coalesce(i->'op', '[]')) loop
    len := (x->>'bl')::int;
    insert into ${t("waits")} (run_key, wait_id, run_id, opened_at, graph_id, name, row, body)
      values (k, x->>'waitId', x->>'runId', (x->>'openedAt')::float8, x->>'graphId', x->>'name',
        (x - 'bl')::json, substring(b from pos + 1 for len))
      on conflict (run_key, wait_id) do update set opened_at = excluded.opened_at, row = excluded.row,
        body = excluded.body, graph_id = excluded.graph_id, name = excluded.name, closed = null;
    pos := pos + len;
  end loop;
  if i ? 'cl' then perform ${t("close_waits")}(k, i->'cl'); end if;
  if i ? 'wk' then perform ${t("set_wake")}(k, i->'wk'); end if;
  if i ? 'ow' then update ${t("runs")} set owned_by = i->'ow'->>'to' where run_key = k; end if;
  return pos;
end`,
    ),
    define(
      t,
      "change_entries",
      "k bigint, m jsonb, b bytea, start int",
      "int",
      `declare x jsonb; len int; pos int := start;
begin
  if m ? 'mt' then
    delete from ${t("entries")} e using jsonb_array_elements_text(m->'mt') g
      where e.run_key = k and e.id = g::bigint;
  end if;
  for x in select * from jsonb_array_elements(coalesce(m->'mp', '[]')) loop
    len := x::int;
    insert into ${t("entries")} values (k, nextval('${t("stamps")}'), substring(b from pos + 1 for len));
    pos := pos + len;
  end loop;
  return pos;
end`,
    ),
  ].join("\n");
}

function cells(t: Names): string {
  return define(
    t,
    "write_cells",
    "list jsonb, b bytea, writer text",
    "jsonb",
    `declare c record; stamp bigint; conflict jsonb;
begin
  ${SYNCED}
  ${lockCells(t, "jsonb_array_elements(list) x")}
  select cell.version into stamp from jsonb_array_elements(list) x
    join ${t("cells")} cell on cell.space = x->>'s' and cell.name = x->>'n'
    where x ? 'l' and cell.write_id = writer limit 1;
  if stamp is not null then return jsonb_build_object('v', stamp::text); end if;
  conflict := ${t("changed_cell")}(list);
  stamp := nextval('${t("stamps")}');
  if conflict is null then
    perform ${t("set_cells")}(list, b, 0, writer, stamp);
  elsif exists (
    select from jsonb_array_elements(list) x where x ? 'l' or (x ? 'd' and exists (
      select from ${t("cells")} cell where cell.space = x->>'s' and cell.name = x->>'n'))
  ) then
    return jsonb_build_object('cc', conflict);
  end if;
  return jsonb_build_object('v', stamp::text);
end`,
  );
}

function owners(t: Names): string {
  return [
    define(
      t,
      "register",
      "o text, n text",
      "boolean",
      `begin
  ${SYNCED}
  perform pg_advisory_xact_lock(${lockOf(t, 1, "o")});
  insert into ${t("owners")} values (o, n, nextval('${t("stamps")}'), clock_timestamp(), true)
    on conflict do nothing;
  return (select nonce = n and alive from ${t("owners")} where owner_id = o);
end`,
    ),
    define(
      t,
      "bury",
      "o text, v bigint",
      "boolean",
      `begin
  ${SYNCED}
  perform pg_advisory_xact_lock(${lockOf(t, 1, "o")});
  update ${t("owners")} set alive = false where owner_id = o and beat_version = v;
  return found;
end`,
    ),
    define(
      t,
      "forget",
      "o text",
      "void",
      `begin
  ${SYNCED}
  perform pg_advisory_xact_lock(${lockOf(t, 1, "o")});
  delete from ${t("owners")} where owner_id = o;
  delete from ${t("pokes")} where owner_id = o;
  update ${t("runs")} set owned_by = null where run_id in
    (select run_id from ${t("runs")} where owned_by = o order by run_id for update);
end`,
    ),
  ].join("\n");
}

/** Answers -1 when it was done, the head that is another one, or null where there is no such run. */
function emits(t: Names): string {
  return define(
    t,
    "emit",
    "id text, epoch bigint, head bigint, dropped jsonb, rev int, num int, b bytea",
    "int",
    `declare r ${t("runs")}%rowtype;
begin
  select * into r from ${t("runs")} where run_id = id and run_key = epoch for share;
  if r.run_id is null then return null; end if;
  if r.token <> head then return r.revision; end if;
  delete from ${t("emits")} e using jsonb_array_elements(dropped) x
    where e.run_key = epoch and e.revision = (x->>0)::int and e.number = (x->>1)::int;
  if b is not null then
    insert into ${t("emits")} values (epoch, rev, num, b)
      on conflict (run_key, revision, number) do update set bytes = excluded.bytes;
  end if;
  return -1;
end`,
  );
}

/**
 * Rows that others have locked are due to them: they are skipped, here and when leases come back, so that nobody waits. The
 * lease is not in an index, so that to take one is an update in place.
 */
function leases(t: Names): string {
  return define(
    t,
    "lease",
    "keys jsonb, until float8, lim int, ms float8, back jsonb",
    "jsonb",
    `declare answer jsonb; upcoming float8;
begin
  if jsonb_array_length(back) > 0 then
    update ${t("runs")} set leased_until = null where run_id in (
      select r.run_id from ${t("runs")} r join jsonb_array_elements(back) x on r.run_id = x->>0
      where r.wake_due = (x->>1)::float8 and r.leased_until is not null for update of r skip locked);
  end if;
  with wanted as (select x->>0 as g, x->>1 as v from jsonb_array_elements(keys) x),
  due as (
    select d.run_id, d.wake_due, wanted.g, wanted.v from wanted cross join lateral (
      select r.run_id, r.wake_due from ${t("runs")} r
      where r.wake_graph = wanted.g and r.wake_version = wanted.v and r.wake_due <= until
        and (r.leased_until is null or r.leased_until < clock_timestamp())
      order by r.wake_due, r.run_id limit lim for update skip locked
    ) d order by d.wake_due, d.run_id limit lim),
  taken as (
    update ${t("runs")} r set leased_until = clock_timestamp() + ms * interval '1 millisecond'
    from due where r.run_id = due.run_id returning due.*)
  select jsonb_agg(jsonb_build_array(run_id, g, v, wake_due) order by wake_due, run_id) into answer from taken;
  select min(d.wake_due) into upcoming
  from (select x->>0 as g, x->>1 as v from jsonb_array_elements(keys) x) wanted cross join lateral (
    select r.wake_due from ${t("runs")} r
    where r.wake_graph = wanted.g and r.wake_version = wanted.v and r.wake_due > until order by r.wake_due limit 1
  ) d;
  return jsonb_build_object('rows', coalesce(answer, '[]'), 'next', upcoming);
end`,
  );
}

function removal(t: Names): string {
  return [
    define(
      t,
      "trim",
      "id text, epoch bigint, cut int, keep jsonb",
      "text",
      `declare r ${t("runs")}%rowtype;
begin
  ${SYNCED}
  select * into r from ${t("runs")} where run_id = id for update;
  if r.run_id is null or r.run_key <> epoch then return 'none'; end if;
  if cut > r.snapshot then return r.snapshot::text; end if;
  if cut <= r.first_revision then return 'ok'; end if;
  update ${t("runs")} set first_revision = cut where run_key = epoch;
  delete from ${t("records")} where run_key = epoch and revision < cut;
  delete from ${t("parts")} p where p.run_key = epoch and p.revision < cut and not exists (
    select from jsonb_array_elements(keep) x where (x->>0)::int = p.revision and (x->>1)::int = p.index);
  return 'ok';
end`,
    ),
    define(
      t,
      "purge",
      "id text, epoch text",
      "void",
      `declare k bigint;
begin
  ${SYNCED}
  delete from ${t("runs")} r where r.run_id = id and (epoch is null or r.run_key::text = epoch)
    returning r.run_key into k;
  if k is null then return; end if;
${
        ["records", "parts", "entries", "emits", "catalog", "tags", "waits"]
          .map((name) => `  delete from ${t(name)} where run_key = k;`).join("\n")
      }
end`,
    ),
  ].join("\n");
}
