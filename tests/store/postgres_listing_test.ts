// Runs on deno by default: the database plans what it reads, and no runtime has a part in that.
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  listStatement,
  type Statement,
  waitsStatement,
  wakesStatement,
} from "../../src/store/postgres/listing.ts";
import { namesAt } from "../../src/store/postgres/names.ts";
import { effort } from "../support/effort.ts";
import { NO_POSTGRES, openPostgres, POSTGRES_BIN } from "../support/postgres.ts";

const RUNS = effort(20_000, 100_000);

/** Fills a schema with runs of two graphs: one in 20 interrupted with an open wait and a wake, one in 100 tagged. */
const filled = (schema: string) => {
  const t = namesAt({ schema });
  return `
    insert into ${
    t("runs")
  } (run_id, run_key, revision, token, snapshot, wake_due, wake_graph, wake_version, owned_by)
      select 'r' || i, i, 0, i, 0, case when i % 20 = 0 then i end, 'g' || i % 2, 'v1', case when i % 50 = 1 then 'o' || i % 4 end
      from generate_series(1, ${RUNS}) i;
    insert into ${t("catalog")} select i, 'r' || i, 'g' || i % 2,
      case when i % 20 = 0 then 'interrupted' else 'completed' end, case when i % 20 = 0 then 'awaiting' end, i,
      json_build_object('runId', 'r' || i, 'createdAt', i, 'tags', json_build_array())
      from generate_series(1, ${RUNS}) i;
    insert into ${t("tags")} select i, 'vip', i, 'r' || i from generate_series(1, ${RUNS}, 100) i;
    insert into ${t("waits")} (run_key, wait_id, run_id, opened_at, graph_id, name, row, body)
      select i, 'w', 'r' || i, i, 'g' || i % 2, 'n' || i % 3, json_build_object('runId', 'r' || i, 'waitId', 'w', 'openedAt', i), ''
      from generate_series(1, ${RUNS}, 20) i;
    analyze ${["runs", "catalog", "tags", "waits"].map(t).join(", ")};`;
};

if (POSTGRES_BIN === undefined) test(NO_POSTGRES, () => {});
else {
  test(`every listing over ${RUNS} runs reads its page by an index, in order (S1, S7)`, async () => {
    const { store, schema, query, queryWith, cleanup } = await openPostgres();
    await query(filled(schema));
    const t = namesAt({ schema });
    const [page] = [await store.list({ limit: 100 })];
    const cursor = page.cursor!;
    const statements: Readonly<Record<string, Statement>> = {
      "all runs": listStatement(t, {}, 100),
      "runs behind a cursor": listStatement(t, { cursor }, 100),
      "runs of a graph": listStatement(t, { graphId: "g1", cursor }, 100),
      "runs of a status": listStatement(t, { status: "interrupted" }, 100),
      "runs for a reason": listStatement(t, { reason: "awaiting", cursor }, 100),
      "runs with a tag": listStatement(t, { tag: "vip" }, 50),
      "all waits": waitsStatement(t, {}, 100),
      "waits of a graph": waitsStatement(t, { graphId: "g1" }, 100),
      "waits of a name": waitsStatement(t, { name: "n1" }, 100),
      "waits of a run": waitsStatement(t, { runId: "r21" }, 100),
      "due wakes": wakesStatement(t, RUNS / 2, 100, undefined),
      "due wakes behind one": wakesStatement(t, RUNS, 100, { due: 500, runId: "r500" }),
      "owned runs": {
        text: `select run_id from ${t("runs")} where owned_by = $1 and run_id > $2 order by run_id limit 100`,
        values: ["o1", "r3"],
      },
    };
    for (const [name, { text, values }] of Object.entries(statements)) {
      const plan = (await queryWith(`explain ${text}`, values)).map((row) => String(row["QUERY PLAN"])).join(
        "\n",
      );
      assert.match(plan, /Index (Only )?Scan/, `${name}\n${plan}`);
      assert.doesNotMatch(plan, /Seq Scan/, `${name}\n${plan}`);
      // Few may be sorted once the index has found them: what is due, and what an owner has.
      if (!/^(due|owned)/.test(name)) assert.doesNotMatch(plan, /(^|-> +)Sort/m, `${name}\n${plan}`);
    }
    await cleanup();
  });
}
