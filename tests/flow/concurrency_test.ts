import assert from "node:assert/strict";
import { test } from "node:test";
import { WorkerLab } from "../worker/lab.ts";
import { checkPermits, type Job, jobs, Watch } from "./support.ts";

const job = (more: Partial<Job> = {}): Job => ({ log: [], ...more });

test("at most so many runs are at work over all workers, and each is worked on in time (Q1, Q4)", async () => {
  const lab = new WorkerLab();
  const watch = new Watch();
  const graph = jobs({ concurrency: { limit: 2 } }, watch, (ms) => lab.clock.sleep(ms));
  const { runner } = lab.process(graph);
  for (let i = 0; i < 12; i++) await runner.submit(job(), { runId: `r${i}` });
  assert.equal((await runner.list({ reason: "queued" })).rows.length, 10);
  for (let i = 0; i < 3; i++) await lab.serve(graph);
  await lab.pass(5_000);
  assert.equal((await runner.list({ status: "completed" })).rows.length, 12);
  assert.equal(watch.most, 2);
  await checkPermits(lab.store, () => 2);
  await lab.end();
});
