// Runs on deno by default: the app is the same everywhere; listening, streams and clients have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Hono } from "hono";
import { createApp } from "../../src/http/app.ts";
import { listen } from "../../src/http/listen.ts";
import type { AppOptions } from "../../src/http/options.ts";
import { serve, type ServeOptions } from "../../src/worker/mod.ts";
import { approval, type Fault, inStatus, single, site } from "./support.ts";

/** What only someone without a compiler can write. */
const untyped = <T>(value: unknown) => value as T;

test("options that are none, or not what they must be, are refused with what to do (W2)", async () => {
  await using s = await site([approval()], { work: false });
  const { runners } = s;
  for (
    const [options, message] of [
      [undefined, /it was given no options; give `\{ store, workflows/],
      [{ runners, auht: () => ({ id: "me" }) }, /there is no option "auht"; did you mean "auth"\?/],
      [{ runners, dashbord: false }, /did you mean "dashboard"\?/],
      [{ runners, auth: "s3cret" }, /auth is of type string; give a function/],
      [{ runners, auth: null }, /auth is of type object; give a function/],
      [{ runners, dashboard: "no" }, /dashboard is of type string; give true or false/],
      [{ runners, insecure: 1 }, /insecure is of type number/],
      [{ runners, login: true }, /login is of type boolean; give a path/],
      [
        { runners, expose: { cause: true } },
        /in expose, there is no option "cause"; did you mean "causes"\?/,
      ],
      [{ runners, events: { heartbeats: "1s" } }, /in events, .* did you mean "heartbeat"\?/],
      [{ runners, origins: "https://a.example" }, /origins must be a list/],
      [{ runners, origins: ["https://a.example/"] }, /without a path/],
      [{ runners, origins: ["*"] }, /origins must be a list of origins/],
    ] as const
  ) {
    assert.throws(() => createApp(untyped<AppOptions>(options)), (error: Error) => {
      assert.equal(error.name, "BuildError");
      assert.match(error.message, message);
      return true;
    });
  }
  await assert.rejects(
    listen(untyped(undefined)),
    /the first argument is no app; give what createApp returns/,
  );
  await assert.rejects(
    listen(s.app, untyped({ host: "localhost" })),
    /no option "host" here; write hostname/,
  );
  await assert.rejects(serve(untyped<ServeOptions>({ runners, handleSignal: true })), (error: Error) => {
    assert.equal(error.name, "ArgumentError");
    assert.match(error.message, /there is no option "handleSignal"; did you mean "handleSignals"\?/);
    return true;
  });
});

test("without auth nobody is served whom a proxy speaks for, and is told why (W2)", async () => {
  await using s = await site([approval()], { work: false });
  for (const name of ["X-Forwarded-For", "X-Forwarded-Host", "Forwarded", "X-Real-IP", "Via"]) {
    const { status, body } = await s.call<Fault>("GET", "/v1/graphs", { headers: { [name]: "10.0.0.7" } });
    assert.deepEqual([status, body.error.code], [403, "LOCAL_ONLY"], name);
    assert.match(body.error.message, /without auth only this machine is served/);
  }
  await using behind = await site([approval()], { work: false, insecure: true });
  assert.equal((await behind.get("/v1/graphs", { "X-Forwarded-For": "10.0.0.7" })).status, 200);
  await using asked = await site([approval()], { work: false, auth: () => ({ id: "me" }) });
  assert.equal((await asked.get("/v1/graphs", { "X-Forwarded-For": "10.0.0.7" })).status, 200);
});

test("a server that closes ends the streams of its app at once, and the app can be served anew (W2)", async () => {
  await using s = await site([single("waits", (_, ctx) => ctx.interrupt())]);
  await s.post("/v1/graphs/waits/runs", { runId: "r" });
  await inStatus(s, "r", "interrupted");
  for (const round of [1, 2]) {
    const server = await listen(s.app, { port: 0, grace: "30s" });
    const response = await fetch(`${server.url}/v1/runs/r/events`);
    const began = Date.now();
    const [text] = await Promise.all([response.text(), server.close()]);
    assert.ok(Date.now() - began < 10_000, "nobody waited for the grace");
    assert.match(text, /event: checkpoint/, `round ${round}`);
  }
});

test("the root of an app leads to its dashboard, wherever it is mounted (W3)", async () => {
  await using s = await site([approval()], { work: false });
  const at = async (app: { request(path: string): Response | Promise<Response> }, path: string) => {
    const answer = await app.request(path);
    return new URL(answer.headers.get("Location")!, `http://localhost${path}`).pathname;
  };
  assert.equal(await at(s.app, "/"), "/ui");
  const mounted = new Hono().route("/flows", s.app).route("/deep/down", s.app);
  assert.equal(await at(mounted, "/flows"), "/flows/ui");
  assert.equal(await at(mounted, "/deep/down"), "/deep/down/ui");
  await using off = await site([approval()], { work: false, dashboard: false });
  assert.equal((await off.app.request("/")).status, 404);
});

test("browsers that are denied are sent to the login, where there is one, and back from there (W3)", async () => {
  await using s = await site([approval()], { work: false, auth: () => undefined, login: "/login" });
  const page = await s.app.request("/ui/runs?tag=a");
  assert.equal(page.status, 303);
  assert.equal(page.headers.get("Location"), "/login?next=%2Fui%2Fruns%3Ftag%3Da");
  assert.equal(page.headers.get("WWW-Authenticate"), null);
  assert.equal((await s.app.request("/v1/runs")).status, 401, "programs are told");
  const form = await s.app.request("/ui/graphs/approval", {
    method: "POST",
    headers: { "Origin": "http://localhost", "Content-Type": "application/x-www-form-urlencoded" },
    body: "key=k",
  });
  assert.equal(form.status, 401, "what was sent is not thrown away in silence");
});

test("values of events are told where they are asked for and allowed, without states (W2)", async () => {
  await using s = await site([approval()]);
  await s.post("/v1/graphs/approval/runs", { runId: "r", input: { question: "why" } });
  const { body } = await inStatus(s, "r", "interrupted");
  const [{ waitId }] = body.waits as [{ waitId: string }];
  await s.post(`/v1/runs/r/waits/${waitId}/answer`, { value: { approve: true, note: "n" } });
  await inStatus(s, "r", "completed");
  const answers = async (app: typeof s, query: string) => {
    const { body } = await app.get<
      { checkpoints: { state?: unknown; events: { type: string; result?: unknown }[] }[] }
    >(
      `/v1/runs/r/history${query}`,
    );
    assert.ok(body.checkpoints.every((checkpoint) => !("state" in checkpoint)));
    return body.checkpoints.flatMap(({ events }) =>
      events.filter((e) => e.type === "resolved").map((e) => e.result)
    );
  };
  const [plain] = await answers(s, "");
  assert.ok(!JSON.stringify(plain).includes("approve"));
  const [told] = await answers(s, "?include_values=true");
  assert.deepEqual((told as { value: unknown }).value, { approve: true, note: "n" });
  await using blind = await site([approval()], { store: s.store, work: false, expose: { state: false } });
  const [hidden] = await answers(blind, "?include_values=true");
  assert.ok(!JSON.stringify(hidden).includes("approve"));
  const twice = await s.call<Fault>("POST", `/v1/runs/r/waits/${waitId}/answer`, {
    body: { value: { approve: true } },
  });
  assert.deepEqual([twice.status, twice.body.error.message], [409, "the wait was answered before"]);
});
