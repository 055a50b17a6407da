// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createApp } from "../../src/http/app.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { aroundStore } from "../../src/testing/around_store.ts";
import { StoreError } from "../../src/errors.ts";
import { approval, type Fault, inStatus, single, type Site, site } from "../http/support.ts";
import type { SiteOptions } from "../http/support.ts";

const echo = () => single("echo", (state) => state.n);
async function started(s: Site, path = "/v1/graphs/echo/runs", body: unknown = {}): Promise<string> {
  const { status, body: { runId } } = await s.post(path, body);
  assert.equal(status, 202);
  return runId as string;
}
const rows = async (s: Site) => (await s.get<{ runs: unknown[] }>("/v1/runs")).body.runs;

test("the graphs are listed with their versions; where none is served the list is empty (ING-01)", async () => {
  await using s = await site([approval(2), approval(1), echo()], { work: false });
  const { status, body } = await s.get<{ graphs: { graphId: string; versions: string[] }[] }>("/v1/graphs");
  assert.equal(status, 200);
  assert.deepEqual(body.graphs.map(({ graphId }) => graphId), ["approval", "echo"]);
  assert.deepEqual(body.graphs[0]!.versions.map((v) => v.split(":")[1]).sort(), ["1", "2"]);
  const none = createApp({ store: memoryStore(), runners: [] });
  assert.deepEqual(await (await none.request("/v1/graphs")).json(), { graphs: [] });
  assert.equal((await none.request("/v1/runs/r")).status, 404);
});

test("a run is taken in with 202 and its version, completes by itself, and shows its state (ING-02)", async () => {
  await using s = await site([echo()]);
  const { status, body } = await s.post("/v1/graphs/echo/runs", { input: { n: 7 } });
  assert.equal(status, 202);
  assert.equal(body.graphVersion, s.runners[0]!.graph.version);
  const done = await inStatus(s, body.runId as string, "completed");
  assert.deepEqual(done.body.state, { n: 7, out: 7 });
});

test("of several versions one may be named, which must be served, and else the newest is meant (V5, ING-04, ING-06)", async () => {
  await using s = await site([approval(1), approval(2)], { work: false });
  const input = { input: { question: "?" } };
  const unnamed = await s.post("/v1/graphs/approval/runs", input);
  assert.deepEqual([unnamed.status, unnamed.body.graphVersion], [202, s.runners[1]!.graph.version]);
  for (const { graph: { version } } of s.runners) {
    const named = await s.post(`/v1/graphs/approval/runs?version=${version}`, input);
    assert.deepEqual([named.status, named.body.graphVersion], [202, version]);
  }
  const unserved = await s.post<Fault>("/v1/graphs/approval/runs?version=nope", input);
  assert.deepEqual([unserved.status, unserved.body.error.code], [404, "GRAPH_NOT_SERVED"]);
});

test("an unknown graph is not found, and what is no id is refused before (ING-05, ING-07)", async () => {
  await using s = await site([echo()], { work: false });
  const unknown = await s.post<Fault>("/v1/graphs/other/runs");
  assert.deepEqual([unknown.status, unknown.body.error.code], [404, "GRAPH_NOT_SERVED"]);
  for (const id of ["-x", "a%20b", "%00", "a".repeat(129)]) {
    const bad = await s.post<Fault>(`/v1/graphs/${id}/runs`);
    assert.deepEqual([bad.status, bad.body.error.code], [400, "BAD_REQUEST"]);
    assert.equal(bad.body.error.issues![0]!.path, "graph_id");
  }
});

test("a body that is no JSON is refused, and nothing is stored (ING-08)", async () => {
  await using s = await site([echo()], { work: false });
  for (const raw of ["{", '{"input":}', "{'input': 1}", '{"input": 1} x', "\u0000"]) {
    const headers = { "Content-Type": "application/json" };
    const answered = await s.call<Fault>("POST", "/v1/graphs/echo/runs", { raw, headers });
    assert.deepEqual([answered.status, answered.body.error.code], [400, "MALFORMED_BODY"], raw);
  }
  assert.deepEqual(await rows(s), []);
});

test("an input that does not fit the schema is refused at once with the schema's issues, and nothing is stored (W2, E1)", async () => {
  await using s = await site([approval()], { work: false });
  const answered = await s.post<Fault>("/v1/graphs/approval/runs", { input: { question: 1 } });
  assert.equal(answered.status, 422);
  assert.equal(answered.body.error.issues![0]!.path, "question");
  assert.deepEqual(await rows(s), []);
});

test("no body is an input without fields, whose defaults apply (ING-10)", async () => {
  await using s = await site([echo()]);
  const { status, body } = await s.post("/v1/graphs/echo/runs");
  assert.equal(status, 202);
  assert.deepEqual((await inStatus(s, body.runId as string, "completed")).body.state, { n: 0, out: 0 });
});

test("a run is there as soon as it was taken in, also when nobody works on it (W1)", async () => {
  await using s = await site([echo()], { work: false });
  const runId = await started(s);
  const { status, body } = await s.get(`/v1/runs/${runId}`);
  assert.deepEqual([status, body.status], [200, "running"]);
});

test("a repeated Idempotency-Key is the same run, which is worked on once (ING-12)", async () => {
  let ran = 0;
  await using s = await site([single("echo", () => ++ran)]);
  const key = { "Idempotency-Key": "k-1" };
  const ids = await Promise.all(
    [1, 2, 3].map(async () => (await s.post("/v1/graphs/echo/runs", { input: { n: 1 } }, key)).body.runId),
  );
  assert.equal(new Set(ids).size, 1);
  await inStatus(s, ids[0] as string, "completed");
  assert.equal((await s.post("/v1/graphs/echo/runs", { input: { n: 1 } }, key)).status, 202);
  assert.equal(ran, 1);
  assert.equal((await rows(s)).length, 1);
});

test("a key is its graph's alone, and one that was used with another body is refused (W2)", async () => {
  await using s = await site([echo(), single("other", () => 0)], { work: false });
  const key = { "Idempotency-Key": "k" };
  const first = await s.post("/v1/graphs/echo/runs", {}, key);
  const other = await s.post("/v1/graphs/other/runs", {}, key);
  assert.deepEqual([other.status, other.body.graphId], [202, "other"]);
  assert.notEqual(other.body.runId, first.body.runId);
  const again = await s.post<Fault>("/v1/graphs/echo/runs", { input: { n: 1 } }, key);
  assert.deepEqual([again.status, again.body.error.code], [409, "RUN_EXISTS"]);
});

test("a start that the store did not take leaves nothing of its key, which starts the run later (E1)", async () => {
  let failing = true;
  const store = aroundStore(memoryStore(), async ({ op, apply }) => {
    if (failing && op === "append") throw new StoreError("append", "no space left");
    return await apply();
  });
  await using s = await site([echo()], { store, work: false });
  const key = { "Idempotency-Key": "k" };
  const refused = await s.post<Fault>("/v1/graphs/echo/runs", {}, key);
  assert.deepEqual([refused.status, refused.body.error.code, refused.body.error.retryable], [
    503,
    "STORE",
    true,
  ]);
  failing = false;
  assert.deepEqual(await rows(s), []);
  assert.equal((await s.post("/v1/graphs/echo/runs", {}, key)).status, 202);
  assert.equal((await rows(s)).length, 1);
});

test("an Idempotency-Key means nothing to resume and cancel (ING-16)", async () => {
  await using s = await site([approval()]);
  const runId = await started(s, "/v1/graphs/approval/runs", { input: { question: "?" } });
  await inStatus(s, runId, "interrupted");
  const key = { "Idempotency-Key": "k" };
  assert.equal((await s.post(`/v1/runs/${runId}/resume`, {}, key)).status, 202);
  assert.equal((await s.post(`/v1/runs/${runId}/resume`, { payload: { approve: true } }, key)).status, 202);
  await inStatus(s, runId, "completed");
  assert.equal((await s.post(`/v1/runs/${runId}/cancel`, {}, key)).status, 200);
});

test("a paused run is resumed with a payload, and completes with it (ING-17)", async () => {
  await using s = await site([approval()], { work: false });
  const runId = await started(s, "/v1/graphs/approval/runs", { input: { question: "?" } });
  assert.equal((await s.post(`/v1/runs/${runId}/resume`)).status, 202);
  await inStatus(s, runId, "interrupted");
  const resumed = await s.post(`/v1/runs/${runId}/resume`, { payload: { approve: false } });
  assert.equal(resumed.status, 202);
  assert.deepEqual([resumed.body.runId, resumed.body.graphVersion], [runId, s.runners[0]!.graph.version]);
  const { body } = await inStatus(s, runId, "completed");
  assert.equal((body.state as { approved: boolean }).approved, false);
});

test("a run that is over is not resumed, and nothing runs (ING-18)", async () => {
  let ran = 0;
  await using s = await site([single("echo", () => ++ran)]);
  const done = await started(s);
  await inStatus(s, done, "completed");
  const waiting = await started(s);
  await s.post(`/v1/runs/${waiting}/cancel`);
  const before = ran;
  for (const runId of [done, waiting]) {
    const answered = await s.post<Fault>(`/v1/runs/${runId}/resume`);
    assert.deepEqual([answered.status, answered.body.error.code], [409, "RESUME_TERMINAL"]);
  }
  assert.equal(ran, before);
});

test("of a version that is not served a run is neither resumed nor shown, and the answer says which it needs (ING-19, ING-20)", async () => {
  const store = memoryStore();
  await using old = await site([approval(1)], { store });
  const runId = await started(old, "/v1/graphs/approval/runs", { input: { question: "?" } });
  await inStatus(old, runId, "interrupted");
  await using s = await site([approval(2)], { store, work: false });
  for (
    const answered of [
      await s.get<Fault>(`/v1/runs/${runId}`),
      await s.post<Fault>(`/v1/runs/${runId}/resume`),
    ]
  ) {
    assert.deepEqual([answered.status, answered.body.error.code], [409, "GRAPH_VERSION_MISMATCH"]);
    assert.equal(answered.headers.get("X-Graph-Version"), old.runners[0]!.graph.version);
    assert.match(answered.body.error.issues![0]!.message, /only the version number .* differs/);
  }
});

test("a run of a version that is not served is cancelled all the same (O5)", async () => {
  const store = memoryStore();
  await using old = await site([approval(1)], { store, work: false });
  const runId = await started(old, "/v1/graphs/approval/runs", { input: { question: "?" } });
  await using s = await site([approval(2)], { store, work: false });
  assert.deepEqual((await s.post(`/v1/runs/${runId}/cancel`)).body.status, "cancelled");
});

test("a run that there is not is not found, and what is no id is refused (ING-23)", async () => {
  await using s = await site([echo()], { work: false });
  const unknown = await s.get<Fault>("/v1/runs/nobody");
  assert.deepEqual([unknown.status, unknown.body.error.code], [404, "CHECKPOINT_NOT_FOUND"]);
  const bad = await s.get<Fault>("/v1/runs/-");
  assert.deepEqual([bad.status, bad.body.error.code], [400, "BAD_REQUEST"]);
});

test("a paused run shows what it awaits, with the info of the wait (ING-24)", async () => {
  await using s = await site([approval()]);
  const runId = await started(s, "/v1/graphs/approval/runs", { input: { question: "?" } });
  const { status, body } = await inStatus(s, runId, "interrupted");
  assert.deepEqual([status, body.reason], [200, "awaiting"]);
  const [wait] = body.waits as { kind: string; name: string; info: unknown }[];
  assert.deepEqual([wait!.kind, wait!.name, wait!.info], ["answer", "verdict", { draft: "about ?" }]);
});

test("a halted run shows the kind and step of its halt (ING-25)", async () => {
  await using s = await site([
    single("bad", () => 0, {
      pick: () => {
        throw new Error("the password is hunter2");
      },
    }),
    single("loop", () => 0, { pick: () => "only" }),
  ]);
  const halted = await started(s, "/v1/graphs/bad/runs");
  const bad = await inStatus(s, halted, "interrupted");
  assert.deepEqual([bad.body.reason, bad.body.halt], ["halted", {
    kind: "condition",
    step: 0,
    vertexId: "only",
  }]);
  const looping = await started(s, "/v1/graphs/loop/runs", { maxSteps: 3 });
  const loop = await inStatus(s, looping, "interrupted");
  assert.deepEqual(loop.body.halt, { kind: "max_steps", step: 3 });
});

test("what a task threw is not shown, unless causes are (ING-26)", async () => {
  const graphs = () => [single("fails", () => {
    throw Object.assign(new TypeError("the password is hunter2"), { data: { token: "hunter2" } });
  })];
  for (const causes of [false, true]) {
    await using s = await site(graphs(), { expose: { causes } });
    const runId = await started(s, "/v1/graphs/fails/runs");
    await inStatus(s, runId, "interrupted");
    for (const path of ["", "/history?include_state=true"]) {
      const { body } = await s.get(`/v1/runs/${runId}${path}`);
      assert.equal(JSON.stringify(body).includes("hunter2"), causes, `${path}: ${JSON.stringify(body)}`);
    }
    const { body } = await s.get(`/v1/runs/${runId}`);
    assert.equal(body.reason, "errored");
    const [{ failure }] = body.failures as [{ failure: { name: string } }];
    assert.equal(failure.name, "TypeError");
  }
});

test("a paused run is cancelled with a reason, or without any (ING-28, ING-31)", async () => {
  await using s = await site([approval()]);
  for (
    const [body, reason] of [[{ reason: "no longer needed" }, "no longer needed"], [null, "requested"], [
      undefined,
      "requested",
    ]] as const
  ) {
    const runId = await started(s, "/v1/graphs/approval/runs", { input: { question: "?" } });
    await inStatus(s, runId, "interrupted");
    const cancelled = await s.post(`/v1/runs/${runId}/cancel`, body);
    assert.equal(cancelled.status, 200);
    assert.deepEqual([cancelled.body.runId, cancelled.body.graphVersion], [
      runId,
      s.runners[0]!.graph.version,
    ]);
    const shown = await s.get(`/v1/runs/${runId}`);
    assert.deepEqual([shown.body.status, shown.body.cancelReason], ["cancelled", reason]);
  }
});

test("a cancellation that comes too late answers how the run ended (O5)", async () => {
  await using s = await site([echo()]);
  const runId = await started(s);
  await inStatus(s, runId, "completed");
  const { status, body } = await s.post(`/v1/runs/${runId}/cancel`);
  assert.deepEqual([status, body.status], [200, "completed"]);
});

test("a body with a field that is not described is refused (ING-30)", async () => {
  await using s = await site([echo()], { work: false });
  const runId = await started(s);
  for (const path of ["cancel", "resume", "fork"]) {
    const answered = await s.post<Fault>(`/v1/runs/${runId}/${path}`, { revision: 0, surprise: 1 });
    assert.deepEqual([answered.status, answered.body.error.code], [400, "BAD_REQUEST"], path);
  }
});

test("ids are judged first, then the body, and the run is looked up last (ING-32)", async () => {
  await using s = await site([echo()], { work: false });
  const post = (path: string) =>
    s.call<Fault>("POST", path, { raw: "{", headers: { "Content-Type": "application/json" } });
  const both = await post("/v1/runs/-/cancel");
  assert.deepEqual([both.status, both.body.error.code], [400, "BAD_REQUEST"]);
  const malformed = await post("/v1/runs/nobody/cancel");
  assert.deepEqual([malformed.status, malformed.body.error.code], [400, "MALFORMED_BODY"]);
  assert.equal((await s.post("/v1/runs/nobody/cancel")).status, 404);
});

test("a body above the limit is refused, and nothing is stored (ING-34)", async () => {
  await using s = await site([echo()], { work: false, bodyLimit: 64 });
  const answered = await s.post<Fault>("/v1/graphs/echo/runs", { input: { text: "x".repeat(64) } });
  assert.deepEqual([answered.status, answered.body.error.code], [413, "BODY_TOO_LARGE"]);
  assert.deepEqual(await rows(s), []);
  assert.equal((await s.post("/v1/graphs/echo/runs", { input: { text: "x" } })).status, 202);
});

test("a limit that is none is refused when the app is made; by default it is 1 MiB (D9)", async () => {
  const make = (more: SiteOptions) => createApp({ store: memoryStore(), runners: [], ...more });
  for (const bodyLimit of [0, -1, NaN, 1.5]) assert.throws(() => make({ bodyLimit }), /bodyLimit/);
  await using s = await site([echo()], { work: false });
  const start = (length: number) => s.post("/v1/graphs/echo/runs", { input: { text: "x".repeat(length) } });
  assert.equal((await start(1024 * 1024 - 100)).status, 202);
  assert.equal((await start(1024 * 1024)).status, 413);
});

test("who is not let in gets one fixed answer, whatever auth says and whatever the path (ING-36, ING-37)", async () => {
  const auth = () => {
    throw new Error("user joe has no role admin");
  };
  await using s = await site([echo()], { work: false, auth });
  for (const path of ["/v1/graphs", "/v1/runs/nobody", "/v1/nothing", "/"]) {
    const { status, body } = await s.get<Fault>(path);
    assert.deepEqual([status, body], [401, {
      error: { code: "UNAUTHORIZED", message: "unauthorized", retryable: false },
    }]);
  }
  await using open = await site([echo()], { work: false });
  assert.equal((await open.get("/v1/graphs")).status, 200);
});

test("when the store is closed, no run is taken in (ING-38)", async () => {
  await using s = await site([echo()], { work: false });
  await s.store.close();
  const { status, body } = await s.post<Fault>("/v1/graphs/echo/runs");
  assert.deepEqual([status, body.error.code, body.error.retryable], [503, "STORE", true]);
});

test("every error is JSON with a short fixed text, never the engine's (ING-40, ING-41)", async () => {
  await using s = await site([approval(1), approval(2)], { work: false });
  for (
    const [method, path, body] of [
      ["GET", "/nothing"],
      ["DELETE", "/v1/runs"],
      ["GET", "/v1/runs/nobody"],
      ["POST", "/v1/graphs/approval/runs", {}],
      ["POST", `/v1/graphs/approval/runs?version=${s.runners[0]!.graph.version}`, { input: {} }],
      ["GET", "/v1/runs?limit=-1"],
    ] as const
  ) {
    const answered = await s.call<Fault>(method, path, { body });
    assert.ok(answered.status >= 400, path);
    assert.equal(answered.headers.get("Content-Type"), "application/json; charset=utf-8");
    const { code, message, retryable } = answered.body.error;
    assert.match(code, /^[A-Z_]+$/);
    assert.ok(message.length < 80 && !/superstep:|approval/.test(message), message);
    assert.equal(typeof retryable, "boolean");
  }
});

test("an unknown path is not found, and a known one says which methods it takes (ING-43)", async () => {
  await using s = await site([echo()], { work: false });
  assert.equal((await s.get<Fault>("/v2/runs")).status, 404);
  assert.equal((await s.get<Fault>("/v1/runs/")).status, 404);
  const wrong = await s.call<Fault>("PUT", "/v1/runs/r");
  assert.deepEqual([wrong.status, wrong.body.error.code, wrong.headers.get("Allow")], [
    405,
    "METHOD_NOT_ALLOWED",
    "GET",
  ]);
});

test("whoever is let in may see and move any run; keeping callers apart is for auth, which knows the run (ING-45)", async () => {
  const auth: SiteOptions["auth"] = ({ request, runId }) => {
    const id = request.headers.get("x-user");
    if (id === null) return undefined;
    return runId !== undefined && runId.startsWith("private-") && id !== "alice" ? "forbidden" : { id };
  };
  await using s = await site([echo()], { work: false, auth });
  const [alice, bob] = [{ "x-user": "alice" }, { "x-user": "bob" }];
  for (const runId of ["r", "private-r"]) await s.post("/v1/graphs/echo/runs", { runId }, alice);
  assert.equal((await s.get("/v1/runs/r", bob)).status, 200);
  assert.equal((await s.post("/v1/runs/r/cancel", {}, bob)).status, 200);
  assert.equal((await s.get<Fault>("/v1/runs/private-r", bob)).status, 403);
  assert.equal((await s.get("/v1/runs/private-r", alice)).status, 200);
});
