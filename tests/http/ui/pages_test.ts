// Runs on deno by default: pages are text, the same everywhere.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Hono } from "hono";
import { compile } from "../../../src/compile.ts";
import { serve } from "../../../src/worker/mod.ts";
import { approval, inStatus, single, type Site, site } from "../support.ts";
import { type Page, unescaped, Visitor } from "./support.ts";

/** What a page says, without its marks. */
const words = ({ text }: Page) =>
  unescaped(text.replace(/<script[\s\S]*?<\/script>|<[^>]*>/g, " ")).replace(/\s+/g, " ");

const start = async (s: Site, runId: string, question = "why", tags: readonly string[] = []) => {
  await s.post("/v1/graphs/approval/runs", { runId, input: { question }, tags });
  return await inStatus(s, runId, "interrupted");
};

const waitOf = async (s: Site, runId: string) =>
  ((await s.get(`/v1/runs/${runId}`)).body.waits as [{ waitId: string }])[0].waitId;

test("a run is started, answered, seen to its end, looked back at and forked with forms alone (W3)", async () => {
  await using s = await site([approval()]);
  const visitor = new Visitor(s.app);
  const graphs = await visitor.open("/ui/graphs");
  assert.match(words(graphs), /approval/);
  const started = await visitor.submit(await visitor.open("/ui/graphs/approval"), "Start run", {
    "value/question": "What does it cost?",
    tags: "vip  eu",
  });
  const runId = started.url.pathname.split("/").at(-1)!;
  assert.match(words(started), /The run is stored/);
  await inStatus(s, runId, "interrupted");
  const paused = await visitor.open(`/ui/runs/${runId}`);
  assert.match(
    words(paused),
    /awaiting.*eu vip.*draft done 1 1.*review\) suspended.*verdict.*about What does it cost\?/s,
  );
  const inbox = await visitor.open("/ui/waits");
  const answered = await visitor.submit(inbox, "Answer", { "value/approve": "true", "value/note": "fine" });
  assert.equal(answered.url.pathname, "/ui/waits", "the next one is answered there, too");
  assert.match(words(answered), /The answer is accepted/);
  const { body } = await inStatus(s, runId, "completed");
  assert.deepEqual(body.state, {
    question: "What does it cost?",
    draft: "about What does it cost?",
    approved: true,
  });
  const done = await visitor.open(`/ui/runs/${runId}`);
  assert.match(words(done), /completed.*draft done.*review done.*Revision/s);
  assert.match(words(done), /review got the answer \{"approve":true,"note":"fine"\}/);
  assert.deepEqual(done.forms, [], "nothing is left to do");

  const { body: { checkpoints } } = await s.get<
    { checkpoints: { revision: number; events: { type: string; vertexId?: string }[] }[] }
  >(
    `/v1/runs/${runId}/history`,
  );
  const drafted = checkpoints.find(({ events }) =>
    events.some((e) => e.type === "done" && e.vertexId === "draft")
  )!;
  const then = await visitor.open(`/ui/runs/${runId}/revisions/${drafted.revision}`);
  assert.match(words(then), /draft done in.*draft added "about What does it cost\?"/s);
  const forked = await visitor.submit(then, "Fork from here");
  const again = await visitor.submit(then, "Fork from here");
  assert.equal(again.url.pathname, forked.url.pathname, "a form that is sent twice makes one run");
  assert.match(
    words(await visitor.open(`/ui/runs/${runId}/revisions/${checkpoints.length - 1}`)),
    /The run is over/,
  );
  assert.match(
    words(forked),
    new RegExp(`This is the new run.*Fork of ${runId} , revision ${drafted.revision}`, "s"),
  );
  assert.notEqual(forked.url.pathname, done.url.pathname);
});

test("every link and form of every page leads to something, wherever the app is mounted (W3)", async () => {
  await using s = await site([approval(1), approval(2), single("naps", (_, ctx) => ctx.sleep("nap", "1h"))]);
  const version = s.runners[1]!.graph.version;
  for (const tags of [["a:b"], ["c.d"]]) {
    await s.post(`/v1/graphs/approval/runs?version=${version}`, { input: { question: "q" }, tags });
  }
  await s.post("/v1/graphs/naps/runs", { runId: "n" });
  await inStatus(s, "n", "interrupted");
  const mounted = new Hono().route("/deep/down", s.app);
  const visitor = new Visitor(mounted);
  const seen = new Map<string, number>();
  const ahead = ["/deep/down/ui"];
  for (let path = ahead.shift(); path !== undefined; path = ahead.shift()) {
    if (seen.has(path)) continue;
    const page = await visitor.open(path);
    seen.set(path, page.status);
    assert.equal(page.status, 200, path);
    for (const link of page.links) {
      const to = new URL(link, page.url);
      assert.equal(to.origin, "http://localhost", `${path} leads elsewhere: ${link}`);
      assert.ok(to.pathname.startsWith("/deep/down/ui/"), `${path} leads out of the app: ${link}`);
      const posts = page.forms.some(({ action, method }) => action === link && method === "post");
      if (!posts) ahead.push(to.pathname + to.search);
    }
  }
  assert.ok(seen.size > 20, [...seen.keys()].join("\n"));
});

test("what users wrote is text on every page (W3)", async () => {
  await using s = await site([approval()]);
  const hostile = `"><script>alert(1)</script><img src=x onerror=alert(2)>'\u202e😀`;
  await start(s, "r", hostile);
  const visitor = new Visitor(s.app);
  const waitId = await waitOf(s, "r");
  await s.post(`/v1/runs/r/waits/${waitId}/answer`, { value: { approve: true, note: hostile } });
  await inStatus(s, "r", "completed");
  await start(s, "open", hostile);
  await s.post("/v1/runs/open/cancel", { reason: hostile });
  await start(s, "r2", hostile);
  for (
    const path of [
      "runs",
      "runs?tag=%3Cscript%3E",
      "runs?status=%3Cscript%3E",
      "waits",
      "runs/r",
      "runs/open",
      "runs/r2",
      "runs/r/revisions/1",
      "runs/r/revisions/2",
      `runs/r2/waits/${await waitOf(s, "r2")}`,
      "runs/r/waits/%3Cscript%3E",
      "%3Cscript%3E",
    ]
  ) {
    const { text } = await visitor.open(`/ui/${path}`);
    assert.ok(!/<script(?! type="module" src="[./]*live\.js">)/i.test(text), path);
    assert.ok(!/<img/i.test(text), path);
  }
  assert.match((await visitor.open("/ui/runs/r2")).text, /&lt;script&gt;alert\(1\)/);
});

test("pages hold no script, style or handler of their own, and the policy allows none (W3)", async () => {
  await using s = await site([approval()]);
  await start(s, "r");
  const visitor = new Visitor(s.app);
  for (
    const path of ["runs", "runs/r", "runs/r/revisions/1", "waits", "graphs", "graphs/approval", "nothing"]
  ) {
    const { text, headers } = await visitor.open(`/ui/${path}`);
    assert.ok(!/ style=| on\w+=|<style|javascript:/i.test(text), path);
    const policy = headers.get("Content-Security-Policy")!;
    assert.match(policy, /default-src 'none'/);
    assert.match(policy, /frame-ancestors 'none'/);
    assert.match(policy, /form-action 'self'/);
    assert.ok(!policy.includes("unsafe"));
    assert.equal(headers.get("Cache-Control"), "no-store");
    assert.equal(headers.get("X-Content-Type-Options"), "nosniff");
  }
  const api = await s.app.request("/v1/graphs");
  assert.match(api.headers.get("Content-Security-Policy")!, /^default-src 'none'; frame-ancestors 'none'$/);
});

test("a form that is sent twice starts one run (W3)", async () => {
  await using s = await site([approval()], { work: false });
  const visitor = new Visitor(s.app);
  const form = await visitor.open("/ui/graphs/approval");
  const first = await visitor.submit(form, "Start run", { "value/question": "why" });
  const second = await visitor.submit(form, "Start run", { "value/question": "why" });
  assert.equal(second.url.pathname, first.url.pathname);
  assert.equal((await s.get<{ runs: unknown[] }>("/v1/runs")).body.runs.length, 1);
  const other = await visitor.submit(form, "Start run", { "value/question": "else" });
  assert.equal(other.status, 422);
  assert.match(words(other), /The run was not started: the id or the key is taken by another run/);
});

test("what was refused comes back with what was sent and what is wrong with it, and changes nothing (W3)", async () => {
  await using s = await site([approval()]);
  await start(s, "r");
  const visitor = new Visitor(s.app);
  const waitId = await waitOf(s, "r");
  const page = await visitor.open(`/ui/runs/r/waits/${waitId}`);
  const refused = await visitor.submit(page, "Answer", { "value/note": "two\r\nlines <b>" });
  assert.equal(refused.status, 422);
  assert.match(refused.text, /aria-invalid="true"/);
  assert.equal(refused.forms[0]!.fields.get("value/note"), "two\nlines <b>");
  assert.equal(await waitOf(s, "r"), waitId);
  const again = await visitor.submit(refused, "Answer", { "value/approve": "false" });
  assert.equal(again.status, 200);
  const { body } = await inStatus(s, "r", "completed");
  assert.equal((body.state as { approved: boolean }).approved, false);
  const late = await visitor.submit(page, "Answer", { "value/approve": "true" });
  assert.equal(late.status, 409);
  assert.match(words(late), /This wait is not open/);

  const fork = await visitor.submit(await visitor.open("/ui/runs/r/revisions/1"), "Fork from here", {
    state: "{no",
  });
  assert.equal(fork.status, 422);
  assert.match(words(fork), /The state cannot be read/);
  assert.equal(fork.forms[0]!.fields.get("state"), "{no");
  const wrong = await visitor.submit(fork, "Fork from here", { state: '{"question":1}' });
  assert.equal(wrong.status, 422);
  assert.match(words(wrong), /There is no fork: the value does not satisfy its schema \(question:/);
  const right = await visitor.submit(wrong, "Fork from here", { state: '{"question":"other"}' });
  assert.equal(right.status, 200);
  assert.match(words(right), /This is the new run/);
});

test("runs are listed by graph, status and tag, a page at a time (W3)", async () => {
  await using s = await site([approval(), single("quick", () => 1)]);
  for (let i = 0; i < 60; i++) {
    await s.post("/v1/graphs/quick/runs", { runId: `q${i}`, tags: i % 2 ? ["odd"] : [] });
  }
  await start(s, "r");
  for (let i = 0; i < 60; i++) await inStatus(s, `q${i}`, "completed");
  const visitor = new Visitor(s.app);
  const runsOn = ({ text }: Page) =>
    [...text.matchAll(/<th scope="row"><a href="[^"]*runs\/([^"]*)"/g)].map(([, id]) => id!);
  const all: string[] = [];
  let page = await visitor.open("/ui/runs");
  for (;;) {
    all.push(...runsOn(page));
    const next = /href="([^"]*)" rel="next"/.exec(page.text)?.[1];
    if (next === undefined) break;
    page = await visitor.open(new URL(unescaped(next), page.url).href);
  }
  assert.equal(new Set(all).size, 61);
  assert.equal(all.length, 61);
  assert.deepEqual(runsOn(await visitor.open("/ui/runs?status=awaiting&graph_id=&tag=")), [
    "r",
  ]);
  assert.deepEqual(runsOn(await visitor.open("/ui/runs?graph_id=approval")), ["r"]);
  assert.equal(runsOn(await visitor.open("/ui/runs?tag=odd")).length, 30);
  assert.match(words(await visitor.open("/ui/runs?tag=none")), /No runs\./);
  const bad = await visitor.open("/ui/runs?status=nothing");
  assert.equal(bad.status, 400);
  assert.match(words(bad), /The request is not as described\..*status:/s);
});

test("failures and halts are shown, and a run goes on from them with a button (W3)", async () => {
  let failing = true;
  const s = await site([
    single("fails", () => {
      if (failing) throw new TypeError("secret words");
    }),
  ]);
  await using _ = s;
  await s.post("/v1/graphs/fails/runs", { runId: "r" });
  await inStatus(s, "r", "interrupted");
  const visitor = new Visitor(s.app);
  const page = await visitor.open("/ui/runs/r");
  assert.match(
    words(page),
    /errored.*Failures only TypeError.*attempt 1.*only failed for good, attempt 1: TypeError/s,
  );
  assert.ok(!page.text.includes("secret words"), "causes are shown where the API shows them");
  failing = false;
  const resumed = await visitor.submit(page, "Resume");
  assert.match(words(resumed), /The run goes on/);
  await inStatus(s, "r", "completed");
});

test("a run of a version that is not served is shown by its records, and can be ended (W3)", async () => {
  await using s = await site([approval(1)]);
  await start(s, "r");
  await using later = await site([approval(2)], { store: s.store, work: false });
  const visitor = new Visitor(later.app);
  const page = await visitor.open("/ui/runs/r");
  assert.equal(page.status, 200);
  assert.match(
    words(page),
    /version of its graph that is not served here.*Timeline.*review waits for verdict.*created/s,
  );
  const cancelled = await visitor.submit(page, "Cancel run", { reason: "old" });
  assert.match(words(cancelled), /The run is cancelled.*cancelled: old/s);
});

test("a run whose history was cut is shown from where it begins (W3, H4)", async () => {
  await using s = await site([
    single("loop", (state) => Number((state as { out?: number }).out ?? 0) + 1, { pick: () => "only" }),
  ]);
  await s.post("/v1/graphs/loop/runs", { runId: "r", maxSteps: 500 });
  const { body } = await inStatus(s, "r", "interrupted");
  const { revision } = body.run as { revision: number };
  const visitor = new Visitor(s.app);
  const whole = await visitor.open("/ui/runs/r");
  const seen: number[] = [];
  for (let page = whole;;) {
    const shown = [...page.text.matchAll(/class="revision"[^>]*>Revision (\d+)/g)].map(([, r]) => Number(r));
    assert.ok(shown.length <= 200);
    seen.push(...shown);
    const older = /href="([^"]*)" rel="next"/.exec(page.text)?.[1];
    if (older === undefined) break;
    page = await visitor.open(new URL(older, page.url).href);
  }
  assert.deepEqual(
    seen,
    Array.from({ length: revision + 1 }, (_, i) => revision - i),
    "each once, newest first",
  );
  const { first } = await (s.runners[0]!).retain("r", 60);
  const cut = await visitor.open("/ui/runs/r");
  assert.ok(first > 0);
  assert.equal(cut.text.match(/class="revision"/g)!.length, revision - first + 1);
  const oldest = await visitor.open(`/ui/runs/r/revisions/${first}`);
  assert.match(words(oldest), /There is no state before it/);
  const gone = await visitor.open(`/ui/runs/r/revisions/${first - 1}`);
  assert.equal(gone.status, 404);
  assert.match(words(gone), /There is nothing here/);
});

test("the inbox is narrowed by graph and name, folded where it is long, and shows whose waits they are (W3)", async () => {
  await using s = await site([
    approval(),
    single("asks", (_, ctx) => ctx.interrupt({ at: new Date(0), why: "x" })),
  ]);
  await start(s, "r");
  await s.post("/v1/graphs/asks/runs", { runId: "a" });
  await inStatus(s, "a", "interrupted");
  const visitor = new Visitor(s.app);
  const waitsOn = ({ text }: Page) =>
    [...text.matchAll(/id="wait-w\w+-name">([^<]*)/g)].map(([, name]) => name!);
  const all = await visitor.open("/ui/waits");
  assert.deepEqual(waitsOn(all).sort(), ["interrupt", "verdict"]);
  assert.match(words(all), /2 open waits, oldest first.*Graph approval Run r/s);
  assert.match(words(all), /at 1970-01-01 00:00:00 UTC why x/);
  assert.deepEqual(waitsOn(await visitor.open("/ui/waits?graph_id=approval&name=")), ["verdict"]);
  assert.deepEqual(waitsOn(await visitor.open("/ui/waits?graph_id=&name=interrupt")), ["interrupt"]);
  assert.match(words(await visitor.open("/ui/waits?name=nobody")), /Nothing waits for an answer/);
  assert.ok(!/<details><summary>/.test(all.text));
  for (const id of ["r2", "r3"]) await start(s, id);
  const long = await visitor.open("/ui/waits");
  assert.equal(long.text.match(/<details><summary>/g)!.length, 4);
  const after = await visitor.submit(long, "Answer", { "value/approve": "true" });
  assert.equal(waitsOn(after).length >= 3, true);
});

test("workers are shown with what they serve, and runs that nobody serves or works on are told from those at work (FT-F3, W3)", async () => {
  await using old = await site([approval(1)]);
  await start(old, "asks");
  await old.worker?.stop();
  const next = [approval(1), approval(2)];
  await using s = await site(next, { store: old.store, work: false });
  await using _worker = await serve({ runners: [compile(next[1]!, { store: old.store })], name: "desk-1" });
  await s.post("/v1/graphs/approval/runs?version=" + encodeURIComponent(next[0]!.version), {
    runId: "moves",
    input: { question: "?" },
  });
  const { body } = await s.get<{ workers: { name: string; places: number; serves: unknown[] }[] }>(
    "/v1/workers",
  );
  assert.deepEqual(body.workers.map(({ name, places, serves }) => [name, places, serves]), [[
    "desk-1",
    32,
    [{ graphId: "approval", graphVersion: next[1]!.version }],
  ]]);
  const visitor = new Visitor(s.app);
  assert.match(words(await visitor.open("/ui/workers")), /desk-1 .*, process \d+ 0 of 32 approval/);
  assert.match(words(await visitor.open("/ui/runs?status=stranded")), /asks approval awaiting stranded/);
  assert.match(words(await visitor.open("/ui/waits")), /Stranded no living worker serves the version/);
  const { body: { runs } } = await s.get<{ runs: { runId: string; activity?: string }[] }>(
    "/v1/runs?activity=stranded",
  );
  assert.deepEqual(runs.map(({ runId, activity }) => [runId, activity]), [["asks", "stranded"]]);
});
