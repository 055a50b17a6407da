import assert from "node:assert/strict";
import { test } from "node:test";
import type { HistoryEntry } from "../../src/engine/history.ts";
import { eventStream, type StreamSource } from "../../src/http/stream.ts";
import { VirtualClock } from "../../src/testing/virtual_clock.ts";

const TIMES = { heartbeat: 15_000, stall: 30_000, lifetime: 900_000 };

/** A source whose records the test sends, and a stream of it on virtual time. */
function opened(times: Partial<typeof TIMES> = {}, more: Partial<StreamSource<HistoryEntry>> = {}) {
  const clock = new VirtualClock();
  const queue: (HistoryEntry | "end" | Error)[] = [];
  let wake = () => {};
  const state = { closed: 0, left: 0, asked: 0, failed: [] as unknown[] };
  async function* events(signal: AbortSignal) {
    try {
      for (;;) {
        const next = queue.shift();
        state.asked++;
        if (next === "end" || signal.aborted) return;
        if (next instanceof Error) throw next;
        if (next !== undefined) yield next;
        else {
          await new Promise<void>((resolve) => {
            wake = resolve;
            signal.addEventListener("abort", () => resolve());
          });
        }
      }
    } finally {
      state.left++;
    }
  }
  const stop = new AbortController();
  const stream = eventStream(
    {
      events,
      show: ({ revision }) => ({ id: `${revision}`, event: "checkpoint", data: { revision } }),
      signal: stop.signal,
      closed: () => void state.closed++,
      failed: (error) => void state.failed.push(error),
      ...more,
    },
    { ...TIMES, ...times },
    clock,
  );
  const reader = stream.getReader();
  const text = new TextDecoder();
  return {
    clock,
    state,
    stop,
    reader,
    stream,
    send: (...items: (number | "end" | Error)[]) => {
      queue.push(
        ...items.map((item) => typeof item === "number" ? { revision: item } as HistoryEntry : item),
      );
      wake();
    },
    /** The next message; `undefined` at the end. */
    next: async () => {
      const { done, value } = await clock.drive(reader.read());
      return done ? undefined : text.decode(value);
    },
  };
}

const message = (revision: number) =>
  `id: ${revision}\nevent: checkpoint\ndata: {"revision":${revision}}\n\n`;

test("a stream begins at once, sends each record with its revision as id, and ends after the last (FC-35)", async () => {
  const s = opened();
  s.send(3, 4, "end");
  assert.equal(await s.next(), "retry: 1000\n\n");
  assert.equal(await s.next(), message(3));
  assert.equal(await s.next(), message(4));
  assert.equal(await s.next(), undefined);
  assert.deepEqual([s.state.closed, s.state.left, s.clock.pending], [1, 1, 0]);
});

test("a stream on which nothing happens says that it is alive, and loses no record meanwhile (FC-35)", async () => {
  const s = opened();
  await s.next();
  const begun = s.clock.now();
  assert.equal(await s.next(), ": alive\n\n");
  assert.equal(s.clock.now() - begun, TIMES.heartbeat);
  assert.equal(await s.next(), ": alive\n\n");
  s.send(1);
  assert.equal(await s.next(), message(1));
  assert.equal(await s.next(), ": alive\n\n");
});

test("nothing is read of a run until the reader asks, and then one message at a time (FC-35)", async () => {
  const s = opened();
  s.send(1, 2, 3);
  await s.clock.settle();
  assert.equal(s.state.asked, 0);
  await s.next();
  await s.clock.settle();
  assert.equal(s.state.asked, 0);
  await s.next();
  await s.clock.settle();
  assert.equal(s.state.asked, 1);
});

test("a reader that leaves is forgotten at once, also while it waits (FC-35)", async () => {
  for (const waiting of [false, true]) {
    const s = opened();
    await s.next();
    const reading = waiting ? s.reader.read() : undefined;
    await s.clock.settle();
    await s.reader.cancel();
    await reading;
    await s.clock.settle();
    assert.deepEqual([s.state.closed, s.clock.pending], [1, 0]);
    assert.equal(s.state.left, waiting ? 1 : 0, "what was never asked has nothing to leave");
  }
});

test("a reader that leaves what it was sent unread is closed, and its records are left (FC-35)", async () => {
  const s = opened();
  s.send(1);
  await s.next();
  await s.next();
  await s.clock.advance(TIMES.stall - 1);
  assert.equal(s.state.closed, 0);
  await s.clock.advance(1);
  assert.deepEqual([s.state.closed, s.state.left, s.clock.pending], [1, 1, 0]);
  assert.equal(await s.next(), undefined);
});

test("a stream that nobody begins to read is closed (FC-35)", async () => {
  const s = opened();
  await s.clock.advance(TIMES.stall);
  assert.deepEqual([s.state.closed, s.clock.pending], [1, 0]);
});

test("a stream has its time, however busy it is (FC-35)", async () => {
  const s = opened({ lifetime: 40_000 });
  await s.next();
  const begun = s.clock.now();
  let last: string | undefined;
  for (let n = await s.next(); n !== undefined; n = await s.next()) last = n;
  assert.equal(last, ": alive\n\n");
  assert.equal(s.clock.now() - begun, 40_000);
  assert.deepEqual([s.state.closed, s.state.left, s.clock.pending], [1, 1, 0]);
});

test("a stream ends when the app does, and does not begin after it (FC-35)", async () => {
  const s = opened();
  await s.next();
  const ending = s.next();
  await s.clock.settle();
  s.stop.abort();
  assert.equal(await ending, undefined);
  assert.deepEqual([s.state.closed, s.state.left, s.clock.pending], [1, 1, 0]);
  const ended = new AbortController();
  ended.abort();
  const late = opened({}, { signal: ended.signal });
  assert.equal(await late.next(), undefined);
  assert.deepEqual([late.state.closed, late.clock.pending], [1, 0]);
});

test("a fault ends the stream cleanly and is told of, so that its reader comes back (FC-35)", async () => {
  const fault = new Error("the store is away");
  const s = opened();
  s.send(1, fault);
  await s.next();
  assert.equal(await s.next(), message(1));
  assert.equal(await s.next(), undefined);
  assert.deepEqual(s.state.failed, [fault]);
  const t = opened({}, {
    show: () => {
      throw fault;
    },
  });
  t.send(1);
  await t.next();
  assert.equal(await t.next(), undefined);
  assert.deepEqual([t.state.failed, t.state.left, t.clock.pending], [[fault], 1, 0]);
});

test("what happens to the records after the stream has ended is nobody's fault, and the app's signal is left (FC-35)", async () => {
  const stop = new AbortController();
  let listening = 0;
  const { signal } = stop;
  const [add, remove] = [signal.addEventListener.bind(signal), signal.removeEventListener.bind(signal)];
  signal.addEventListener = ((type: "abort", listener: () => void) => {
    listening++;
    add(type, listener);
  }) as typeof signal.addEventListener;
  signal.removeEventListener = ((type: "abort", listener: () => void) => {
    listening--;
    remove(type, listener);
  }) as typeof signal.removeEventListener;
  const failed: unknown[] = [];
  const stream = eventStream(
    {
      // deno-lint-ignore require-yield
      async *events(leaving) {
        await new Promise<void>((resolve) => leaving.addEventListener("abort", () => resolve()));
        throw new Error("the store was closed meanwhile");
      },
      show: () => ({ id: "0", event: "checkpoint", data: {} }),
      signal,
      closed: () => {},
      failed: (error) => void failed.push(error),
    },
    TIMES,
    new VirtualClock(),
  );
  const reader = stream.getReader();
  await reader.read();
  assert.equal(listening, 1);
  const reading = reader.read();
  await reader.cancel();
  await reading;
  await new Promise<void>((resolve) => setTimeout(resolve, 1));
  assert.deepEqual([listening, failed], [0, []]);
});
