import assert from "node:assert/strict";
import { test } from "node:test";
import { limited } from "./support.ts";
import { denoKv } from "../../src/store/deno_kv/mod.ts";
import { compile } from "../../src/compile.ts";
import { DESK, Shell } from "../cli/shell.ts";
import { single, site, until } from "../http/support.ts";
import { graphOf } from "../support/graphs.ts";

const idle = () =>
  limited(single("jobs", (state) => state.n), {
    singleton: { onConflict: "skip", key: (input) => String((input as { n: number }).n) },
    concurrency: { limit: 1 },
  });

test("a start over HTTP of a singleton that is live answers 200 with that run (Q1, W2)", async () => {
  await using s = await site([idle()], { work: false });
  const begun = await s.post("/v1/graphs/jobs/runs", { input: { n: 1 } });
  assert.equal(begun.status, 202);
  const skipped = await s.post("/v1/graphs/jobs/runs", {
    input: { n: 1 },
    tags: ["other"],
    priority: "high",
  });
  assert.deepEqual([skipped.status, skipped.body.runId], [200, begun.body.runId]);
  assert.equal(skipped.headers.get("Location"), `/v1/runs/${begun.body.runId}`);
  const key = { "Idempotency-Key": "k" };
  const keyed = await s.post("/v1/graphs/jobs/runs", { input: { n: 1 } }, key);
  assert.deepEqual([keyed.status, keyed.body.runId], [200, begun.body.runId]);
  const refused = await s.post("/v1/graphs/jobs/runs", { input: { n: 2 }, priority: "urgent" });
  assert.equal(refused.status, 400);
});

test("HTTP and dashboard tell queued runs from others, and for what they wait (Q4, W2, W3)", async () => {
  await using s = await site([idle()], { work: false });
  await s.post("/v1/graphs/jobs/runs", { runId: "first", input: { n: 1 } });
  await s.post("/v1/graphs/jobs/runs", { runId: "second", input: { n: 2 }, priority: "low" });
  const { body: page } = await s.get<{ readonly runs: readonly Record<string, unknown>[] }>(
    "/v1/runs?reason=queued",
  );
  assert.deepEqual(page.runs.map(({ runId, status, queued }) => [runId, status, queued]), [
    ["second", "running", "concurrency/jobs/"],
  ]);
  const { body: run } = await s.get<{ readonly run: Record<string, unknown> }>("/v1/runs/second");
  assert.equal((run.run.queued as { permit: string }).permit, "concurrency/jobs/");
  assert.equal((run.run.flow as { priority: string }).priority, "low");
  const { body: first } = await s.get<{ readonly run: Record<string, unknown> }>("/v1/runs/first");
  assert.deepEqual((first.run.permits as { permit: string }[]).map(({ permit }) => permit), [
    "singleton/jobs/1",
    "concurrency/jobs/",
  ]);
  const html = await (await s.app.request("/ui/runs?status=queued")).text();
  assert.match(html, /<span class="badge queued">queued for concurrency\/jobs\/<\/span>/);
  assert.equal(html.match(/queued for/g)!.length, 1, "the first one waits for a worker alone");
  assert.match(await (await s.app.request("/ui/runs/second")).text(), /waits for concurrency\/jobs\//);
});

test("a queued run that is waited for over HTTP is answered once it is over (Q1, W2)", async () => {
  await using s = await site([idle()]);
  const all = await Promise.all(
    [1, 2, 3].map((n) => s.post("/v1/graphs/jobs/runs?wait=20s", { input: { n } })),
  );
  assert.deepEqual(all.map(({ status, body }) => [status, body.status]), all.map(() => [200, "completed"]));
  await until(async () => (await s.store.cells.list("holder", { limit: 9 })).length === 0);
});

test("list, get and history of the command line show queues and permits (Q4, W4)", () =>
  Shell.with(async (shell) => {
    const store = await denoKv(shell.db);
    const graph = limited(graphOf({ id: "jobs", vertices: { a: {} } }), { concurrency: { limit: 1 } });
    const runner = compile(graph, { store });
    await runner.submit({ log: [] }, { runId: "one" });
    await runner.submit({ log: [] }, { runId: "two", priority: "high" });
    await store.close();
    assert.match((await shell.run("list")).out, /two +jobs +queued for concurrency\/jobs\//);
    const { out } = await shell.run("list", "--reason", "queued", "--json");
    assert.deepEqual([JSON.parse(out).runId, JSON.parse(out).queued], ["two", "concurrency/jobs/"]);
    assert.match((await shell.run("get", "two")).out, /queued for concurrency\/jobs\//);
    assert.match((await shell.run("history", "one")).out, /got concurrency\/jobs\/ \(\d+\)/);
    assert.match((await shell.run("history", "two")).out, /waits for concurrency\/jobs\//);
    const input = JSON.stringify({ title: "T" });
    const later = await shell.run("run", DESK, "-i", input, "--at", "1h");
    assert.match(later.err, /--at is given without --detach/);
    const detached = await shell.run(
      "run",
      DESK,
      "-i",
      input,
      "--at",
      "1h",
      "--detach",
      "--priority",
      "high",
    );
    assert.equal(detached.code, 0, detached.err);
  }));
