// Runs on deno by default: pages are text, the same everywhere.
import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { defineWait } from "../../../mod.ts";
import { GraphBuilder } from "../../../src/graph/mod.ts";
import type { TaskContext } from "../../../src/model/context.ts";
import type { CompiledGraph } from "../../../src/model/definition.ts";
import type { HistoryPage, InboxWait, WaitPage } from "../../../src/http/wire.ts";
import { openDenoKv, openMemory } from "../../support/stores.ts";
import { inStatus, single, type Site, site } from "../support.ts";
import { type Page, unescaped, Visitor } from "./support.ts";

/** What a page says, without its marks. */
const words = ({ text }: Page) =>
  unescaped(text.replace(/<script[\s\S]*?<\/script>|<[^>]*>/g, " ")).replace(/\s+/g, " ");

const nextOf = ({ text, url }: Page) => {
  const next = /href="([^"]*)" rel="next"/.exec(text)?.[1];
  return next === undefined ? undefined : new URL(unescaped(next), url).href;
};

const Yes = defineWait("yes", z.object({ yes: z.boolean() }));

/** A map vertex whose body is the test's: `each` item of as many as the input says. */
function map(body: (item: number, ctx: TaskContext) => unknown): CompiledGraph<unknown> {
  const builder = new GraphBuilder<{ count: number }>({ id: "map", schema: z.object({ count: z.number() }) });
  builder.addVertex<number, unknown>({
    id: "each",
    waits: [Yes],
    each: ({ count }) => Array.from({ length: count }, (_, i) => i),
    task: { execute: (item: number, ctx: TaskContext) => body(item, ctx) },
    reduce: () => {},
  });
  return builder.build({ entry: "each", finish: "each" }) as unknown as CompiledGraph<unknown>;
}

/** Every open wait, a page after the other. */
async function allWaits(s: Site, query: string): Promise<{ waits: InboxWait[]; pages: number[] }> {
  const waits: InboxWait[] = [];
  const pages: number[] = [];
  for (let cursor = "";;) {
    const { body } = await s.get<WaitPage>(`/v1/waits?${query}${cursor}`);
    waits.push(...body.waits);
    pages.push(body.waits.length);
    if (body.next_cursor === undefined) return { waits, pages };
    cursor = `&cursor=${encodeURIComponent(body.next_cursor)}`;
  }
}

test("a run with more waits than a page takes shows some, and leads to all of them, each with its own form (W3)", async () => {
  await using s = await site([map((item, ctx) => ctx.waitFor(Yes, { key: `k${item}`, info: { item } }))]);
  await s.post("/v1/graphs/map/runs", { runId: "r", input: { count: 70 } });
  await s.post("/v1/graphs/map/runs", { runId: "other", input: { count: 2 } });
  await inStatus(s, "r", "interrupted");
  await inStatus(s, "other", "interrupted");
  const visitor = new Visitor(s.app);
  const run = await visitor.open("/ui/runs/r");
  assert.equal(run.forms.filter(({ button }) => button === "Answer").length, 20);
  assert.match(words(run), /All 70 waits of this run/);
  const actions: string[] = [];
  for (let page: Page | undefined = await visitor.open("/ui/waits?run_id=r"); page !== undefined;) {
    assert.match(words(page), /Of run r alone/);
    const forms = page.forms.filter(({ button }) => button === "Answer");
    assert.ok(forms.length <= 20);
    actions.push(...forms.map(({ action }) => action));
    const next = nextOf(page);
    page = next === undefined ? undefined : await visitor.open(next);
  }
  assert.equal(new Set(actions).size, 70);
  const last = new URL(actions.at(-1)!, "http://localhost/ui/waits").pathname;
  const answered = await visitor.submit(await visitor.open(last), "Answer", { "value/yes": "true" });
  assert.equal(answered.status, 200);
  assert.match(words(answered), /The answer is accepted/);
});

for (const [name, open] of [["memory", openMemory], ["Deno KV", openDenoKv]] as const) {
  test(`one wait is asked for by its id, and waits that tell much make short pages, in ${name} (W2)`, async () => {
    const opened = await open();
    const s = await site([
      map((item, ctx) => ctx.waitFor(Yes, { info: { item, text: "i".repeat(300_000) } })),
    ], { store: opened.store });
    await s.post("/v1/graphs/map/runs", { runId: "r", input: { count: 30 } });
    await inStatus(s, "r", "interrupted");
    const { waits, pages } = await allWaits(s, "limit=100");
    assert.equal(new Set(waits.map(({ waitId }) => waitId)).size, 30);
    assert.ok(pages.length > 1 && pages.every((count) => count > 0 && count < 30), `${pages}`);
    const small = await allWaits(s, "limit=7&name=yes&graph_id=map");
    assert.deepEqual(small.waits, waits, "and a limit is one");
    assert.ok(small.pages.every((count) => count <= 7));

    const { waitId } = waits[17]!;
    const ask = async (query: string) => (await s.get<WaitPage>(`/v1/waits?${query}`)).body;
    const alone = { waits: [waits[17]!], done: true };
    assert.deepEqual(await ask(`run_id=r&wait_id=${waitId}`), alone);
    assert.deepEqual(await ask(`run_id=r&wait_id=${waitId}&graph_id=map&name=yes`), alone);
    assert.deepEqual(await ask(`run_id=r&wait_id=${waitId}&name=no`), { waits: [], done: true });
    assert.deepEqual(await ask(`run_id=other&wait_id=${waitId}`), { waits: [], done: true });
    assert.equal((await s.get(`/v1/waits?wait_id=${waitId}`)).status, 400, "the run is named with it");
    assert.equal((await s.get(`/v1/waits?run_id=r&wait_id=${waitId}&graph_id=none`)).status, 404);
    await s.post(`/v1/runs/r/waits/${waitId}/answer`, { value: { yes: true } });
    assert.deepEqual(await ask(`run_id=r&wait_id=${waitId}`), { waits: [], done: true });
    await s.close();
    await opened.cleanup();
  });
}

test("records that hold much make short pages, and a timeline without their values (W2, W3)", async () => {
  await using s = await site([
    single("loop", (_, ctx) => ctx.once("large", () => "x".repeat(1_000_000)), { pick: () => "only" }),
  ]);
  await s.post("/v1/graphs/loop/runs", { runId: "r", maxSteps: 12 });
  const { body } = await inStatus(s, "r", "interrupted");
  const { revision } = body["run"] as { revision: number };
  for (const query of ["include_values=true", "include_state=true"]) {
    const revisions: number[] = [];
    let pages = 0;
    for (let from = 0, done = false; !done; pages++) {
      const { body } = await s.get<HistoryPage>(`/v1/runs/r/history?${query}&from_revision=${from}`);
      revisions.push(...body.checkpoints.map((one) => one.revision));
      assert.ok(JSON.stringify(body).length < 8_000_000);
      [from, done] = [body.next_revision, body.done];
    }
    assert.ok(pages > 1, query);
    assert.deepEqual(revisions, Array.from({ length: revision + 1 }, (_, i) => i), `${query}: each once`);
  }
  const { body: all } = await s.get<HistoryPage>("/v1/runs/r/history");
  assert.deepEqual([all.checkpoints.length, all.done], [revision + 1, true], "without values it is one page");
  const page = await new Visitor(s.app).open("/ui/runs/r");
  assert.equal(page.text.match(/class="revision"/g)!.length, revision + 1);
  assert.ok(page.text.length < 500_000);
});

test("of a long run of a version that is not served some records are read, and every one is reached (W3)", async () => {
  const loop = (version: number) =>
    single("loop", (state) => Number((state as { out?: number }).out ?? 0) + 1, {
      pick: () => "only",
      version,
    });
  await using s = await site([loop(1)]);
  await s.post("/v1/graphs/loop/runs", { runId: "r", maxSteps: 900 });
  const { body } = await inStatus(s, "r", "interrupted");
  const { revision } = body["run"] as { revision: number };
  await using later = await site([loop(2)], { store: s.store, work: false });
  const visitor = new Visitor(later.app);
  const seen: number[] = [];
  for (let page: Page | undefined = await visitor.open("/ui/runs/r"); page !== undefined;) {
    assert.match(words(page), /not served here/);
    const shown = [...page.text.matchAll(/class="revision"[^>]*>Revision (\d+)/g)].map(([, r]) => Number(r));
    assert.ok(shown.length > 0 && shown.length <= 200);
    seen.push(...shown);
    const next = nextOf(page);
    page = next === undefined ? undefined : await visitor.open(next);
  }
  assert.deepEqual(
    seen,
    Array.from({ length: revision + 1 }, (_, i) => revision - i),
    "each once, newest first",
  );
  later.audited.length = 0;
  await visitor.open("/ui/runs/r");
  assert.ok(later.audited.length <= 6, "and not all of them for one page");
});

test("so many faults, and so much of what happened at once, are shown as can be read (W3)", async () => {
  await using s = await site([
    map((item) => {
      throw new RangeError(`item ${item}`);
    }),
  ]);
  await s.post("/v1/graphs/map/runs", { runId: "r", input: { count: 60 } });
  await inStatus(s, "r", "interrupted");
  const page = await new Visitor(s.app).open("/ui/runs/r");
  assert.match(words(page), /… and 40 more/);
  assert.equal(page.text.match(/class="card fault"/g)!.length, 20);
  const happened = page.text.match(/class="failed"/g)!.length;
  assert.ok(happened <= 40, `${happened} lines`);
});
