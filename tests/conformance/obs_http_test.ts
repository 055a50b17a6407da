// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import { StoreError } from "../../src/errors.ts";
import { createApp } from "../../src/http/app.ts";
import { listen } from "../../src/http/listen.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { aroundStore } from "../../src/testing/around_store.ts";
import {
  approval,
  type Body,
  type Fault,
  inStatus,
  single,
  type Site,
  site,
  type SiteOptions,
} from "../http/support.ts";

interface HistoryPage extends Body {
  readonly checkpoints: readonly (Body & { readonly revision: number })[];
  readonly next_revision: number;
  readonly done: boolean;
}

const loop = () => single("loop", () => 0, { pick: () => "only" });

/** A run of many revisions, halted by its budget of steps. */
async function long(s: Site, steps: number): Promise<string> {
  const { body: { runId } } = await s.post("/v1/graphs/loop/runs", {
    maxSteps: steps,
    input: { secret: "hunter2" },
  });
  await inStatus(s, runId as string, "interrupted");
  return runId as string;
}

const history = async (s: Site, runId: string, query = "") =>
  (await s.get<HistoryPage>(`/v1/runs/${runId}/history${query}`)).body;

const revisions = (page: HistoryPage) => page.checkpoints.map(({ revision }) => revision);

test("a graph_id, cursor, limit, status or name that is none is refused (OBS-12)", async () => {
  await using s = await site([approval()], { work: false });
  for (
    const path of [
      "/v1/runs?graph_id=-",
      "/v1/runs?limit=0",
      "/v1/runs?limit=-1",
      "/v1/runs?limit=x",
      "/v1/runs?limit=1e2",
      "/v1/runs?status=done",
      "/v1/runs?cursor=x",
      "/v1/runs?skip=1",
      "/v1/waits?run_id=..%2Fx",
      "/v1/waits?cursor=%5B%5D",
      "/v1/runs/r/history?from_revision=-1",
      "/v1/runs/r/history?include_state=yes",
    ]
  ) {
    const { status, body } = await s.get<Fault>(path);
    assert.deepEqual([status, body.error.code], [400, "BAD_REQUEST"], path);
  }
});

test("history comes in pages by revision, from 0, 100 by default, at most 1000 (OBS-13, OBS-14, OBS-15, OBS-16)", async () => {
  await using s = await site([loop()]);
  const runId = await long(s, 1_100);
  const first = await history(s, runId);
  assert.deepEqual(revisions(first), Array.from({ length: 100 }, (_, i) => i));
  assert.deepEqual([first.next_revision, first.done], [100, false]);
  const from = await history(s, runId, "?from_revision=7&limit=2");
  assert.deepEqual([revisions(from), from.next_revision, from.done], [[7, 8], 9, false]);
  const most = await history(s, runId, "?limit=5000");
  assert.equal(most.checkpoints.length, 1000);
  const rest = await history(s, runId, `?from_revision=${most.next_revision}&limit=1000`);
  assert.equal(rest.done, true);
  const states = await history(s, runId, "?limit=1000&include_state=true");
  assert.deepEqual([states.checkpoints.length, states.next_revision, states.done], [50, 50, false]);
  const none = await history(s, runId, `?from_revision=${rest.next_revision}`);
  assert.deepEqual(none, { checkpoints: [], next_revision: rest.next_revision, done: true });
});

test("the beginning of a history that was cut off is the first revision that is kept, which an earlier one names (H4, OBS-14)", async () => {
  await using s = await site([loop()]);
  const runId = await long(s, 300);
  await s.runners[0]!.retain(runId, 5);
  const whole = await history(s, runId, "?limit=1000");
  const [first] = revisions(whole);
  assert.ok(first! > 0);
  for (const query of ["", "?from_revision=0"]) {
    assert.equal(revisions(await history(s, runId, query))[0], first);
  }
  const gone = await s.get<Fault>(`/v1/runs/${runId}/history?from_revision=${first! - 1}`);
  assert.deepEqual([gone.status, gone.body.error.first], [404, first]);
  const stop = new AbortController();
  const seen: number[] = [];
  for await (const { revision } of s.runners[0]!.follow(runId, { signal: stop.signal })) {
    seen.push(revision);
    if (revision === revisions(whole).at(-1)) stop.abort();
  }
  assert.deepEqual(seen, revisions(whole));
});

test("paging while the run appends shows every revision once (OBS-17)", async () => {
  await using s = await site([loop()]);
  const { body } = await s.post("/v1/graphs/loop/runs", { maxSteps: 300 });
  const runId = body.runId as string;
  const seen: number[] = [];
  for (let next = 0, over = false; !over;) {
    over = (await s.get(`/v1/runs/${runId}`)).body.status === "interrupted";
    for (let done = false; !done;) {
      const page = await history(s, runId, `?from_revision=${next}&limit=7`);
      seen.push(...revisions(page));
      [next, done] = [page.next_revision, page.done];
    }
  }
  const { revision } = (await s.get(`/v1/runs/${runId}`)).body.run as { revision: number };
  assert.deepEqual(seen, Array.from({ length: revision + 1 }, (_, i) => i));
});

test("states, outputs and answers are in a history only where they are asked for and allowed (OBS-19, OBS-20, OBS-21)", async () => {
  const cases: readonly [SiteOptions, string, boolean][] = [
    [{}, "", false],
    [{}, "?include_state=false", false],
    [{}, "?include_state=true", true],
    [{ expose: { state: false } }, "?include_state=true", false],
    [{ expose: { state: false }, auth: () => ({ id: "a", state: true }) }, "?include_state=true", true],
    [{ auth: () => ({ id: "a", state: false }) }, "?include_state=true", false],
  ];
  for (const [options, query, shown] of cases) {
    await using s = await site([approval()], options);
    const { body: { runId } } = await s.post("/v1/graphs/approval/runs", { input: { question: "hunter1" } });
    const wait = await waitOf(s, runId as string);
    const value = { approve: true, note: "hunter2" };
    await s.post(`/v1/runs/${runId}/waits/${wait}/answer`, { value });
    await inStatus(s, runId as string, "completed");
    const page = await history(s, runId as string, query);
    const told = JSON.stringify(page).replaceAll('"info":{"draft":"about hunter1"}', "");
    assert.equal(told.includes("hunter1"), shown, told);
    assert.equal(told.includes("hunter2"), shown, told);
    assert.equal(page.checkpoints.every((checkpoint) => "state" in checkpoint), shown);
    if (shown) {
      assert.deepEqual(page.checkpoints.at(-1)!.state, {
        question: "hunter1",
        draft: "about hunter1",
        approved: true,
      });
    }
    const stream = await (await s.app.request(`/v1/runs/${runId}/events`)).text();
    assert.ok(
      !stream.includes("hunter2") && !stream.includes('"state"'),
      "a stream tells what happens, not with what",
    );
    const allowed = (await s.get(`/v1/runs/${runId}`)).body;
    assert.equal("state" in allowed, (options.expose?.state ?? true) && options.auth === undefined || shown);
    assert.equal("state" in (await s.get(`/v1/runs/${runId}?include_state=false`)).body, false);
  }
});

async function waitOf(s: Site, runId: string): Promise<string> {
  await inStatus(s, runId, "interrupted");
  const { body } = await s.get<{ waits: [{ waitId: string }] }>(`/v1/waits?run_id=${runId}`);
  return body.waits[0].waitId;
}

test("an unknown run, a graph that is not served and a store that fails are told apart (OBS-22, OBS-37)", async () => {
  let failing = false;
  const store = aroundStore(memoryStore(), async ({ op, apply }) => {
    if (failing && op !== "close") throw new StoreError("range", "/var/lib/secret.db: disk I/O error");
    return await apply();
  });
  await using s = await site([approval()], { store, work: false });
  const codes = async (paths: readonly string[]) => {
    const answers = await Promise.all(paths.map((path) => s.get<Fault>(path)));
    return answers.map(({ status, body }) => `${status} ${body.error.code}`);
  };
  assert.deepEqual(await codes(["/v1/runs/nobody/history", "/v1/graphs/other/topology"]), [
    "404 CHECKPOINT_NOT_FOUND",
    "404 GRAPH_NOT_SERVED",
  ]);
  failing = true;
  assert.deepEqual(
    await codes(["/v1/runs/nobody/history", "/v1/runs?cursor=x", "/v1/waits"]),
    Array(3).fill("503 STORE"),
  );
  const { body } = await s.get("/v1/runs/nobody/history");
  assert.ok(!JSON.stringify(body).includes("secret"));
  assert.ok(s.warnings.length > 0, "the log has the cause");
});

test("a topology is shown of each version that is served, as JSON (OBS-27, OBS-28)", async () => {
  await using s = await site([approval(1), approval(2)], { work: false });
  for (const runner of s.runners) {
    const { status, body } = await s.get(`/v1/graphs/approval/topology?version=${runner.graph.version}`);
    assert.equal(status, 200);
    const { input, ...topology } = body as { readonly input: { readonly required: unknown } };
    assert.deepEqual(topology, JSON.parse(JSON.stringify(runner.topology())));
    assert.deepEqual(input.required, ["question"], "and the schema of its input");
    assert.equal(runner.inputSchema, runner.inputSchema, "which is made once");
  }
  const unserved = await s.get<Fault>("/v1/graphs/approval/topology?version=1");
  assert.deepEqual([unserved.status, unserved.body.error.code], [404, "GRAPH_NOT_SERVED"]);
});

test("the capabilities name the protocol, its version and what there is (OBS-29)", async () => {
  await using s = await site([approval()], { work: false });
  const { body } = await s.get("/v1/capabilities");
  assert.deepEqual([body.protocol, body.version], ["superstep", 1]);
  for (const feature of ["runs_list", "history", "topology", "resume"]) {
    assert.ok((body.features as string[]).includes(feature), feature);
  }
});

test("who is not let in learns nothing of any route, not even whether it would have been well asked (OBS-30, OBS-31)", async () => {
  let reads = 0;
  const store = aroundStore(memoryStore(), async ({ apply }) => {
    reads++;
    return await apply();
  });
  await using s = await site([approval()], { store, work: false, auth: () => undefined });
  reads = 0;
  for (
    const path of [
      "/v1/runs?limit=x",
      "/v1/runs/r/history",
      "/v1/graphs/-/topology",
      "/v1/capabilities",
      "/v1/openapi.json",
    ]
  ) {
    const { status, body } = await s.get<Fault>(path);
    assert.equal(status, 401, path);
    assert.deepEqual(Object.keys(body.error), ["code", "message", "retryable"]);
  }
  assert.equal(reads, 0);
});

test("an app without auth is not served where other machines could reach it, unless that is chosen (OBS-32)", async () => {
  const options = { store: memoryStore(), runners: [] };
  for (const hostname of ["0.0.0.0", "::", "192.168.0.1", "example.com"]) {
    await assert.rejects(listen(createApp(options), { hostname, port: 0 }), { code: "ARGUMENT" });
  }
  for (const chosen of [{ insecure: true }, { auth: () => ({ id: "a" }) }]) {
    await using server = await listen(createApp({ ...options, ...chosen }), { hostname: "0.0.0.0", port: 0 });
    assert.equal((await fetch(`http://127.0.0.1:${server.port}/v1/graphs`)).status, 200);
  }
});

test("an awaited answer is seen in the run and its history, and a resume with it completes the run (OBS-34)", async () => {
  await using s = await site([approval()]);
  const { body: { runId } } = await s.post("/v1/graphs/approval/runs", { input: { question: "?" } });
  await inStatus(s, runId as string, "interrupted");
  const page = await history(s, runId as string);
  const opened = page.checkpoints.flatMap(({ events }) => events as Body[]).find(({ type }) =>
    type === "opened"
  );
  assert.deepEqual([opened!.kind, opened!.info], ["answer", { draft: "about ?" }]);
  await s.post(`/v1/runs/${runId}/resume`, { payload: { approve: true } });
  await inStatus(s, runId as string, "completed");
});

test("whatever is asked is audited by name, caller, ids and outcome, without what was sent (OBS-35)", async () => {
  await using s = await site([approval()], {
    auth: ({ request }) => request.headers.has("x-in") ? { id: "joe" } : null,
  });
  const joe = { "x-in": "1" };
  const { body: { runId } } = await s.post("/v1/graphs/approval/runs", {
    input: { question: "hunter2" },
    runId: "r",
  }, joe);
  await s.post("/v1/runs/r/resume", { payload: { approve: "hunter2" } }, joe);
  await s.post("/v1/runs/r/waits/w1/answer", { value: "hunter2" }, joe);
  await s.post("/v1/runs/r/cancel", { reason: "hunter2" }, joe);
  await s.post("/v1/runs/r/cancel", { reason: "hunter2" });
  const told = s.audited.map(({ at, ...event }) => ({ ...event, at: typeof at }));
  assert.ok(!JSON.stringify(told).includes("hunter2"));
  const at = "number";
  assert.equal(runId, "r");
  assert.deepEqual(told.filter(({ method }) => method === "POST"), [
    { at, method: "POST", operation: "startRun", graphId: "approval", caller: "joe", status: 202 },
    ...told.filter(({ operation }) => operation === "resumeRun"),
    {
      at,
      method: "POST",
      operation: "answerWait",
      runId: "r",
      waitId: "w1",
      caller: "joe",
      status: 404,
      code: "ANSWER",
    },
    { at, method: "POST", operation: "cancelRun", runId: "r", caller: "joe", status: 200 },
    { at, method: "POST", operation: "cancelRun", runId: "r", status: 401, code: "UNAUTHORIZED" },
  ]);
});
