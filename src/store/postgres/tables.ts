import { LAYOUT, type Names, namesAt, type PostgresPlace, REVISION, schemaAt } from "./names.ts";
import { functions } from "./functions.ts";

/**
 * The statements that make or complete the tables and functions at a place; they may be run again at any time. They are one
 * transaction under a lock, so that processes that begin together make them once.
 *
 * @example
 * ```ts
 * assert.match(postgresSchema({ schema: "workflows" }), /create table if not exists "workflows"\."v1_runs"/);
 * ```
 */
export function postgresSchema(place: PostgresPlace = {}): string {
  const t = namesAt(place);
  return [
    `select pg_advisory_xact_lock(hashtextextended('superstep migration', ${LAYOUT}));`,
    `create schema if not exists ${schemaAt(place)};`,
    tables(t),
    functions(t),
    `insert into ${
      t("layout")
    } values (true, ${REVISION}) on conflict (one) do update set revision = excluded.revision;`,
  ].join("\n");
}

/**
 * What a role needs that runs workflows and may not change tables.
 *
 * @param role The name of the role, which exists.
 */
export function postgresGrants(role: string, place: PostgresPlace = {}): string {
  const schema = schemaAt(place);
  const to = `"${role.replaceAll('"', '""')}"`;
  return [
    `grant usage on schema ${schema} to ${to};`,
    `grant select, insert, update, delete on all tables in schema ${schema} to ${to};`,
    `grant usage on all sequences in schema ${schema} to ${to};`,
  ].join("\n");
}

/**
 * `runs` is the head, the mailbox, the wake and the owner of a run: one row that a step updates, with room in its page so
 * that no index notices. Everything else of a run hangs on its `run_key`, which no other run ever had: it is the epoch.
 * Numbers of `stamps` are tokens and versions. Ids are compared byte by byte, as every store orders them.
 */
function tables(t: Names): string {
  return `
create table if not exists ${t("layout")} (one boolean primary key, revision int not null);
create sequence if not exists ${t("stamps")};

create table if not exists ${t("runs")} (
  run_id text collate "C" primary key,
  run_key bigint not null unique,
  revision int not null,
  token bigint not null,
  owner text,
  snapshot int not null,
  first_revision int not null default 0,
  mailbox bytea, mailbox_version bigint, mailbox_by text, mailbox_cells bigint,
  owned_by text collate "C",
  wake_due double precision, wake_graph text, wake_version text,
  leased_until timestamptz
) with (fillfactor = 50);
create index if not exists ${only(t("runs_owned"))} on ${
    t("runs")
  } (owned_by, run_id) where owned_by is not null;
create index if not exists ${only(t("runs_wake"))} on ${
    t("runs")
  } (wake_due, run_id) where wake_due is not null;
create index if not exists ${only(t("runs_wake_graph"))} on ${
    t("runs")
  } (wake_graph, wake_version, wake_due, run_id)
  where wake_due is not null;

create table if not exists ${t("records")} (
  run_key bigint not null, revision int not null, append_id text not null,
  token bigint not null, mailbox_version bigint, cells_version bigint,
  bytes bytea not null, primary key (run_key, revision)
);
alter table ${t("records")} alter bytes set storage external;

create table if not exists ${t("parts")} (
  run_key bigint not null, revision int not null, index int not null,
  bytes bytea not null, primary key (run_key, revision, index)
);
alter table ${t("parts")} alter bytes set storage external;

create table if not exists ${t("entries")} (
  run_key bigint not null, id bigint not null, bytes bytea not null, primary key (run_key, id)
);
alter table ${t("entries")} alter bytes set storage external;

create table if not exists ${t("catalog")} (
  run_key bigint primary key,
  run_id text collate "C" not null,
  graph_id text collate "C" not null,
  status text collate "C" not null,
  reason text collate "C",
  created_at double precision not null,
  row json not null
) with (fillfactor = 80);
create index if not exists ${only(t("catalog_created"))} on ${t("catalog")} (created_at, run_id);
create index if not exists ${only(t("catalog_graph"))} on ${t("catalog")} (graph_id, created_at, run_id);
create index if not exists ${only(t("catalog_status"))} on ${t("catalog")} (status, created_at, run_id);
create index if not exists ${only(t("catalog_reason"))} on ${t("catalog")} (reason, created_at, run_id)
  where reason is not null;

create table if not exists ${t("tags")} (
  run_key bigint not null, tag text collate "C" not null, created_at double precision not null,
  run_id text collate "C" not null, primary key (run_key, tag)
);
create index if not exists ${only(t("tags_created"))} on ${t("tags")} (tag, created_at, run_id);

create table if not exists ${t("waits")} (
  run_key bigint not null, wait_id text collate "C" not null, run_id text collate "C" not null,
  opened_at double precision not null, graph_id text collate "C", name text collate "C",
  row json, body bytea, closed json, primary key (run_key, wait_id)
);
alter table ${t("waits")} alter body set storage external;
create index if not exists ${only(t("waits_opened"))} on ${t("waits")} (opened_at, run_id, wait_id)
  where closed is null;
create index if not exists ${only(t("waits_run"))} on ${t("waits")} (run_id, opened_at, wait_id)
  where closed is null;
create index if not exists ${only(t("waits_graph"))} on ${t("waits")} (graph_id, opened_at, run_id, wait_id)
  where closed is null;
create index if not exists ${only(t("waits_name"))} on ${t("waits")} (name, opened_at, run_id, wait_id)
  where closed is null;

create table if not exists ${t("emits")} (
  run_key bigint not null, revision int not null, number int not null, bytes bytea not null,
  primary key (run_key, revision, number)
);
alter table ${t("emits")} alter bytes set storage external;

create table if not exists ${t("owners")} (
  owner_id text collate "C" primary key, nonce text not null, beat_version bigint not null,
  beat_at timestamptz not null default clock_timestamp(), alive boolean not null
);
create table if not exists ${t("pokes")} (
  owner_id text collate "C" not null, run_id text collate "C" not null, stamp bigint not null,
  primary key (owner_id, run_id)
);
create table if not exists ${t("cells")} (
  space text collate "C" not null, name text collate "C" not null, version bigint not null,
  write_id text not null, value bytea not null, primary key (space, name)
);
alter table ${t("cells")} alter value set storage external;
`;
}

/** An index is named without its schema, which is that of its table. */
function only(name: string): string {
  return name.slice(name.indexOf(".") + 1);
}
