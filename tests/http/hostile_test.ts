// Runs on deno by default: the app is the same everywhere; listening, streams and clients have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Hono } from "hono";
import { z } from "zod";
import { defineWait } from "../../mod.ts";
import { GraphBuilder } from "../../src/graph/mod.ts";
import type { Authenticate } from "../../src/http/auth.ts";
import { listen } from "../../src/http/listen.ts";
import type { TaskContext } from "../../src/model/context.ts";
import type { CompiledGraph } from "../../src/model/definition.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { aroundStore } from "../../src/testing/around_store.ts";
import { gate } from "../support/graphs.ts";
import { approval, type Fault, inStatus, single, site } from "./support.ts";
import { head, raw } from "./wire.ts";

test("methods that no route has are refused as such, and are no failure of the server (FC-29)", async () => {
  await using s = await site([approval()], { work: false });
  await using server = await listen(s.app, { port: 0, grace: 0 });
  for (const method of ["TRACE", "TRACK", "get", "post", "PUT", "DELETE", "OPTIONS", "QUERY", "M-SEARCH"]) {
    for (const path of ["/v1/runs", "/v1/nothing", "/ui/runs", "/ui"]) {
      // Some servers refuse some of them before the app is asked.
      const { status } = await raw(server.port, head(method, path, { "Content-Length": 0 }));
      assert.ok([0, 400, 403, 404, 405, 501].includes(status), `${method} ${path}: ${status}`);
    }
  }
  assert.deepEqual(s.warnings, []);
});

test("a host that is none is refused before anything else, and puts nothing into the path (FC-29)", async () => {
  const asked: string[] = [];
  const auth: Authenticate = ({ operation = "none" }) => {
    asked.push(operation);
    return { id: "me" };
  };
  await using s = await site([approval()], { work: false, auth });
  await using server = await listen(s.app, { port: 0, grace: 0 });
  asked.length = 0;
  for (
    const host of [
      "a b",
      "localhost:99999",
      "localhost/../x",
      "localhost/v1/graphs?x=",
      "localhost?",
      "localhost#",
      "joe@localhost",
      "local\\host",
      "[::1",
    ]
  ) {
    for (const path of ["/ui/runs", "/v1/runs", "/v1/nothing"]) {
      const { status } = await raw(server.port, head("GET", path, { Host: host }));
      assert.ok([400, 404].includes(status), `${host} ${path}: ${status}`);
    }
  }
  assert.deepEqual([asked, s.warnings], [[], []]);
});

test("a body that breaks off is no failure of the server, and starts nothing (FC-29)", async () => {
  await using s = await site([approval()], { work: false });
  for (
    const [path, type] of [
      ["/v1/graphs/approval/runs", "json"],
      ["/ui/graphs/approval", "x-www-form-urlencoded"],
    ] as const
  ) {
    const body = new ReadableStream({
      pull(controller) {
        controller.enqueue(new TextEncoder().encode("{"));
        controller.error(new Error("connection reset"));
      },
    }, { highWaterMark: 0 });
    const request = new Request(`http://localhost${path}`, {
      method: "POST",
      body,
      headers: { "Content-Type": `application/${type}`, "Origin": "http://localhost" },
      duplex: "half",
    } as RequestInit);
    const { status } = await s.app.fetch(request);
    assert.deepEqual([status, s.audited.at(-1)!.code], [400, "BODY_BROKEN"]);
  }
  assert.deepEqual(s.warnings, []);
  assert.deepEqual((await s.get("/v1/runs")).body["runs"], []);
});

test("what an authenticator says of what is shown counts only when it says true (FC-34)", async () => {
  await using open = await site([approval()]);
  await open.post("/v1/graphs/approval/runs", { runId: "r", input: { question: "secret" } });
  await inStatus(open, "r", "interrupted");
  const shown = async (caller: object) => {
    const { store } = open;
    const s = await site([approval()], { store, work: false, auth: () => caller as { id: string } });
    const { status, body } = await s.get("/v1/runs/r");
    return status === 200 ? "state" in body : status;
  };
  assert.deepEqual(
    await Promise.all([
      shown({ id: "me" }),
      shown({ id: "me", state: null }),
      shown({ id: "me", state: true }),
      shown({ id: "me", state: false }),
      shown({ id: "me", state: "false" }),
      shown({ id: "me", state: 1 }),
      shown({
        id: "me",
        get state() {
          throw new Error("down");
        },
      }),
    ]),
    [true, true, true, false, false, false, 401],
  );
});

test("a run is said to be where it is, whatever the path is called that the app is mounted at (W2)", async () => {
  await using s = await site([approval()], { work: false });
  const mounted = new Hono().route("/:tenant/x", s.app);
  await using server = await listen(mounted, { port: 0, grace: 0 });
  for (
    const tenant of [
      "joe",
      "%E6%97%A5%E6%9C%AC",
      "a%0D%0AX-Evil:%201",
      "a%20b",
      "a%2Fv1%2Fb",
      "a%25b",
      "%C3%A9",
    ]
  ) {
    const started = await fetch(`${server.url}/${tenant}/x/v1/graphs/approval/runs`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ input: { question: "?" } }),
    });
    assert.equal(started.status, 202, tenant);
    const { runId } = await started.json() as { runId: string };
    assert.equal(started.headers.get("Location"), `/${tenant}/x/v1/runs/${runId}`);
    assert.equal(started.headers.get("X-Evil"), null);
    const document = await fetch(`${server.url}/${tenant}/x/v1/openapi.json`);
    const { servers: [where] } = await document.json() as { servers: [{ url: string }] };
    assert.equal(where.url, `/${tenant}/x`);
  }
});

test("what code of a workflow throws under another state is in no answer (W2)", async () => {
  const Wait = defineWait("w", z.string());
  const builder = new GraphBuilder<{ xs: string[]; secret: string }>({
    id: "map",
    schema: z.object({ xs: z.array(z.string()), secret: z.string() }),
  });
  builder.addVertex<string, string>({
    id: "each",
    waits: [Wait],
    each: (state) => {
      if (state.xs.length > 1) throw new Error(`too many for ${state.secret}`);
      return state.xs;
    },
    task: { execute: (_: string, ctx: TaskContext) => ctx.waitFor(Wait) },
    reduce: () => {},
  });
  const graph = builder.build({ entry: "each", finish: "each" }) as unknown as CompiledGraph<unknown>;
  await using s = await site([graph, single("quick", () => 1)], { expose: { state: false } });
  await s.post("/v1/graphs/map/runs", { runId: "r", input: { xs: ["a"], secret: "hunter2" } });
  await inStatus(s, "r", "interrupted");
  const edited = await s.call<Fault>("PATCH", "/v1/runs/r/state", { body: { set: { xs: ["a", "b"] } } });
  assert.deepEqual([edited.status, edited.body.error.code], [400, "ARGUMENT"]);
  assert.ok(!JSON.stringify(edited.body).includes("hunter2"), JSON.stringify(edited.body));
});

test("no more requests are made to wait than streams may be open; the next one is answered at once (W2)", async () => {
  const work = gate();
  await using s = await site([single("slow", () => work.promise)], { events: { limit: 2 } });
  const start = (runId: string) => s.post("/v1/graphs/slow/runs?wait=60s", { runId });
  const waiting = [start("a"), start("b")];
  for (const runId of ["a", "b"]) await inStatus(s, runId, "running");
  assert.equal((await start("c")).status, 202);
  work.open();
  assert.deepEqual((await Promise.all(waiting)).map(({ status }) => status), [200, 200]);
  assert.equal((await start("d")).status, 200, "those that were answered wait no more");
});

test("runs of graphs that are not served are not looked through, where one is served alone (W2)", async () => {
  const inner = memoryStore();
  await using other = await site([approval()], { store: inner, work: false });
  await using own = await site([single("quick", () => 1)], { store: inner, work: false });
  await own.post("/v1/graphs/quick/runs", { runId: "q" });
  for (let i = 0; i < 60; i++) await other.post("/v1/graphs/approval/runs", { input: { question: "?" } });
  let reads = 0;
  const store = aroundStore(inner, async ({ op, apply }) => {
    if (op === "list" || op === "inspect") reads++;
    return await apply();
  });
  await using s = await site([single("quick", () => 1)], { store, work: false });
  reads = 0;
  // One page, and what becomes of the one run in it.
  const { body } = await s.get<{ runs: { runId: string }[]; done: boolean }>("/v1/runs?limit=5");
  assert.deepEqual([body.runs.map(({ runId }) => runId), body.done, reads], [["q"], true, 2]);
});
