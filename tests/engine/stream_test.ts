// Runs on deno and bun by default: Deno and Node have the same engine of JavaScript.
import assert from "node:assert/strict";
import { test } from "node:test";
import { isSuperstepError, type StreamEvent, type StreamOptions } from "../../mod.ts";
import { Subgraph } from "../../tasks/mod.ts";
import { aroundStore } from "../../src/testing/around_store.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { openDenoKv } from "../support/stores.ts";
import { gate, INPUT, Lab } from "../waits/lab.ts";

/** Every event of a run, up to its end, as another process sees it. */
async function streamOf(
  lab: Lab,
  graph: Parameters<Lab["engine"]>[0],
  runId: string,
  options: StreamOptions = {},
): Promise<StreamEvent[]> {
  const events: StreamEvent[] = [];
  for await (const event of lab.elsewhere(graph).events(runId, options)) events.push(event);
  return events;
}

const emits = (events: readonly StreamEvent[]) => events.flatMap((e) => e.type === "emit" ? [e.data] : []);
const shown = (e: StreamEvent) =>
  e.type === "checkpoint"
    ? `#${e.id}`
    : e.type === "emit"
    ? `${e.data}`
    : e.type === "gap"
    ? `gap ${e.count}`
    : `${e.replaces}→${e.body}`;

for (const kind of ["memory", "a Deno KV file"]) {
  test(`what a body emits reaches a reader in another process, complete and between the records around it (A1) [${kind}]`, async (t) => {
    const opened = kind === "memory" ? undefined : await openDenoKv();
    t.after(() => opened?.cleanup());
    // Time stands still while the store is at work.
    const lab: Lab = new Lab(
      aroundStore(opened?.store ?? memoryStore(), (call) => lab.clock.hold(call.apply())),
    );
    const graph = lab.graph({
      a: {
        to: "b",
        body: async (ctx) => {
          for (let i = 0; i < 30; i++) {
            ctx.emit("token", `a${i}`);
            if (i % 3 === 0) await lab.clock.sleep(20);
            if (i === 15) await ctx.once("half", () => 1);
          }
        },
      },
      b: { body: (ctx) => ctx.emit("token", "b0") },
    });
    const handle = await lab.engine(graph).start(INPUT, { runId: "r" });
    const [events] = await lab.drive(Promise.all([streamOf(lab, graph, "r"), handle.result()]));
    assert.deepEqual(emits(events), [...Array.from({ length: 30 }, (_, i) => `a${i}`), "b0"]);
    assert.deepEqual(events.filter((e) => e.type === "gap" || e.type === "replaced"), []);
    const lines = events.map(shown);
    const once = events.findIndex((e) =>
      e.type === "checkpoint" && e.entry.events.some(({ type }) => type === "once")
    );
    const step = events.findIndex((e) =>
      e.type === "checkpoint" && e.entry.events.some(({ type }) => type === "routed")
    );
    assert.ok(lines.indexOf("a15") < once && once < lines.indexOf("a16"), lines.join(" "));
    assert.ok(lines.indexOf("a29") < step && step < lines.indexOf("b0"), lines.join(" "));
    // Whoever comes later, or comes back, has the same.
    assert.deepEqual((await lab.drive(streamOf(lab, graph, "r"))).map(shown), lines);
    for (const at of [0, 4, 17, events.length - 2]) {
      const rest = await lab.drive(streamOf(lab, graph, "r", { after: events[at]!.id }));
      assert.deepEqual(rest.map(shown), lines.slice(at + 1), `after ${events[at]!.id}`);
    }
  });
}

test("emits are written in batches, at most 40 ms late, and nobody waits for them; with many readers the store is read as with one (A1)", async () => {
  let [adds, reads] = [0, 0];
  const store = memoryStore();
  const lab = new Lab(aroundStore(store, (call) => {
    if (call.op === "emits.add") adds++;
    return call.apply();
  }));
  const graph = lab.graph({
    a: {
      body: async (ctx) => {
        for (let i = 0; i < 1_000; i++) {
          ctx.emit("token", i);
          await lab.clock.sleep(1);
        }
      },
    },
  });
  const elsewhere = aroundStore(store, (call) => {
    if (call.op === "emits.read") reads++;
    return call.apply();
  });
  const follow = async () => {
    const events: StreamEvent[] = [];
    for await (const event of lab.engine(graph, { store: elsewhere }).events("r")) events.push(event);
    return emits(events);
  };
  const handle = await lab.engine(graph).start(INPUT, { runId: "r" });
  const [, ...seen] = await lab.drive(
    Promise.all([handle.result(), ...Array.from({ length: 200 }, follow)]),
  );
  assert.ok(adds >= 20 && adds <= 30, `${adds} batches in a second`);
  assert.ok(reads <= 60, `${reads} reads`);
  const all = Array.from({ length: 1_000 }, (_, i) => i);
  for (const one of seen) assert.deepEqual(one, all);
});

test("a later body of an execution says that it replaces the one before; each emit names its execution and body (A1)", async () => {
  const lab = new Lab();
  const graph = lab.graph({
    a: {
      retry: { maxAttempts: 3, backoff: () => "1s" },
      body: (ctx) => {
        ctx.emit("token", `try ${ctx.attempt}`);
        if (ctx.attempt < 3) throw new Error("not yet");
      },
    },
  });
  const handle = await lab.engine(graph).start(INPUT, { runId: "r" });
  const [events] = await lab.drive(Promise.all([streamOf(lab, graph, "r"), handle.result()]));
  const own = events.filter((e) => e.type !== "checkpoint");
  assert.deepEqual(own.map(({ type }) => type), ["emit", "replaced", "emit", "replaced", "emit"]);
  const bodies = own.flatMap((e) => e.type === "emit" ? [e.body] : []);
  assert.equal(new Set(bodies).size, 3);
  assert.deepEqual(
    own.flatMap((e) => e.type === "replaced" ? [[e.replaces, e.body]] : []),
    [bodies.slice(0, 2), bodies.slice(1)],
  );
  assert.equal(new Set(own.flatMap((e) => "vertexRunId" in e ? [e.vertexRunId] : [])).size, 1);
  // A reader who comes back in the middle is told all the same.
  const rest = await lab.drive(streamOf(lab, graph, "r", { after: own[0]!.id }));
  assert.deepEqual(rest.filter((e) => e.type !== "checkpoint"), own.slice(1));
});

test("emits are kept until a minute after their execution has settled, and at most 4 MiB of them; the rest is a gap (A1)", async () => {
  const lab = new Lab();
  const goOn = gate();
  const large = "x".repeat(200_000);
  const graph = lab.graph({
    a: {
      body: async (ctx) => {
        for (let i = 0; i < 30; i++) {
          ctx.emit("page", `${i} ${large}`);
          await lab.clock.sleep(50);
        }
      },
      to: "b",
    },
    b: {
      body: async (ctx) => {
        ctx.emit("page", "b");
        await goOn.promise;
        ctx.emit("page", "late");
      },
    },
  });
  const handle = await lab.engine(graph).start(INPUT, { runId: "r" });
  await lab.clock.advance("2s");
  const seen: StreamEvent[] = [];
  const stop = new AbortController();
  const reading = (async () => {
    for await (const event of lab.elsewhere(graph).events("r", { signal: stop.signal })) seen.push(event);
  })();
  await lab.clock.advance("1s");
  stop.abort();
  await reading;
  const [gap] = seen.flatMap((e) => e.type === "gap" ? [e] : []);
  const pages = emits(seen).map((data) => (data as string).split(" ")[0]);
  assert.ok(gap !== undefined && gap.count >= 8 && gap.count <= 14, `gap of ${gap?.count}`);
  assert.deepEqual(pages, [...Array.from({ length: 30 - gap.count }, (_, i) => `${i + gap.count}`), "b"]);
  assert.equal((emits(seen)[0] as string).length, large.length + `${gap.count} `.length);

  await lab.clock.advance("70s");
  const { position } = (await lab.store.inspect("r", 0, undefined)).head!;
  const left = () => lab.store.emits!.read("r", position.epoch, undefined, 100);
  assert.equal((await left()).length, 1, "what the execution at work emitted stays");
  goOn.open();
  assert.equal((await lab.drive(handle.result())).status, "completed");
  assert.deepEqual(emits(await lab.drive(streamOf(lab, graph, "r"))), ["b", "late"]);
  await lab.clock.advance("70s");
  assert.deepEqual(await left(), []);
});

test("what a called run emits arrives in the stream of its caller, with the run that it is of (A1)", async () => {
  const lab = new Lab();
  const child = lab.graph({ c: { body: (ctx) => ctx.emit("token", "from the child") } }, { id: "child" });
  const inner = lab.engine(child);
  const graph = lab.graph({
    a: {
      body: async (ctx) => {
        ctx.emit("token", "before");
        await new Subgraph(inner).execute(INPUT, ctx);
        ctx.emit("token", "after");
      },
    },
  });
  const handle = await lab.engine(graph).start(INPUT, { runId: "r" });
  const [events] = await lab.drive(Promise.all([streamOf(lab, graph, "r"), handle.result()]));
  assert.deepEqual(emits(events), ["before", "from the child", "after"]);
  const runs = events.flatMap((e) => e.type === "emit" ? [[e.runId === "r", e.vertexId]] : []);
  assert.deepEqual(runs, [[true, "a"], [false, "c"], [true, "a"]]);
});

test("what cannot be stored is not emitted: the vertex fails and names it; ids that no event has are refused (A1, C3)", async () => {
  const lab = new Lab();
  const graph = lab.graph({ a: { body: (ctx) => ctx.emit("token", { f: () => 1 }) } });
  const result = await lab.drive(lab.engine(graph).run(INPUT, { runId: "r" }));
  assert.ok(result.status === "interrupted" && result.failures.length === 1);
  assert.match(result.failures[0]!.error.message, /what vertex a emits as token/);
  for (const after of ["x", "1.", "-1", "99"]) {
    await assert.rejects(
      lab.engine(graph).events("r", { after }).next(),
      (e) => isSuperstepError(e, "ARGUMENT"),
      after,
    );
  }
  const none = lab.engine(graph, { store: { ...memoryStore(), emits: undefined } as never });
  await assert.rejects(none.events("r").next(), /keeps nothing of what bodies emit/);
});
