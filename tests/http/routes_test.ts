// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import { approval, inStatus, single, site } from "./support.ts";

test("a run is started, listed, read, answered and seen to its end over HTTP (W2)", async () => {
  await using s = await site([approval()]);
  const started = await s.post("/v1/graphs/approval/runs", { input: { question: "why" }, tags: ["b", "a"] });
  assert.equal(started.status, 202);
  const { runId, graphVersion } = started.body as { runId: string; graphVersion: string };
  assert.equal(started.headers.get("Location"), `/v1/runs/${runId}`);
  const paused = await inStatus(s, runId, "interrupted");
  assert.equal(paused.body.reason, "awaiting");
  assert.deepEqual(paused.body.state, { question: "why", draft: "about why" });
  assert.deepEqual(paused.body.vertices, { draft: "done", review: "suspended" });
  const { body: { runs, done } } = await s.get(
    "/v1/runs?tag=a&status=interrupted&reason=awaiting&graph_id=approval",
  );
  assert.equal(done, true);
  const [row] = runs as { runId: string; tags: string[]; openWaits: number }[];
  assert.deepEqual([row!.runId, row!.tags, row!.openWaits], [runId, ["a", "b"], 1]);
  const { body: { waits } } = await s.get(`/v1/waits?run_id=${runId}&name=verdict`);
  const [wait] = waits as { waitId: string; info: unknown; schema: { required: unknown } }[];
  assert.deepEqual(wait!.info, { draft: "about why" });
  assert.deepEqual(wait!.schema.required, ["approve"]);
  const answered = await s.post(`/v1/runs/${runId}/waits/${wait!.waitId}/answer`, {
    value: { approve: true },
  });
  assert.equal(answered.status, 202);
  const { body } = await inStatus(s, runId, "completed");
  assert.deepEqual(body.state, { question: "why", draft: "about why", approved: true });
  assert.deepEqual(body.path, ["draft", "review"]);
  assert.equal((body.run as { graphVersion: string }).graphVersion, graphVersion);
});

test("an answer that nobody has taken in yet shows as such, and its wait is open no longer (W2)", async () => {
  await using s = await site([approval()]);
  await s.post("/v1/graphs/approval/runs", { runId: "r", input: { question: "why" } });
  const { body } = await inStatus(s, "r", "interrupted");
  const [{ waitId }] = body.waits as [{ waitId: string }];
  await s.worker!.stop(0);
  await s.post(`/v1/runs/r/waits/${waitId}/answer`, { value: { approve: true } });
  const { body: between } = await s.get("/v1/runs/r");
  assert.deepEqual([between.status, between.waits, between.answered], ["interrupted", [], [waitId]]);
});

test("a run tells when it goes on by itself (W2)", async () => {
  await using s = await site([single("naps", (_, ctx) => ctx.sleep("nap", "1h"))]);
  await s.post("/v1/graphs/naps/runs", { runId: "r" });
  const { body } = await inStatus(s, "r", "interrupted");
  const [{ due }] = body.waits as [{ due: number }];
  assert.deepEqual([body.reason, body.due, body.answered], ["sleeping", due, []]);
});
