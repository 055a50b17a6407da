// Runs on deno by default: pages are text, the same everywhere.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ApiCall } from "../../../src/http/auth.ts";
import { approval, type Body, inStatus, type Site, site, type SiteOptions } from "../support.ts";
import { Visitor } from "./support.ts";

async function paused(options: SiteOptions = {}): Promise<Site> {
  const s = await site([approval()], options);
  const [runner] = s.runners;
  await runner!.submit({ question: "secret question" }, { runId: "r", tags: ["t"] });
  for (let i = 0; (await runner!.status("r")).status !== "interrupted"; i++) {
    assert.ok(i < 500);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return s;
}

/** Everything that a form of the dashboard can do, as it is sent. */
async function postsOf(s: Site): Promise<readonly (readonly [string, [string, string][]])[]> {
  const { rows: [wait] } = await s.runners[0]!.waits();
  const version = s.runners[0]!.graph.version;
  return [
    ["/ui/graphs/approval", [["value/question", "why"], ["key", "k"], ["version", version]]],
    [`/ui/runs/r/waits/${wait!.waitId}`, [["value/approve", "true"]]],
    ["/ui/runs/r/fork", [["revision", "1"]]],
    ["/ui/runs/r/resume", []],
    ["/ui/runs/r/cancel", [["reason", "no"]]],
  ];
}

/** What the store holds, as far as anything that was posted could change it. */
async function contents(s: Site): Promise<unknown> {
  const [runner] = s.runners;
  const { rows } = await runner!.list();
  const { run, status } = await runner!.get("r");
  return [rows.map((row) => row.runId), run.revision, status, (await runner!.waits()).rows.length];
}

test("forms are taken from pages of the app alone, whatever a browser sends along (W3)", async () => {
  await using s = await paused();
  const visitor = new Visitor(s.app);
  const before = await contents(s);
  const foreign: Readonly<Record<string, string>>[] = [
    { "Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site" },
    { "Origin": "http://localhost:81", "Sec-Fetch-Site": "same-site" },
    { "Origin": "http://app.localhost", "Sec-Fetch-Site": "same-site" },
    { "Origin": "null", "Sec-Fetch-Site": "cross-site" },
    { "Origin": "null", "Sec-Fetch-Site": "same-origin" },
    { "Origin": "http://localhost", "Sec-Fetch-Site": "cross-site" },
    { "Origin": "http://localhost", "Sec-Fetch-Site": "none" },
    { "Origin": "" },
  ];
  for (const [path, fields] of await postsOf(s)) {
    for (const headers of foreign) {
      const answer = await visitor.post(path, fields, headers);
      assert.equal(answer.status, 403, `${path} ${JSON.stringify(headers)}`);
    }
    const bare = await s.app.request(path, {
      method: "POST",
      headers: { "Content-Type": "application/x-www-form-urlencoded" },
      body: new URLSearchParams(fields).toString(),
    });
    assert.equal(bare.status, 403, `${path} without an origin`);
  }
  assert.deepEqual(await contents(s), before);
});

test("origins that may use the API may not send forms of the dashboard (W3)", async () => {
  await using s = await paused({ origins: ["https://admin.example"] });
  const before = await contents(s);
  for (const [path, fields] of await postsOf(s)) {
    const answer = await new Visitor(s.app).post(path, fields, {
      "Origin": "https://admin.example",
      "Sec-Fetch-Site": "cross-site",
    });
    assert.equal(answer.status, 403, path);
  }
  assert.deepEqual(await contents(s), before);
});

test("a form is what browsers make of one: nothing else is taken, and nothing large (W3)", async () => {
  await using s = await paused({ bodyLimit: 1_000 });
  const before = await contents(s);
  const send = (type: string, body: BodyInit) =>
    s.app.request("/ui/graphs/approval", {
      method: "POST",
      headers: { "Content-Type": type, "Origin": "http://localhost" },
      body,
    });
  assert.equal((await send("application/json", '{"input":{}}')).status, 415);
  assert.equal((await send("text/plain", "value/question=why")).status, 415);
  assert.equal((await send("multipart/form-data; boundary=x", "--x--")).status, 415);
  assert.equal((await send("application/x-www-form-urlencoded", "a=" + "b".repeat(1_000))).status, 413);
  assert.equal(
    (await send("application/x-www-form-urlencoded", new Uint8Array([0x61, 0x3d, 0xff]))).status,
    400,
  );
  const api = await s.app.request("/v1/graphs/approval/runs", {
    method: "POST",
    headers: { "Content-Type": "application/x-www-form-urlencoded" },
    body: "input=1",
  });
  assert.equal(api.status, 415, "and the API takes no forms");
  assert.deepEqual(await contents(s), before);
});

test("whoever may not use the API sees no page, and a browser is asked for a name and a password (W2, W3)", async () => {
  const asked: string[] = [];
  const auth = ({ request, operation = "none" }: ApiCall) => {
    asked.push(operation);
    const [, given = ""] = /^Basic (.*)$/.exec(request.headers.get("Authorization") ?? "") ?? [];
    return given === btoa("me:letmein") ? { id: "me" } : undefined;
  };
  await using s = await paused({ auth });
  const posts = await postsOf(s);
  const before = await contents(s);
  asked.length = 0;
  const stranger = new Visitor(s.app);
  for (
    const path of [
      "",
      "/runs",
      "/runs/r",
      "/runs/r/revisions/1",
      "/waits",
      "/graphs",
      "/graphs/approval",
      "/style.css",
      "/x",
    ]
  ) {
    const page = await stranger.open(`/ui${path}`);
    assert.equal(page.status, 401, path);
    assert.match(page.headers.get("WWW-Authenticate")!, /^Basic realm="superstep"/);
    assert.match(page.text, /Who are you\?/);
    assert.ok(!page.text.includes("secret question"));
  }
  for (const [path, fields] of posts) assert.equal((await stranger.post(path, fields)).status, 401, path);
  assert.deepEqual(await contents(s), before);
  assert.deepEqual(new Set(asked), new Set(["dashboard"]), "they are not let in to ask for more");
  const api = await s.app.request("/v1/runs");
  assert.match(api.headers.get("WWW-Authenticate")!, /^Bearer/);

  asked.length = 0;
  const me = new Visitor(s.app, { Authorization: `Basic ${btoa("me:letmein")}` });
  const page = await me.open("/ui/runs/r");
  assert.equal(page.status, 200);
  assert.match(page.text, /secret question/);
  assert.deepEqual(
    asked,
    ["dashboard", "getRun", "getTopology", "getHistory", "listWaits"],
    "each thing it shows is asked for",
  );
});

test("what a caller may not do over the API, no form does for them (W2, W3)", async () => {
  const forbidden = new Set<string>();
  const auth = ({ operation = "" }: ApiCall) =>
    forbidden.has(operation) ? "forbidden" as const : { id: "me" };
  await using s = await paused({ auth });
  const visitor = new Visitor(s.app);
  const posts = await postsOf(s);
  const before = await contents(s);
  for (const operation of ["startRun", "answerWait", "forkRun", "resumeRun", "cancelRun"]) {
    forbidden.add(operation);
  }
  for (const [path, fields] of posts) {
    const answer = await visitor.post(path, fields);
    assert.equal(answer.status, 403, path);
    assert.match(answer.text, /You may not do this/);
  }
  assert.deepEqual(await contents(s), before);
  forbidden.clear();
  forbidden.add("getHistory");
  assert.equal((await visitor.open("/ui/runs/r")).status, 403, "nor does a page show it");
  assert.equal((await visitor.open("/ui/waits")).status, 200);
});

test("a state is on no page where it is not exposed (W2, W3)", async () => {
  await using s = await paused({ expose: { state: false } });
  const visitor = new Visitor(s.app);
  for (const path of ["runs", "runs/r", "runs/r/revisions/1", "runs/r/revisions/2"]) {
    const page = await visitor.open(`/ui/${path}`);
    assert.equal(page.status, 200, path);
    assert.ok(!page.text.includes("&quot;question&quot;"), path);
    assert.ok(!/>State</.test(page.text), path);
  }
});

test("paths that name nothing are asked for nowhere (W3)", async () => {
  const asked: string[] = [];
  await using s = await paused({
    auth: ({ operation = "none" }) => {
      asked.push(operation);
      return { id: "me" };
    },
  });
  const visitor = new Visitor(s.app);
  asked.length = 0;
  for (
    const path of [
      "runs/..%2F..%2Fv1%2Fgraphs",
      "runs/r%2Fcancel",
      "runs/r%3Frevision=1",
      "runs/r/revisions/-1",
      "runs/r/revisions/1.5",
      "runs/r/revisions/9999999999999999",
      "runs/r/waits/..%2F..%2F..%2Fgraphs",
      "graphs/%00",
      "graphs/a%0d%0ab",
      "nothing",
    ]
  ) {
    const page = await visitor.open(`/ui/${path}`);
    assert.equal(page.status, 404, path);
    assert.match(page.text, /There is nothing here/);
  }
  assert.deepEqual(new Set(asked), new Set(["dashboard"]));
});

test("the dashboard can be switched off, and is no part of the description (W3)", async () => {
  await using s = await site([approval()], { dashboard: false, work: false });
  for (const path of ["/ui", "/ui/", "/ui/runs", "/ui/style.css"]) {
    const answer = await s.app.request(path);
    assert.equal(answer.status, 404, path);
    assert.equal((await answer.json() as { error: { code: string } }).error.code, "NOT_FOUND");
  }
  await using on = await site([approval()], { work: false });
  const { body } = await on.get<{ paths: Body }>("/v1/openapi.json");
  assert.deepEqual(Object.keys(body.paths).filter((path) => !path.startsWith("/v1/")), []);
});

test("every request of a page is audited as what it asks for, without what was sent (W3)", async () => {
  await using s = await paused({ auth: () => ({ id: "me" }) });
  const visitor = new Visitor(s.app);
  const [path, fields] = (await postsOf(s))[1]!;
  s.audited.length = 0;
  await visitor.post(path, [...fields, ["value/note", "do not log me"]]);
  await inStatus(s, "r", "completed");
  const answered = s.audited.find(({ operation }) => operation === "answerWait")!;
  assert.deepEqual([answered.caller, answered.runId, answered.status], ["me", "r", 202]);
  assert.ok(
    s.audited.some(({ operation, method, status }) =>
      operation === "dashboard" && method === "POST" && status === 303
    ),
  );
  assert.ok(!JSON.stringify(s.audited).includes("do not log me"));
});
