// Runs on deno by default: the app is the same everywhere.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { defineWait, scan } from "../../mod.ts";
import { createApp } from "../../src/http/app.ts";
import type { CompiledGraph } from "../../src/model/definition.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { serve } from "../../src/worker/mod.ts";
import { type Fault, inStatus, site, until } from "../http/support.ts";
import { type Page, unescaped, Visitor } from "../http/ui/support.ts";
import { graphOf } from "../support/graphs.ts";

/** What a page says. */
const words = ({ text }: Page) => unescaped(text.replace(/<[^>]*>/g, " ")).replace(/\s+/g, " ");

const flows = (...folders: readonly string[]) =>
  scan(...folders.map((folder) => fileURLToPath(new URL(`./flows/${folder}`, import.meta.url))));
const graphsOf = async (...folders: readonly string[]) => (await flows(...folders)).map(({ graph }) => graph);

const start = async (s: Awaited<ReturnType<typeof site>>, runId: string, input: unknown, query = "") => {
  await s.post(`/v1/graphs/order/runs${query}`, { runId, input });
  return await inStatus(s, runId, "interrupted");
};
const waitOf = ({ body }: { readonly body: Readonly<Record<string, unknown>> }) =>
  (body["waits"] as readonly { readonly waitId: string }[])[0]!.waitId;

test("several versions of a graph are found and served side by side, and the newest is meant where none is named (V5, D9)", async () => {
  const found = await flows("v1", "v2", "v3");
  assert.deepEqual(found.map(({ id, version }) => [id, version]), [["order", 1], ["order", 2], ["order", 3]]);
  await using s = await site(found.map(({ graph }) => graph).reverse());
  const { body: { graphs } } = await s.get<{ graphs: readonly { versions: readonly string[] }[] }>(
    "/v1/graphs",
  );
  assert.deepEqual(graphs[0]!.versions, found.map(({ graph }) => graph.version), "the newest last");
  assert.equal((await s.get("/v1/graphs/order/topology")).body["version"], found[2]!.graph.version);
  await start(s, "new", { items: ["tea"] });
  const old = await start(s, "old", { item: "tea" }, `?version=${found[0]!.graph.version}`);
  assert.match(String(old.body["graphVersion"]), /:1$/);
  assert.match(String((await s.get("/v1/runs/new")).body["graphVersion"]), /:3$/);
  await s.post(`/v1/runs/old/waits/${waitOf(old)}/answer`, { value: { by: "a" } });
  const done = await inStatus(s, "old", "completed");
  assert.match(String(done.body["graphVersion"]), /:1$/, "it drains under its own version");
  assert.deepEqual(done.body["state"], { item: "tea", by: "a" });
});

test("workflow classes of several versions are taken by serve and createApp, a version twice is refused (V5)", async () => {
  const workflows = (await flows("v1", "v2")).map(({ workflow }) => workflow);
  const store = memoryStore();
  await using worker = await serve({ store, workflows, logger: false });
  assert.equal(worker.keys.length, 2);
  assert.ok(createApp({ store, workflows, logger: false }));
  assert.throws(() => createApp({ store, workflows: [...workflows, workflows[0]!], logger: false }), {
    code: "DUPLICATE_REGISTRATION",
  });
});

test("a run of a version that is not served has its page, status and waits, is answered by the stored schema, and all else says what does not fit (V5)", async () => {
  const store = memoryStore();
  const old = await site(await graphsOf("v1"), { store });
  const waitId = waitOf(await start(old, "r", { item: "tea" }));
  await using s = await site(await graphsOf("v3"), { store });
  await old.worker!.stop(0);
  for (
    const [method, path, body] of [
      ["GET", "/v1/runs/r"],
      ["POST", "/v1/runs/r/resume", {}],
      ["PATCH", "/v1/runs/r/state", { set: {} }],
      ["POST", "/v1/runs/r/fork", { revision: 1 }],
    ] as const
  ) {
    const { status, body: { error } } = await s.call<Fault>(method, path, { body });
    assert.deepEqual([status, error.code], [409, "GRAPH_VERSION_MISMATCH"], path);
    assert.match(error.message, /version of its graph that is not served here/);
    assert.match(error.issues![0]!.message, /^no migration leads from version 1 to 2$/);
  }
  const visitor = new Visitor(s.app);
  const page = await visitor.open("/ui/runs/r");
  assert.match(
    words(page),
    /awaiting.*not served here.*no migration leads from version 1 to 2.*approve.*Timeline/s,
  );
  await until(async () => /Not served.*order.*r/s.test(words(await visitor.open("/ui/workers"))));
  const refused = await s.post<Fault>(`/v1/runs/r/waits/${waitId}/answer`, { value: { by: 7 } });
  assert.deepEqual([refused.status, refused.body.error.reason], [422, "invalid"]);
  const answered = await visitor.submit(page, "Answer", { "value/by": "ann" });
  assert.match(words(answered), /answer/i);
  const twice = await s.post<Fault>(`/v1/runs/r/waits/${waitId}/answer`, { value: { by: "bob" } });
  assert.deepEqual([twice.status, twice.body.error.reason], [409, "answered"]);
  await using again = await site(await graphsOf("v1"), { store });
  assert.deepEqual((await inStatus(again, "r", "completed")).body["state"], { item: "tea", by: "ann" });
});

test("a wait that cannot be answered here is marked in the inbox, and has no form (V5, I2)", async () => {
  // A Standard Schema of which there is no JSON Schema.
  const schema = {
    "~standard": { version: 1, vendor: "own", validate: (value: unknown) => ({ value }) },
  } as const;
  const judged = defineWait("judged", schema);
  const graph = (version: number) =>
    graphOf({
      version,
      vertices: { ask: { waits: [judged], run: (_, ctx) => ctx.waitFor(judged), to: "end" }, end: {} },
    }) as CompiledGraph<unknown>;
  const store = memoryStore();
  await using old = await site([graph(1)], { store });
  await old.post("/v1/graphs/g/runs", { runId: "r", input: { log: [] } });
  await inStatus(old, "r", "interrupted");
  await using s = await site([graph(2)], { store, work: false });
  type Inbox = { readonly waits: readonly { readonly unanswerable?: string; readonly schema?: unknown }[] };
  const here = (await old.get<Inbox>("/v1/waits")).body.waits[0]!;
  assert.deepEqual([here.unanswerable, here.schema], [undefined, undefined]);
  const there = (await s.get<Inbox>("/v1/waits")).body.waits[0]!;
  assert.match(there.unanswerable!, /its run is of a version that is not here/);
  const inbox = await new Visitor(s.app).open("/ui/waits");
  assert.match(words(inbox), /It cannot be answered here: its run is of a version that is not here/);
  assert.ok(!/<button type="submit">Answer/.test(inbox.text));
  assert.equal((await s.runners[0]!.waits()).rows[0]!.unanswerable, there.unanswerable);
});
