import assert from "node:assert/strict";
import { test } from "node:test";
import { hc } from "hono/client";
import {
  type AppType,
  bodyOf,
  createClient,
  events,
  fromJson,
  ResponseError,
} from "../../src/http/client.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { aroundStore } from "../../src/testing/around_store.ts";
import { createApp } from "../../src/http/app.ts";
import { approval, inStatus, single, type Site, site } from "./support.ts";

/** A client of an app in this process. */
function clientOf(s: Pick<Site, "app">, headers: Record<string, string> = {}) {
  const fetch =
    ((input: string | Request | URL, init?: RequestInit) =>
      s.app.request(input as string, init)) as typeof globalThis.fetch;
  return createClient("http://localhost", { fetch, headers });
}

/** The records alone of what the client tells. */
async function* checkpoints(...args: Parameters<typeof events>) {
  for await (const event of events(...args)) if (event.type === "checkpoint") yield event;
}

test("the typed client starts, follows, answers, forks, edits and cancels runs (W2)", async () => {
  await using s = await site([approval()], {
    auth: ({ request }) => request.headers.get("authorization") === "Bearer t" ? { id: "a" } : undefined,
  });
  const api = clientOf(s, { authorization: "Bearer t" });
  const { graphs } = await bodyOf(api.v1.graphs.$get());
  assert.equal(graphs[0]!.graphId, "approval");
  const run = await bodyOf(api.v1.graphs[":graph_id"].runs.$post({
    param: { graph_id: "approval" },
    query: { wait: "10s" },
    header: { "idempotency-key": "k" },
    json: { input: { question: "?" } },
  }));
  assert.ok("state" in run);
  const runId = run.run.runId;
  const { waits } = await bodyOf(api.v1.waits.$get({ query: { run_id: runId } }));
  const following = (async () => {
    const statuses: string[] = [];
    for await (const { status } of checkpoints(api, runId)) statuses.push(status);
    return statuses;
  })();
  const accepted = await bodyOf(api.v1.runs[":run_id"].waits[":wait_id"].answer.$post({
    param: { run_id: runId, wait_id: waits[0]!.waitId },
    json: { value: { approve: true } },
  }));
  assert.equal(accepted.runId, runId);
  assert.equal((await following).at(-1), "completed");
  const done = await bodyOf(api.v1.runs[":run_id"].$get({ param: { run_id: runId } }));
  assert.deepEqual(done.state, { question: "?", draft: "about ?", approved: true });
  const fork = await bodyOf(
    api.v1.runs[":run_id"].fork.$post({ param: { run_id: runId }, json: { revision: 1 } }),
  );
  const end = await bodyOf(
    api.v1.runs[":run_id"].cancel.$post({ param: { run_id: fork.runId }, json: { reason: "no" } }),
  );
  assert.deepEqual([end.status, end.reason], ["cancelled", "no"]);
});

test("an error is thrown with its status, code and issues (W2)", async () => {
  await using s = await site([approval()], { work: false });
  const api = clientOf(s);
  const start = (input: unknown) =>
    bodyOf(api.v1.graphs[":graph_id"].runs.$post({ param: { graph_id: "approval" }, json: { input } }));
  await assert.rejects(start({ question: 1 }), (error: unknown) => {
    assert.ok(error instanceof ResponseError);
    assert.deepEqual([error.status, error.code, error.retryable], [422, "VALIDATION", false]);
    assert.equal(error.issues[0]!.path, "question");
    assert.match(error.message, /VALIDATION.*question: /);
    return true;
  });
  const broken = createClient("http://localhost", {
    fetch: () => Promise.resolve(new Response("<html>Bad gateway</html>", { status: 502 })),
  });
  await assert.rejects(bodyOf(broken.v1.graphs.$get()), { status: 502, code: "HTTP" });
});

test("a stream that the server refuses for good ends in its error; one that breaks off is taken up again (W2)", async () => {
  await using s = await site([single("echo", () => 0)]);
  const api = clientOf(s);
  await assert.rejects(async () => {
    for await (const _ of events(api, "nobody")) assert.fail("there is no such run");
  }, { status: 404, code: "CHECKPOINT_NOT_FOUND" });
  const { body: { runId } } = await s.post("/v1/graphs/echo/runs");
  await inStatus(s, runId as string, "completed");
  let calls = 0;
  const flaky = createClient("http://localhost", {
    fetch: (async (input: string, init?: RequestInit) => {
      calls++;
      if (calls === 1) throw new TypeError("connection refused");
      if (calls === 2) {
        return new Response('{"error":{"code":"STORE","message":"-","retryable":true}}', { status: 503 });
      }
      const response = await s.app.request(input, init);
      // Cut after the first record.
      if (calls > 3) return response;
      const [first] = (await response.text()).split("event: checkpoint\n").slice(1);
      return new Response(`id: 0\nevent: checkpoint\n${first}`, { headers: response.headers });
    }) as typeof fetch,
  });
  const seen: number[] = [];
  for await (const { revision } of checkpoints(flaky, runId as string, { retry: 1 })) seen.push(revision);
  assert.deepEqual(seen, seen.map((_, i) => i));
  assert.ok(seen.length > 1 && calls === 4);
});

test("what a server tells again is passed over, and of a run that is over and seen there is nothing to follow (W2)", async () => {
  await using s = await site([single("echo", () => 0)]);
  const { body: { runId } } = await s.post("/v1/graphs/echo/runs");
  await inStatus(s, runId as string, "completed");
  const again = createClient("http://localhost", {
    fetch: ((input: string, init?: RequestInit) =>
      s.app.request(input.replace(/\?.*/, ""), init)) as typeof fetch,
  });
  const seen: number[] = [];
  for await (const { revision } of checkpoints(again, runId as string, { after: "0" })) seen.push(revision);
  assert.equal(seen[0], 1);
  const after = `${seen.at(-1)}`;
  for await (const _ of events(clientOf(s), runId as string, { after })) assert.fail("there is no more");
});

test("following ends when it is aborted, without an error (W2)", async () => {
  await using s = await site([single("waits", (_, ctx) => ctx.interrupt())]);
  const { body: { runId } } = await s.post("/v1/graphs/waits/runs");
  const stop = new AbortController();
  for await (const { status } of checkpoints(clientOf(s), runId as string, { signal: stop.signal })) {
    if (status === "interrupted") stop.abort();
  }
  for await (const _ of events(clientOf(s), runId as string, { signal: stop.signal })) {
    assert.fail("it was aborted before");
  }
});

test("what another process appends is streamed too, by looking at the store (W2)", async () => {
  const store = memoryStore();
  await using s = await site([single("echo", () => 0)], { store });
  const elsewhere = createApp({
    runners: (await site([single("echo", () => 0)], {
      store: aroundStore(store, ({ apply }) => apply()),
      work: false,
    })).runners,
    events: { poll: "20ms" },
  });
  const { body: { runId } } = await s.post("/v1/graphs/echo/runs");
  const statuses: string[] = [];
  for await (const { status } of checkpoints(clientOf({ app: elsewhere }), runId as string)) {
    statuses.push(status);
  }
  assert.equal(statuses.at(-1), "completed");
});

test("what bodies emit comes between the records, typed, also after a stream that broke off, and its data only where states are shown (A1, W2)", async () => {
  const store = memoryStore();
  const talk = single("talk", async (_, ctx) => {
    for (const word of ["one", "two", "three"]) ctx.emit("word", { word, at: new Date(0) });
    await ctx.once("said", () => 1);
    ctx.emit("word", { word: "four" });
  });
  await using s = await site([talk], { store });
  const { body: { runId } } = await s.post("/v1/graphs/talk/runs");
  await inStatus(s, runId as string, "completed");
  let calls = 0;
  const broken = createClient("http://localhost", {
    fetch: (async (input: string, init?: RequestInit) => {
      const response = await s.app.request(input, init);
      calls++;
      if (calls > 2) return response;
      // Cut after a few messages.
      const messages = (await response.text()).split("\n\n").slice(0, 4).join("\n\n");
      return new Response(`${messages}\n\n`, { headers: response.headers });
    }) as typeof fetch,
  });
  const told: string[] = [];
  for await (const event of events(broken, runId as string, { retry: 1 })) {
    if (event.type !== "emit") told.push(event.type === "checkpoint" ? `#${event.revision}` : event.type);
    else told.push((fromJson(event.data, "an emit") as { word: string }).word);
  }
  assert.deepEqual(told, ["#0", "#1", "one", "two", "three", "#2", "four", "#3"]);
  assert.ok(calls > 2);
  const shy = createApp({ runners: s.runners, expose: { state: false } });
  for await (const event of events(clientOf({ app: shy }), runId as string)) {
    if (event.type === "emit") assert.deepEqual([event.name, "data" in event], ["word", false]);
  }
  const without = await s.app.request(`/v1/runs/${runId}/events?emits=false`);
  assert.ok(!(await without.text()).includes("event: emit"));
});

test("the type of an app is that of Hono's own client (W2)", async () => {
  await using s = await site([approval()], { work: false });
  const plain = hc<AppType>("http://localhost", { fetch: s.app.request as typeof fetch });
  const response = await plain.v1.runs.$get({ query: { limit: "1" } });
  if (response.status !== 200) assert.fail("not served");
  const { runs, done }: { runs: readonly { readonly runId: string }[]; done: boolean } = await response
    .json();
  assert.deepEqual([runs, done], [[], true]);
});
