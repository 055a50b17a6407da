import assert from "node:assert/strict";
import { test } from "node:test";
import { fromJson, toJson } from "../../src/model/json.ts";
import { approval, type Fault, inStatus, single, site, until } from "./support.ts";
import { VirtualClock } from "../../src/testing/virtual_clock.ts";
import { gate } from "../support/graphs.ts";

const echo = () => single("echo", (state) => state.n);

test("wait answers with the result when it is there in time, also of a run that was started before (W2)", async () => {
  await using s = await site([echo(), approval()]);
  const done = await s.post("/v1/graphs/echo/runs?wait=10s", { input: { n: 3 } });
  assert.deepEqual([done.status, done.body.status, done.body.state], [200, "completed", { n: 3, out: 3 }]);
  const key = { "Idempotency-Key": "k" };
  for (let i = 0; i < 2; i++) {
    const paused = await s.post("/v1/graphs/approval/runs?wait=10s", { input: { question: "?" } }, key);
    assert.deepEqual([paused.status, paused.body.status, paused.body.reason], [
      200,
      "interrupted",
      "awaiting",
    ]);
    assert.equal(paused.headers.get("Location"), `/v1/runs/${(paused.body.run as { runId: string }).runId}`);
  }
});

test("waiting ends as soon as the run pauses, and leaves no timer behind (W2)", async () => {
  const clock = new VirtualClock();
  await using s = await site([approval()], { runtime: clock, work: false });
  const begun = clock.now();
  const answered = s.post("/v1/graphs/approval/runs?wait=60s", { input: { question: "?" } });
  await clock.settle();
  const [handle] = await clock.drive(s.runners[0]!.recover());
  await clock.drive(handle!.result());
  assert.equal((await clock.drive(answered)).status, 200);
  assert.ok(clock.now() - begun < 5_000, `${clock.now() - begun} ms`);
  assert.equal(clock.pending, 0);
});

test("when the time to wait is over, the answer is that the run goes on (W2)", async () => {
  const work = gate();
  await using s = await site([single("slow", () => work.promise)]);
  const answered = await s.post("/v1/graphs/slow/runs?wait=30ms");
  assert.deepEqual([answered.status, answered.body.status], [202, "running"]);
  work.open();
  await inStatus(s, answered.body.runId as string, "completed");
});

test("a time to wait that is none is refused (W2)", async () => {
  await using s = await site([echo()], { work: false });
  for (const wait of ["soon", "-1s", "5", ""]) {
    const { status, body } = await s.post<Fault>(`/v1/graphs/echo/runs?wait=${wait}`);
    assert.deepEqual([status, body.error.issues![0]!.path], [400, "wait"], wait);
  }
});

test("a key that was used is refused with another input, tags, deadline, or budget, and by its scope free for others (W2)", async () => {
  const auth = ({ request }: { readonly request: Request }) => ({
    id: request.headers.get("x-user") ?? "nobody",
  });
  await using s = await site([echo()], { work: false, auth });
  const start = (body: unknown, user = "a", key = "k") =>
    s.post("/v1/graphs/echo/runs", body, { "Idempotency-Key": key, "x-user": user });
  const body = { input: { n: 1 }, tags: ["b", "a"], deadline: "1h", maxSteps: 9 };
  const first = await start(body);
  assert.equal(first.status, 202);
  assert.equal((await start({ ...body, tags: ["a", "b", "a"] })).body.runId, first.body.runId);
  for (
    const other of [
      { input: { n: 2 } },
      { tags: ["a"] },
      { tags: undefined },
      { deadline: "2h" },
      { deadline: undefined },
      { maxSteps: 8 },
    ]
  ) {
    const { status } = await start({ ...body, ...other });
    assert.equal(status, 409, JSON.stringify(other));
  }
  assert.notEqual((await start(body, "b")).body.runId, first.body.runId);
  assert.notEqual((await start(body, "a", "k2")).body.runId, first.body.runId);
  // Two callers, whose names and keys give the same text when they are put together.
  const [one, two] = [await start(body, "a", "bc"), await start(body, "ab", "c")];
  assert.notEqual(one.body.runId, two.body.runId);
});

test("a key is that of its run also when the beginning of its history was cut off (H4)", async () => {
  await using s = await site([single("loop", () => 0, { pick: () => "only" })]);
  const key = { "Idempotency-Key": "k" };
  const start = () => s.post("/v1/graphs/loop/runs", { maxSteps: 300 }, key);
  const { body: { runId } } = await start();
  await inStatus(s, runId as string, "interrupted");
  await s.runners[0]!.retain(runId as string, 5);
  assert.deepEqual((await start()).body.runId, runId);
});

test("a key that is none is refused (W2)", async () => {
  await using s = await site([echo()], { work: false });
  for (const key of ["a b", "ü", "x".repeat(256)]) {
    const { status } = await s.post("/v1/graphs/echo/runs", {}, {
      "Idempotency-Key": encodeURI(key) === key ? key : "a b",
    });
    assert.equal(status, 400, key);
  }
});

test("a run id may be chosen; the same start with it is the same run, any other is refused (E1)", async () => {
  await using s = await site([echo(), approval()], { work: false });
  const body = { runId: "mine", input: { n: 1 }, deadline: "2030-01-01T00:00:00Z" };
  for (let i = 0; i < 2; i++) assert.equal((await s.post("/v1/graphs/echo/runs", body)).body.runId, "mine");
  assert.equal(
    (await s.post("/v1/graphs/echo/runs", { ...body, deadline: "2031-01-01T00:00:00Z" })).status,
    409,
  );
  assert.equal(
    (await s.post("/v1/graphs/approval/runs", { runId: "mine", input: { question: "?" } })).status,
    409,
  );
  const { body: { run } } = await s.get("/v1/runs/mine");
  assert.equal((run as { deadline: number }).deadline, Date.UTC(2030, 0, 1));
});

test("a deadline may be a duration or an ISO 8601 time, and nothing else (O5)", async () => {
  await using s = await site([approval()]);
  for (const deadline of ["soon", "2030", "01/02/2030", NaN, "", {}]) {
    const { status } = await s.post("/v1/graphs/approval/runs", { input: { question: "?" }, deadline });
    assert.equal(status, 400, JSON.stringify(deadline));
  }
  const { body } = await s.post("/v1/graphs/approval/runs", { input: { question: "?" }, deadline: 20 });
  const ended = await inStatus(s, body.runId as string, "cancelled");
  assert.equal(ended.body.cancelReason, "deadline");
});

const VALUES = {
  big: 12345678901234567890n,
  at: new Date("2026-11-29T12:00:00.123Z"),
  map: new Map<unknown, unknown>([[1n, new Set(["a"])], [{ k: 1 }, undefined]]),
  bytes: new Uint8Array([0, 255, 7]),
  floats: new Float64Array([1.5, -0]),
  odd: [NaN, Infinity, -Infinity, -0, undefined, null],
  plain: { $date: "no date" },
  nested: { $map: { $set: [1] } },
};

test("what JSON does not have crosses both ways as tagged JSON: input, state, answer, info, history (W2)", async () => {
  const seen: unknown[] = [];
  await using s = await site([single("values", (state, ctx) => {
    seen.push(state.value);
    const answer = ctx.answer();
    if (answer === undefined) return ctx.interrupt(state.value);
    seen.push(answer.value);
    return answer.value;
  })]);
  const value = toJson(VALUES);
  const { body: { runId } } = await s.post("/v1/graphs/values/runs", { input: { value } });
  const paused = await inStatus(s, runId as string, "interrupted");
  const [{ waitId, info }] = paused.body.waits as [{ waitId: string; info: unknown }];
  const inbox = await s.get<{ waits: [{ info: unknown }] }>(`/v1/waits?run_id=${runId}`);
  assert.deepEqual([info, inbox.body.waits[0].info], [value, value]);
  await s.post(`/v1/runs/${runId}/waits/${waitId}/answer`, { value });
  const done = await inStatus(s, runId as string, "completed");
  assert.deepEqual(done.body.state, { n: 0, value, out: value });
  assert.deepEqual(fromJson((done.body.state as { out: unknown }).out, "it"), VALUES);
  for (const found of seen) assert.deepEqual(found, VALUES);
  const { body } = await s.get<{ checkpoints: { events: Record<string, { value?: unknown }>[] }[] }>(
    `/v1/runs/${runId}/history?include_state=true`,
  );
  const resolved = body.checkpoints.flatMap(({ events }) => events).find((event) => "result" in event);
  assert.deepEqual(resolved!.result!.value, value);
});

test("a tag that cannot mean what it holds is refused, and says where (W2)", async () => {
  await using s = await site([echo()], { work: false });
  for (const value of [{ $bigint: "x" }, { $date: "soon" }, { $map: [1] }, { $bytes: "?" }]) {
    const { status, body } = await s.post<Fault>("/v1/graphs/echo/runs", { input: { a: [value] } });
    assert.deepEqual([status, body.error.code], [400, "ARGUMENT"]);
    assert.match(body.error.issues![0]!.message, /a\[0\]/);
  }
});

test("a body that would be a run is not taken from a form or as plain text, nor with an encoding (W2)", async () => {
  await using s = await site([echo()], { work: false });
  for (
    const headers of [
      { "Content-Type": "text/plain" },
      { "Content-Type": "application/x-www-form-urlencoded" },
      { "Content-Type": "application/jsonp" },
      { "Content-Type": "application/json", "Content-Encoding": "gzip" },
      {},
    ]
  ) {
    const { status } = await s.call("POST", "/v1/graphs/echo/runs", {
      raw: new TextEncoder().encode("{}"),
      headers,
    });
    assert.equal(status, 415, JSON.stringify(headers));
  }
  const json = { "Content-Type": "Application/JSON; charset=utf-8" };
  assert.equal((await s.call("POST", "/v1/graphs/echo/runs", { raw: "{}", headers: json })).status, 202);
});

test("a run is forked at a revision, with another state, and goes on (H2)", async () => {
  await using s = await site([approval()]);
  const { body: { runId } } = await s.post("/v1/graphs/approval/runs", {
    input: { question: "one" },
    tags: ["t"],
  });
  await inStatus(s, runId as string, "interrupted");
  const { status, body, headers } = await s.post(`/v1/runs/${runId}/fork`, {
    revision: 0,
    state: { question: "two" },
  });
  assert.equal(status, 202);
  assert.equal(headers.get("Location"), `/v1/runs/${body.runId}`);
  const forked = await inStatus(s, body.runId as string, "interrupted");
  assert.deepEqual(forked.body.state, { question: "two", draft: "about two" });
  assert.deepEqual((forked.body.run as { parent: unknown }).parent, { runId, revision: 0 });
  const refused = await s.post<Fault>(`/v1/runs/${runId}/fork`, { revision: 0, state: { question: 2 } });
  assert.equal(refused.status, 422);
  assert.equal((await s.post(`/v1/runs/${runId}/fork`, { revision: 99 })).status, 404);
});

test("the state of a paused run is edited, field by field or as a whole, and judged by its schema (H2)", async () => {
  await using s = await site([approval()]);
  const { body: { runId } } = await s.post("/v1/graphs/approval/runs", { input: { question: "one" } });
  await inStatus(s, runId as string, "interrupted");
  const patch = (body: unknown) => s.call<Fault>("PATCH", `/v1/runs/${runId}/state`, { body });
  const edited = await s.call("PATCH", `/v1/runs/${runId}/state`, {
    body: { set: { question: "two" }, unset: ["draft"] },
  });
  assert.deepEqual([edited.status, edited.body.state], [200, { question: "two" }]);
  const whole = await s.call("PATCH", `/v1/runs/${runId}/state`, { body: { state: { question: "three" } } });
  assert.deepEqual(whole.body.state, { question: "three" });
  assert.equal((await patch({ set: { question: 1 } })).status, 422);
  assert.equal((await patch({})).status, 400);
  assert.equal((await patch({ state: {}, set: {} })).status, 400);
  assert.deepEqual((await s.get(`/v1/runs/${runId}`)).body.state, { question: "three" });
});

test("a run that is at work is neither resumed nor edited (O1)", async () => {
  const work = gate();
  await using s = await site([single("slow", () => work.promise)]);
  const { body: { runId } } = await s.post("/v1/graphs/slow/runs");
  await until(async () =>
    (await s.get(`/v1/runs/${runId}`)).body.run as { owner?: string } ? (await s.worker!.active) > 0 : false
  );
  await until(async () =>
    ((await s.get(`/v1/runs/${runId}`)).body.run as { owner?: string }).owner !== undefined
  );
  for (
    const answered of [
      await s.post<Fault>(`/v1/runs/${runId}/resume`),
      await s.call<Fault>("PATCH", `/v1/runs/${runId}/state`, { body: { set: { n: 1 } } }),
    ]
  ) {
    assert.deepEqual(
      [answered.status, answered.body.error.code, answered.body.error.retryable],
      [409, "RUN_BUSY", true],
    );
  }
  work.open();
  await inStatus(s, runId as string, "completed");
});

test("the runs that resume works on are let go when the app ends (E11)", async () => {
  const stop = new AbortController();
  let aborted = false;
  await using s = await site([
    single("slow", (_, { signal }) =>
      new Promise((_, reject) =>
        signal.addEventListener("abort", () => {
          aborted = true;
          reject(signal.reason);
        })
      )),
  ], { work: false, signal: stop.signal });
  const { body: { runId } } = await s.post("/v1/graphs/slow/runs");
  assert.equal((await s.post(`/v1/runs/${runId}/resume`)).status, 202);
  await until(async () =>
    ((await s.get(`/v1/runs/${runId}`)).body.run as { owner?: string }).owner !== undefined
  );
  stop.abort();
  await until(async () =>
    ((await s.get(`/v1/runs/${runId}`)).body.run as { owner?: string }).owner === undefined
  );
  assert.equal(aborted, true);
  assert.ok(s.warnings.some(({ message, fields }) => /was let go/.test(message) && fields.runId === runId));
});

test("an answer is sent as a value; a body without one is refused (I2)", async () => {
  await using s = await site([single("any", (_, ctx) => ctx.answer() ?? ctx.interrupt())]);
  const { body: { runId } } = await s.post("/v1/graphs/any/runs");
  const paused = await inStatus(s, runId as string, "interrupted");
  const [{ waitId }] = paused.body.waits as [{ waitId: string }];
  const answer = (body: unknown) => s.post<Fault>(`/v1/runs/${runId}/waits/${waitId}/answer`, body);
  for (const body of [undefined, {}, null, [1]]) {
    assert.equal((await answer(body)).status, 400, JSON.stringify(body));
  }
  assert.equal((await answer({ value: null })).status, 202);
  const again = await answer({ value: null });
  assert.deepEqual([again.status, again.body.error.reason], [409, "answered"]);
});
