// Runs on deno by default: its processes show the same on all runtimes, and tests of a few start them on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import { appendHints } from "../../src/checkpoint/hints.ts";
import { createApp } from "../../src/http/app.ts";
import { createClient, events } from "../../src/http/client.ts";
import { listen } from "../../src/http/listen.ts";
import { memoryStore } from "../../src/store/memory.ts";
import type { Store } from "../../src/store/store.ts";
import { gate } from "../support/graphs.ts";
import { inStatus, single, type Site, site, until, Verdict } from "../http/support.ts";
import { type EventReader, head, raw, readEvents } from "../http/wire.ts";

/** A run of so many steps, each of which waits until the gate is open. */
const looping = (open: Promise<void> = Promise.resolve()) => {
  return single("loop", async (_, { step }) => {
    await open;
    return step;
  }, { pick: () => "only" });
};

async function halted(s: Site, steps: number): Promise<{ runId: string; last: number }> {
  const { body: { runId } } = await s.post("/v1/graphs/loop/runs", { maxSteps: steps });
  const { body } = await inStatus(s, runId as string, "interrupted");
  return { runId: runId as string, last: (body.run as { revision: number }).revision };
}

const ids = (reader: EventReader) => reader.events.map(({ id }) => id);
const upTo = (last: number, first = 0) => Array.from({ length: last - first + 1 }, (_, i) => first + i);

/** How many listen to the store for any run. */
function listeners(store: Store): () => number {
  const hints = appendHints(store);
  const listen = hints.listen.bind(hints);
  let count = 0;
  hints.listen = (runId, listener) => {
    count++;
    const leave = listen(runId, listener);
    return () => {
      count--;
      leave();
    };
  };
  return () => count;
}

const is = (condition: () => boolean) => until(() => Promise.resolve(condition()));

test("200 readers that are cut, half open, or slow leave nothing behind, and the run goes on (FC-35)", async () => {
  const work = gate();
  const s = await site([looping(work.promise)], {
    events: { limit: 200, stall: "300ms", lifetime: "7s", heartbeat: "50ms" },
  });
  const server = await listen(s.app, { port: 0, grace: 0 });
  const listening = listeners(s.store);
  const { body: { runId } } = await s.post("/v1/graphs/loop/runs", { maxSteps: 20 });
  const path = `/v1/runs/${runId}/events`;
  const readers = upTo(199).map(() => readEvents(server.port, path));
  await is(() => readers.every(({ events }) => events.length > 0));
  assert.equal(listening(), 200);
  const refused = await raw(server.port, head("GET", path));
  assert.deepEqual([refused.status, refused.headers["retry-after"]], [503, "5"]);
  for (const [i, { socket }] of readers.entries()) {
    // A third each: reset, closed, and left as it is without reading on.
    if (i % 3 === 0) socket.resetAndDestroy();
    else if (i % 3 === 1) socket.destroy();
    else socket.pause();
  }
  await is(() => listening() === 0);
  const again = upTo(199).map(() => readEvents(server.port, path));
  await is(() => again.every(({ events }) => events.length > 0));
  work.open();
  await inStatus(s, runId as string, "interrupted");
  await s.post(`/v1/runs/${runId}/cancel`);
  await Promise.all(again.map(({ closed }) => closed));
  const { body } = await s.get(`/v1/runs/${runId}`);
  const { revision } = body.run as { revision: number };
  for (const reader of again) {
    assert.deepEqual(ids(reader), upTo(revision));
    assert.equal(reader.events.at(-1)!.data.status, "cancelled");
  }
  await is(() => listening() === 0);
  for (const { socket } of [...readers, ...again]) socket.destroy();
  await server.close();
  await s.close();
});

test("500 records at once come in order, each once, and the stream ends with the one that ends the run (FC-35)", async () => {
  const s = await site([looping()]);
  const server = await listen(s.app, { port: 0, grace: 0 });
  const readers: EventReader[] = [];
  const { body: { runId } } = await s.post("/v1/graphs/loop/runs", { maxSteps: 500 });
  for (let i = 0; i < 5; i++) readers.push(readEvents(server.port, `/v1/runs/${runId}/events`));
  await inStatus(s, runId as string, "interrupted");
  await s.post(`/v1/runs/${runId}/cancel`);
  await Promise.all(readers.map(({ closed }) => closed));
  const { body } = await s.get(`/v1/runs/${runId}`);
  const { revision } = body.run as { revision: number };
  for (const reader of readers) {
    assert.match(reader.head, /^HTTP\/1.1 200/);
    assert.match(reader.head.toLowerCase(), /content-type: text\/event-stream/);
    assert.match(reader.head.toLowerCase(), /x-accel-buffering: no/);
    assert.deepEqual(ids(reader), upTo(revision));
    assert.equal(reader.events.at(-1)!.data.status, "cancelled");
  }
  await server.close();
  await s.close();
});

test("a reader comes back after the first, a middle and the last record, and not after one that there is not (FC-35)", async () => {
  const s = await site([looping()], { events: { heartbeat: "20ms" } });
  const server = await listen(s.app, { port: 0, grace: 0 });
  const { runId, last } = await halted(s, 30);
  const other = await halted(s, 300);
  const path = `/v1/runs/${runId}/events`;
  for (const seen of [0, 15, last - 1]) {
    const reader = readEvents(server.port, path, { "Last-Event-ID": String(seen) });
    await is(() => reader.events.at(-1)?.id === last);
    assert.deepEqual(ids(reader), upTo(last, seen + 1));
    reader.socket.destroy();
  }
  const idle = readEvents(server.port, path, { "Last-Event-ID": String(last) });
  await is(() => idle.comments > 2);
  assert.deepEqual(ids(idle), []);
  for (const id of [String(last + 1), String(other.last), "x", "-1", "1.5.2", "1.x", "9".repeat(20)]) {
    const answered = await raw(server.port, head("GET", path, { "Last-Event-ID": id }));
    assert.equal(answered.status, 400, id);
  }
  const from = readEvents(server.port, `${path}?from_revision=${last}`);
  await is(() => from.events.length === 1);
  await s.post(`/v1/runs/${runId}/cancel`);
  await Promise.all([idle.closed, from.closed]);
  assert.deepEqual(ids(idle), [last + 1]);
  assert.deepEqual(ids(from), [last, last + 1]);
  const after = await raw(server.port, head("GET", path, { "Last-Event-ID": String(last + 1) }));
  assert.deepEqual([after.status, after.text], [204, ""]);
  const whole = readEvents(server.port, path);
  await whole.closed;
  assert.deepEqual(ids(whole), upTo(last + 1));
  await server.close();
  await s.close();
});

test("over restarts of the server a client that takes its stream up again sees each record once, in order, to the end (FC-35)", async () => {
  const store = memoryStore();
  const gates = upTo(3).map(() => gate());
  const s = await site([single("loop", async (_, { step }) => {
    await gates[step]?.promise;
    return step;
  }, { pick: () => "only" })], { store });
  const { body: { runId } } = await s.post("/v1/graphs/loop/runs", { maxSteps: 100 });
  const serve = async (port: number) => {
    const stop = new AbortController();
    const app = createApp({ runners: s.runners, signal: stop.signal, logger: { info() {}, warn() {} } });
    return { stop, server: await listen(app, { port, grace: 0 }) };
  };
  let running = await serve(0);
  const { port, url } = running.server;
  const seen: number[] = [];
  let ended = "";
  const reading = (async () => {
    for await (const event of events(createClient(url), runId as string, { retry: 10 })) {
      if (event.type !== "checkpoint") continue;
      const { revision, status } = event;
      seen.push(revision);
      ended = status;
    }
  })();
  for (const [i, { open }] of gates.entries()) {
    await is(() => seen.length > i);
    running.stop.abort();
    await running.server.close();
    open();
    running = await serve(port);
  }
  await inStatus(s, runId as string, "interrupted");
  await s.post(`/v1/runs/${runId}/cancel`);
  await reading;
  const { body } = await s.get(`/v1/runs/${runId}`);
  assert.deepEqual(seen, upTo((body.run as { revision: number }).revision));
  assert.equal(ended, "cancelled");
  await running.server.close();
  await s.close();
});

test("one that does not read gets no more than fits, is closed, and goes on later where it was (FC-35)", async () => {
  const info = "x".repeat(100_000);
  const s = await site([
    single("loop", (_, ctx) => Promise.race([ctx.waitFor(Verdict, { info }), ctx.sleep("now", 0)]), {
      pick: () => "only",
      waits: [Verdict],
    }),
  ], { events: { limit: 1, stall: "300ms" } });
  const server = await listen(s.app, { port: 0, grace: 0 });
  const listening = listeners(s.store);
  const { runId, last } = await halted(s, 200);
  const path = `/v1/runs/${runId}/events`;
  const slow = readEvents(server.port, path);
  slow.socket.pause();
  await is(() => listening() === 1);
  await is(() => listening() === 0);
  const { status } = await raw(server.port, head("HEAD", path));
  assert.equal(status, 200, "the place of the slow one is free");
  slow.socket.resume();
  await slow.closed;
  const got = ids(slow);
  assert.ok(got.length > 0 && got.length < last, `${got.length} of ${last}`);
  assert.deepEqual(got, upTo(got.length - 1));
  const rest = readEvents(server.port, path, { "Last-Event-ID": String(got.at(-1)) });
  await is(() => rest.events.at(-1)?.id === last);
  assert.deepEqual(ids(rest), upTo(last, got.length));
  rest.socket.destroy();
  await server.close();
  await s.close();
});
