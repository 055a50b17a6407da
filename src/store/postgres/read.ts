import { CheckpointNotFoundError } from "../../errors.ts";
import { checkKeyText } from "../limits.ts";
import type {
  ClosedWait,
  Inspection,
  MailboxEntry,
  PartRef,
  Position,
  StoredMailbox,
  StoredRecord,
  Tail,
  WaitLookup,
  WaitRow,
} from "../store.ts";
import type { PgRow } from "./driver.ts";
import type { Names } from "./names.ts";
import { field, jsonOf, optional } from "./rows.ts";
import type { Call, Session } from "./session.ts";

/** Each read is one statement, which sees one moment. */
export interface Readers {
  tail(call: Call, runId: string): Promise<Tail | undefined>;
  range(call: Call, runId: string, from: number, limit: number): Promise<readonly StoredRecord[]>;
  parts(call: Call, runId: string, epoch: string, refs: readonly PartRef[]): Promise<readonly Uint8Array[]>;
  inspect(call: Call, runId: string, revision: number, writer: string | undefined): Promise<Inspection>;
  wait(call: Call, runId: string, waitId: string): Promise<WaitLookup>;
}

const MAX_INT = 2 ** 31 - 1;

/** The kind of the rows of records. */
const RECORD = 1;

export function readers(session: Session, t: Names): Readers {
  const head = `r.revision::bigint as n, r.run_key::text as epoch, r.token::text as token, r.owner,
    r.mailbox_version::text as version, r.mailbox as bytes`;
  const entries =
    `select 2 as kind, e.id as n, e.id::text as epoch, null as token, null as owner, null as version, e.bytes
    from ${t("runs")} r join ${t("entries")} e on e.run_key = r.run_key where r.run_id = $1`;

  return {
    async tail(call, runId) {
      const [row, ...rows] = await session.rows(
        call,
        `select 0 as kind, ${head} from ${t("runs")} r where r.run_id = $1
         union all
         select 1, x.revision::bigint, x.append_id, null, null, null, x.bytes from ${t("runs")} r
           join ${t("records")} x on x.run_key = r.run_key and x.revision >= r.snapshot where r.run_id = $1
         union all ${entries}
         order by kind, n`,
        [runId],
      );
      if (row === undefined) return undefined;
      return {
        ...headOf(row)!,
        mailbox: mailboxOf(row, rows.filter(({ kind }) => kind !== RECORD)),
        records: rows.filter(({ kind }) => kind === RECORD).map((record) => ({
          revision: Number(field(record, "n")),
          appendId: field(record, "epoch"),
          bytes: field(record, "bytes"),
        })),
      };
    },

    async range(call, runId, from, limit) {
      const rows = await session.rows(
        call,
        `select x.revision, x.append_id, x.bytes from ${t("runs")} r join ${
          t("records")
        } x on x.run_key = r.run_key
         where r.run_id = $1 and x.revision >= greatest($2::float8, r.first_revision)
           and x.revision < greatest($2::float8, r.first_revision) + $3::float8 order by x.revision`,
        [runId, from, limit],
      );
      return rows.map((row) => ({
        revision: field(row, "revision"),
        appendId: field(row, "append_id"),
        bytes: field(row, "bytes"),
      }));
    },

    async parts(call, runId, epoch, refs) {
      const rows = await session.rows(
        call,
        `select 0 as n, null::bytea as bytes from ${t("runs")} where run_id = $1 and run_key::text = $2
         union all
         select x.n::int, p.bytes from ${t("runs")} r,
           jsonb_array_elements($3::text::jsonb) with ordinality as x(v, n), ${t("parts")} p
         where r.run_id = $1 and r.run_key::text = $2 and p.run_key = r.run_key
           and p.revision = (x.v->>0)::int and p.index = (x.v->>1)::int`,
        [runId, epoch, JSON.stringify(refs.map(({ revision, index }) => [revision, index]))],
      );
      const found = new Map(rows.map((row) => [field<number>(row, "n"), optional<Uint8Array>(row, "bytes")]));
      if (!found.has(0)) throw new CheckpointNotFoundError(runId);
      return refs.map(({ revision, index }, i) => {
        const bytes = found.get(i + 1);
        if (!bytes) throw session.fault(call, `revision ${revision} has no part ${index}`);
        return bytes;
      });
    },

    async inspect(call, runId, revision, writer) {
      const [row, ...rows] = await session.rows(
        call,
        `select 0 as kind, ${head},
           (select append_id from ${
          t("records")
        } x where x.run_key = r.run_key and x.revision = $2::int) as append_id,
           $3::text is null or ${t("alive")}($3) as writer
         from (select) as one left join ${t("runs")} r on r.run_id = $1
         union all select *, null, null from (${entries}) as e
         order by kind, n`,
        [runId, revision > MAX_INT ? -1 : revision, writer ?? null],
      );
      return {
        head: headOf(row!),
        appendId: optional(row!, "append_id"),
        mailbox: mailboxOf(row!, rows),
        writer: field(row!, "writer"),
      };
    },

    async wait(call, runId, waitId) {
      checkKeyText("wait", "wait id", waitId);
      const row = await session.row(
        call,
        `select ${head}, w.row::text as open, w.body, w.closed::text as closed from (select) as one
           left join ${t("runs")} r on r.run_id = $1
           left join ${t("waits")} w on w.run_key = r.run_key and w.wait_id = $2`,
        [runId, waitId],
      );
      const closed = optional<string>(row, "closed");
      const mailbox = mailboxOf(row, []);
      return {
        head: headOf(row),
        mailbox: mailbox && { version: mailbox.version, value: mailbox.value },
        open: closed === null ? waitOf(row, "open") : null,
        closed: closed === null ? null : jsonOf<ClosedWait>(closed),
      };
    },
  };
}

/** The row of a wait in a column, with its body. */
export function waitOf(row: PgRow, column: string): WaitRow | null {
  const text = optional<string>(row, column);
  if (text === null) return null;
  return { ...jsonOf<Omit<WaitRow, "body">>(text), body: field(row, "body") };
}

function headOf(row: PgRow): { readonly position: Position; readonly owner: string | null } | null {
  const epoch = optional<string>(row, "epoch");
  if (epoch === null) return null;
  return {
    position: { revision: Number(field(row, "n")), epoch, token: field(row, "token") },
    owner: optional(row, "owner"),
  };
}

function mailboxOf(row: PgRow, entries: readonly PgRow[]): StoredMailbox | null {
  const version = optional<string>(row, "version");
  if (version === null) return null;
  return {
    version,
    value: field(row, "bytes"),
    entries: entries.map((entry): MailboxEntry => ({
      id: field(entry, "epoch"),
      value: field(entry, "bytes"),
    })),
  };
}
