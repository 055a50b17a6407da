import { checkKeyText } from "../limits.ts";
import type { CallOptions, Owners } from "../store.ts";
import { numberOf } from "./encode.ts";
import type { Names } from "./names.ts";
import { field } from "./rows.ts";
import type { Call, Session } from "./session.ts";

/** The owners; a beat is a number that changes, and the database's clock is kept beside it for people. */
export function pgOwners(session: Session, t: Names): Owners {
  function begin(op: string, ownerId: string, options: CallOptions | undefined): Call {
    const call = session.begin(op, undefined, options);
    checkKeyText(op, "owner id", ownerId);
    return call;
  }

  return {
    async register(ownerId, options) {
      const call = begin("register", ownerId, options);
      // The nonce tells this call, whose acknowledgement may be lost, from another process with the same id.
      const row = await session.row(call, `select ${t("register")}($1, $2) as ok`, [
        ownerId,
        session.runtime.uuid(),
      ]);
      if (field(row, "ok")) return;
      throw session.fault(call, `the owner id ${ownerId} is taken; every process needs a new one`);
    },
    async beat(ownerId, options) {
      const rows = await session.rows(
        begin("beat", ownerId, options),
        `update ${t("owners")} set beat_version = nextval('${t("stamps")}'), beat_at = clock_timestamp()
         where owner_id = $1 and alive returning 1 as one`,
        [ownerId],
      );
      return rows.length > 0;
    },
    async list(options) {
      const rows = await session.rows(
        session.begin("owners", undefined, options),
        `select owner_id, beat_version::text as beat, alive from ${t("owners")} order by owner_id`,
        [],
      );
      return rows.map((row) => ({
        ownerId: field(row, "owner_id"),
        beatVersion: field(row, "beat"),
        buried: !field(row, "alive"),
      }));
    },
    async bury(ownerId, beatVersion, options) {
      const call = begin("bury", ownerId, options);
      const values = [ownerId, numberOf(beatVersion)];
      return field(await session.row(call, `select ${t("bury")}($1, $2::text::bigint) as ok`, values), "ok");
    },
    async forget(ownerId, options) {
      await session.row(begin("forget", ownerId, options), `select ${t("forget")}($1)::text as done`, [
        ownerId,
      ]);
    },
    async ownedBy(ownerId, limit, options) {
      const rows = await session.rows(
        begin("ownedBy", ownerId, options),
        `select run_id from ${
          t("runs")
        } where owned_by = $1 and run_id > $2 order by run_id limit $3::float8`,
        [ownerId, options?.after ?? "", limit],
      );
      return rows.map((row) => field(row, "run_id"));
    },
    async takePokes(ownerId, options) {
      const call = begin("takePokes", ownerId, options);
      const rows = await session.rows(
        call,
        `select run_id, stamp::text as stamp from ${t("pokes")} where owner_id = $1 order by run_id`,
        [ownerId],
      );
      if (rows.length > 0) {
        // Read first: a poke whose answer is lost is still there.
        await session.rows(
          call,
          `delete from ${t("pokes")} p using jsonb_array_elements($2::text::jsonb) x
           where p.owner_id = $1 and p.run_id = x->>'run_id' and p.stamp = (x->>'stamp')::bigint`,
          [ownerId, JSON.stringify(rows)],
        );
      }
      return rows.map((row) => field(row, "run_id"));
    },
  };
}
