// Runs on deno by default: pages are text, the same everywhere.
import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { compile } from "../../../src/compile.ts";
import { GraphBuilder } from "../../../src/graph/mod.ts";
import type { CompiledGraph } from "../../../src/model/definition.ts";
import { memoryStore } from "../../../src/store/memory.ts";
import { Subgraph, waitsOf } from "../../../tasks/subgraph.ts";
import { approval, inStatus, single, type Site, site, until, Verdict } from "../support.ts";
import { type Page, unescaped, Visitor } from "./support.ts";

/** What a page says, without its marks. */
const words = ({ text }: Page) =>
  unescaped(text.replace(/<script[\s\S]*?<\/script>|<[^>]*>/g, " ")).replace(/\s+/g, " ");

const runsOf = async (s: Site) => (await s.get<{ runs: unknown[] }>("/v1/runs")).body.runs.length;

async function paused(): Promise<Site> {
  const s = await site([approval()]);
  await s.post("/v1/graphs/approval/runs", { runId: "r", input: { question: "why" } });
  await inStatus(s, "r", "interrupted");
  return s;
}

test("a fork form that is sent twice makes one run; sent again with another state, it says so (FC-14, W3)", async () => {
  await using s = await paused();
  const visitor = new Visitor(s.app);
  const page = await visitor.open("/ui/runs/r/revisions/1");
  const [first, second] = await Promise.all([
    visitor.submit(page, "Fork from here"),
    visitor.submit(page, "Fork from here"),
  ]);
  assert.equal(first!.url.href, second!.url.href);
  assert.equal(await runsOf(s), 2);
  const other = await visitor.submit(page, "Fork from here", { state: '{"question":"other"}' });
  assert.equal(other.status, 422);
  assert.match(words(other), /made a fork before, with another state/);
  const again = await visitor.submit(other, "Fork from here");
  assert.match(words(again), /This is the new run.*"question": "other"/);
  assert.equal(await runsOf(s), 3);
});

test("a start form with a key that is none is refused as what it is (FC-29, W3)", async () => {
  await using s = await site([approval()], { work: false });
  const visitor = new Visitor(s.app);
  const { version } = s.runners[0]!.graph;
  for (const key of ["a\nb", "€", "\ud800", "k".repeat(300), "", "a b"]) {
    const page = await visitor.post("/ui/graphs/approval", [
      ["key", key],
      ["version", version],
      ["value/question", "why"],
    ]);
    assert.ok([200, 422].includes(page.status), `${JSON.stringify(key)}: ${page.status}`);
  }
  assert.deepEqual(s.warnings, []);
});

test("a browser that comes back to where a form was sent to is led to the run (W3)", async () => {
  await using s = await paused();
  const visitor = new Visitor(s.app);
  for (const action of ["cancel", "fork", "resume"]) {
    const page = await visitor.open(`/ui/runs/r/${action}`);
    assert.deepEqual([page.status, page.url.pathname], [200, "/ui/runs/r"]);
  }
  for (const path of ["/ui", "/ui/", "/"]) {
    assert.equal((await visitor.open(path)).url.pathname, "/ui/runs", path);
  }
});

test("what a called run waits for is answered in the run that called it, and its page says so (W3)", async () => {
  const store = memoryStore();
  const child = approval();
  const called = compile(child, { store });
  const builder = new GraphBuilder<{ question: string; approved?: boolean | undefined }>({
    id: "parent",
    schema: z.object({ question: z.string(), approved: z.boolean().optional() }),
  });
  builder.addVertex<unknown, boolean>({
    id: "call",
    waits: waitsOf(child),
    task: new Subgraph(called, { output: (state) => (state as { approved: boolean }).approved }),
    select: ({ question }) => ({ question }),
    reduce: (state, approved) => void (state.approved = approved),
  });
  const parent = builder.build({ entry: "call", finish: "call" }) as unknown as CompiledGraph<unknown>;
  await using s = await site([child, parent], { store });
  await s.post("/v1/graphs/parent/runs", { runId: "p", input: { question: "why" } });
  await inStatus(s, "p", "interrupted");
  const { body } = await s.get<{ runs: { runId: string }[] }>("/v1/runs?graph_id=approval");
  const [{ runId } = { runId: "" }] = body.runs;
  const visitor = new Visitor(s.app);
  const page = await visitor.open(`/ui/runs/${runId}`);
  assert.match(words(page), /Called by p , call.*answered in the run that called it/);
  assert.ok(!page.forms.some(({ button }) => button === "Answer"), "nobody could answer there");
  const caller = page.links.find((link) => link.endsWith("/p"))!;
  const answered = await visitor.submit(await visitor.open(new URL(caller, page.url).href), "Answer", {
    "value/approve": "true",
  });
  assert.match(words(answered), /The answer is accepted/);
  assert.deepEqual((await inStatus(s, "p", "completed")).body["state"], { question: "why", approved: true });
});

test("an answer that comes too late is refused with the reason, and with what was sent (FC-11, W3)", async () => {
  await using s = await site([
    single("late", (_, ctx) => ctx.waitFor(Verdict, { deadline: "2s" }), { waits: [Verdict] }),
  ]);
  await s.post("/v1/graphs/late/runs", { runId: "r" });
  await until(async () => (await s.get<{ waits: unknown[] }>("/v1/waits?run_id=r")).body.waits.length > 0);
  await s.worker!.stop(0);
  const { rows: [wait] } = await s.runners[0]!.waits({ runId: "r" });
  await until(() => Promise.resolve(Date.now() > wait!.deadline!));
  const visitor = new Visitor(s.app);
  const page = await visitor.open("/ui/waits");
  const refused = await visitor.submit(page, "Answer", { "value/approve": "true", "value/note": "so late" });
  assert.equal(refused.status, 409);
  assert.match(words(refused), /The answer was not accepted: the wait has expired\./);
  assert.match(refused.text, /so late/);
});
