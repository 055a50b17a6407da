import assert from "node:assert/strict";
import { test } from "node:test";
import { Hono } from "hono";
import { createApp } from "../../src/http/app.ts";
import type { AppType } from "../../src/http/contract.ts";
import { listen } from "../../src/http/listen.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { gate } from "../support/graphs.ts";
import { inStatus, single, site, until } from "./support.ts";

const empty = () => createApp({ store: memoryStore(), runners: [] });

test("an app is served until its server is closed, at an address of this machine unless another is given (W2)", async () => {
  const server = await listen(empty(), { port: 0 });
  assert.equal(server.hostname, "127.0.0.1");
  assert.equal(server.url, `http://127.0.0.1:${server.port}`);
  assert.equal((await fetch(`${server.url}/v1/graphs`)).status, 200);
  await server.close();
  await server.closed;
  await server.close();
  await assert.rejects(fetch(`${server.url}/v1/graphs`));
});

test("an address that is taken or is none is an error that names it (W2)", async () => {
  await using server = await listen(empty(), { port: 0 });
  await assert.rejects(listen(empty(), { port: server.port }), (error: Error & { code?: string }) => {
    assert.equal(error.code, "ARGUMENT");
    assert.match(error.message, new RegExp(String(server.port)));
    return true;
  });
  for (const port of [-1, 65_536, 1.5, NaN]) {
    await assert.rejects(listen(empty(), { port }), { code: "ARGUMENT" });
  }
});

test("a request under way is answered while the server closes; one that takes too long is cut (W2)", async () => {
  for (const grace of ["10s", 50] as const) {
    const work = gate();
    await using s = await site([single("slow", () => work.promise)]);
    const server = await listen(s.app, { port: 0, grace });
    const answered = fetch(`${server.url}/v1/graphs/slow/runs?wait=20s`, { method: "POST" }).then(
      (response) => response.status,
      () => "cut",
    );
    await until(async () => {
      const { body } = await s.get<{ runs: { runId: string }[] }>("/v1/runs");
      return body.runs.length === 1;
    });
    const closing = server.close();
    if (grace === "10s") work.open();
    assert.equal(await answered, grace === "10s" ? 200 : "cut");
    await closing;
    work.open();
    const { body } = await s.get<{ runs: [{ runId: string }] }>("/v1/runs");
    await inStatus(s, body.runs[0].runId, "completed");
  }
});

test("a server is closed by its signal, also one that was aborted before (W2)", async () => {
  const stop = new AbortController();
  const server = await listen(empty(), { port: 0, signal: stop.signal });
  stop.abort();
  await server.closed;
  const late = await listen(empty(), { port: 0, signal: stop.signal });
  await late.closed;
});

const MOUNTS: Readonly<Record<string, (app: AppType) => Hono>> = {
  route: (app) => new Hono().route("/deep", new Hono().route("/flows", app)),
  mount: (app) => new Hono().mount("/deep/flows", app.fetch),
};

for (const [how, mount] of Object.entries(MOUNTS)) {
  test(`a server ends the streams of an app that is mounted by ${how}, and does not serve it to other machines without auth (FT-F12, W2)`, async () => {
    await using s = await site([single("waits", (_, ctx) => ctx.interrupt())]);
    const server = await listen(mount(s.app), { port: 0, grace: "60s" });
    const { body: { runId } } = await s.post("/v1/graphs/waits/runs");
    const stream = await fetch(`${server.url}/deep/flows/v1/runs/${runId}/events`);
    assert.equal(stream.status, 200);
    const reading = stream.text();
    await server.close();
    assert.match(await reading, /^retry: 1000/);

    const open = mount(empty());
    if (how === "route") {
      await assert.rejects(listen(open, { port: 0, hostname: "0.0.0.0" }), /the app has no auth/);
    } else {
      await using wide = await listen(open, { port: 0, hostname: "0.0.0.0" });
      assert.equal((await fetch(`http://127.0.0.1:${wide.port}/deep/flows/v1/graphs`)).status, 403);
    }
    for (const more of [{ insecure: true }, { auth: () => ({ id: "anna" }) }]) {
      const app = mount(createApp({ store: memoryStore(), runners: [], ...more }));
      await using wide = await listen(app, { port: 0, hostname: "0.0.0.0" });
      assert.equal((await fetch(`http://127.0.0.1:${wide.port}/deep/flows/v1/graphs`)).status, 200);
    }
  });
}

test("open streams end with the app, so that its server closes at once (W2)", async () => {
  const stop = new AbortController();
  await using s = await site([single("waits", (_, ctx) => ctx.interrupt())], { signal: stop.signal });
  const server = await listen(s.app, { port: 0, signal: stop.signal, grace: "60s" });
  const { body: { runId } } = await s.post("/v1/graphs/waits/runs");
  const stream = await fetch(`${server.url}/v1/runs/${runId}/events`);
  const reading = stream.text();
  stop.abort();
  await server.closed;
  assert.match(await reading, /^retry: 1000/);
});
