import { CheckpointNotFoundError, RevisionConflictError } from "../../errors.ts";
import { checkEmits } from "../limits.ts";
import { limitOf } from "../query.ts";
import type { Emits } from "../store.ts";
import { numberOf } from "./encode.ts";
import type { Names } from "./names.ts";
import { field, optional } from "./rows.ts";
import type { Session } from "./session.ts";

/** The channels of runs. */
export function pgEmits(session: Session, t: Names): Emits {
  return {
    async add(runId, at, write, options) {
      const call = session.begin("emits.add", runId, options);
      checkEmits(at, write);
      const { batch, dropped = [] } = write;
      const row = await session.row(
        call,
        `select ${
          t("emit")
        }($1, $2::text::bigint, $3::text::bigint, $4::text::jsonb, $5::int, $6::int, $7::bytea) as head`,
        [
          runId,
          numberOf(at.epoch),
          numberOf(at.token),
          JSON.stringify(dropped.map(({ revision, number }) => [revision, number])),
          batch?.revision ?? null,
          batch?.number ?? null,
          batch?.bytes.slice() ?? null,
        ],
      );
      const head = optional<number>(row, "head");
      if (head === null) throw new CheckpointNotFoundError(runId);
      if (head >= 0) throw new RevisionConflictError(runId, head, at.revision);
    },

    async read(runId, epoch, after, limit, options) {
      const rows = await session.rows(
        session.begin("emits.read", runId, options),
        `select e.revision, e.number, e.bytes from ${t("runs")} r join ${
          t("emits")
        } e on e.run_key = r.run_key
         where r.run_id = $1 and r.run_key = $2::text::bigint and (e.revision, e.number) > ($3::int, $4::int)
         order by e.revision, e.number limit $5::int`,
        [runId, numberOf(epoch), after?.revision ?? -1, after?.number ?? -1, limitOf("emits.read", limit)],
      );
      return rows.map((row) => ({
        revision: field(row, "revision"),
        number: field(row, "number"),
        bytes: field(row, "bytes"),
      }));
    },
  };
}
