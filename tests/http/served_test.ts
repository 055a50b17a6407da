import assert from "node:assert/strict";
import { test } from "node:test";
import { createApp } from "../../src/http/app.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { approval, type Fault, inStatus, single, type Site, site } from "./support.ts";

const echo = () => single("echo", (state) => state.n);

test("runs of graphs that are not served do not exist here, whichever route is asked (W2)", async () => {
  const store = memoryStore();
  await using other = await site([approval()], { store });
  await other.post("/v1/graphs/approval/runs", { runId: "r", input: { question: "?" } });
  const paused = await inStatus(other, "r", "interrupted");
  const [{ waitId }] = paused.body.waits as [{ waitId: string }];
  await using s = await site([echo()], { store, work: false });
  for (
    const [method, path, body] of [
      ["GET", "/v1/runs/r"],
      ["GET", "/v1/runs/r/history"],
      ["GET", "/v1/runs/r/events"],
      ["POST", "/v1/runs/r/resume", {}],
      ["POST", "/v1/runs/r/cancel", {}],
      ["POST", "/v1/runs/r/fork", { revision: 0 }],
      ["PATCH", "/v1/runs/r/state", { set: {} }],
      ["POST", `/v1/runs/r/waits/${waitId}/answer`, { value: { approve: true } }],
    ] as const
  ) {
    const { status, body: answer } = await s.call<Fault>(method, path, { body });
    assert.deepEqual([status, answer.error.code], [404, "CHECKPOINT_NOT_FOUND"], `${method} ${path}`);
  }
  assert.deepEqual((await s.get("/v1/runs")).body, { runs: [], done: true });
  assert.deepEqual((await s.get("/v1/waits")).body, { waits: [], done: true });
  for (const path of ["/v1/runs?graph_id=approval", "/v1/waits?graph_id=approval"]) {
    assert.equal((await s.get<Fault>(path)).body.error.code, "GRAPH_NOT_SERVED");
  }
  assert.equal((await other.get("/v1/runs/r")).body.status, "interrupted");
});

test("lists are paged by cursor, newest first, and a page is empty at the end only (S1)", async () => {
  const store = memoryStore();
  await using other = await site([approval()], { store, work: false });
  await using s = await site([echo()], { store, work: false });
  const ids: string[] = [];
  for (let i = 0; i < 5; i++) {
    const { body } = await s.post("/v1/graphs/echo/runs", { runId: `e${i}` });
    ids.unshift(body.runId as string);
    for (let j = 0; j < 3; j++) await other.post("/v1/graphs/approval/runs", { input: { question: "?" } });
  }
  interface Page {
    readonly runs: readonly { readonly runId: string }[];
    readonly next_cursor?: string;
    readonly done: boolean;
  }
  const seen: string[] = [];
  for (let query = "?limit=2", done = false; !done;) {
    const { body } = await s.get<Page>(`/v1/runs${query}`);
    assert.ok(body.runs.length > 0 || body.done, "a page in the middle");
    assert.ok(body.runs.length <= 2);
    assert.equal(body.done, body.next_cursor === undefined);
    seen.push(...body.runs.map(({ runId }) => runId));
    query = `?limit=2&cursor=${encodeURIComponent(body.next_cursor ?? "")}`;
    done = body.done;
  }
  assert.deepEqual(seen.sort(), ids.sort());
});

test("what cannot be served is refused when the app is made (W2)", async () => {
  await using s = await site([echo()], { work: false });
  await using t = await site([echo()], { work: false });
  const [runner] = s.runners;
  const [elsewhere] = t.runners;
  assert.throws(() => createApp({ runners: [runner!, runner!] }), { code: "DUPLICATE_REGISTRATION" });
  assert.throws(() => createApp({ runners: [runner!, elsewhere!] }), /another store/);
  assert.throws(() => createApp({}), { code: "BUILD" });
  assert.throws(() => createApp({ workflows: [class {} as never] }), { code: "BUILD" });
  for (
    const events of [{ heartbeat: 0 }, { stall: "-1s" }, { lifetime: NaN }, { limit: 0 }, { poll: "soon" }]
  ) {
    assert.throws(() => createApp({ runners: [runner!], events: events as never }), /events/);
  }
  assert.throws(() => createApp({ runners: [runner!], authTimeout: "soon" as never }), /authTimeout/);
});

test("the digest of an input is not shown: whoever may not see a value may not test guesses of it (W2)", async () => {
  await using s = await site([echo()]);
  const { body: { runId } } = await s.post("/v1/graphs/echo/runs");
  await inStatus(s, runId as string, "completed");
  const { inputDigest } = await s.runners[0]!.status(runId as string);
  for (const path of [`/v1/runs/${runId}`, `/v1/runs/${runId}/history?include_state=true`, "/v1/runs"]) {
    assert.ok(!JSON.stringify((await s.get(path)).body).includes(inputDigest), path);
  }
});

test("pages of an allowed origin may read where a run is, and which version it needs (W2)", async () => {
  await using s = await site([echo()], { work: false, origins: ["https://admin.example"] });
  const { headers } = await s.post("/v1/graphs/echo/runs", {}, { Origin: "https://admin.example" });
  assert.equal(headers.get("Access-Control-Allow-Origin"), "https://admin.example");
  assert.equal(headers.get("Access-Control-Expose-Headers"), "Location,X-Graph-Version,Retry-After");
});

test("an app whose signal was aborted before opens no stream that stays (W2)", async () => {
  const stop = new AbortController();
  stop.abort();
  await using s: Site = await site([single("waits", (_, ctx) => ctx.interrupt())], { signal: stop.signal });
  const { body: { runId } } = await s.post("/v1/graphs/waits/runs");
  assert.equal(await (await s.app.request(`/v1/runs/${runId}/events`)).text(), "");
});
