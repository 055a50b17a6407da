import { limitOf } from "../query.ts";
import type { Leases } from "../store.ts";
import type { Names } from "./names.ts";
import { field, jsonOf } from "./rows.ts";
import type { Session } from "./session.ts";

/** What the database answers: ids of run and graph, version, and when the run was due. */
type Taken = readonly [runId: string, graphId: string, graphVersion: string, due: number];

/** Due runs for one process at a time, by the clock of the database. */
export function pgLeases(session: Session, t: Names): Leases {
  return {
    async take({ keys, until, limit, forMs, back = [] }, options) {
      const row = await session.row(
        session.begin("leases.take", undefined, options),
        `select ${
          t("lease")
        }($1::text::jsonb, $2::float8, $3::int, $4::float8, $5::text::jsonb)::text as answer`,
        [
          JSON.stringify(keys.map(({ graphId, graphVersion }) => [graphId, graphVersion])),
          until,
          limitOf("leases.take", limit),
          forMs,
          JSON.stringify(back.map(({ runId, due }) => [runId, due])),
        ],
      );
      const { rows, next } = jsonOf<{ readonly rows: readonly Taken[]; readonly next: number | null }>(
        field(row, "answer"),
      );
      return {
        rows: rows.map(([runId, graphId, graphVersion, due]) => ({ runId, graphId, graphVersion, due })),
        ...(next === null ? {} : { next }),
      };
    },
  };
}
