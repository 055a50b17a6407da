// Runs on deno by default: what is written is the same everywhere.
import assert from "node:assert/strict";
import { test } from "node:test";
import { advance } from "../../src/checkpoint/delta.ts";
import { canonical } from "../../src/checkpoint/canonical.ts";
import { listed } from "../waits/damage.ts";
import { defaultCodec } from "../../src/checkpoint/codec.ts";
import { evolve } from "../../src/checkpoint/evolve.ts";
import { CheckpointLog, type Cursor } from "../../src/checkpoint/log.ts";
import type { RecordEvent } from "../../src/checkpoint/records.ts";
import { retainLast } from "../../src/checkpoint/retention.ts";
import { decodeRecord } from "../../src/checkpoint/wire.ts";
import { isSuperstepError } from "../../src/errors.ts";
import { memoryStore } from "../../src/store/memory.ts";
import type { AppendEntry } from "../../src/store/store.ts";
import { aroundStore } from "../../src/testing/around_store.ts";
import { VirtualClock } from "../../src/testing/virtual_clock.ts";

const CREATED = {
  type: "created",
  runId: "run",
  graphId: "graph",
  graphVersion: "version",
  form: "form",
  entry: "turn",
  owner: "owner",
  maxSteps: 1_000_000,
  tags: [],
  inputDigest: "",
} as const;

/** A run whose records are appended by hand, and what they weigh. */
class Hand<S> {
  readonly store = memoryStore();
  readonly #clock = new VirtualClock();
  readonly log: CheckpointLog<S>;
  written = 0;
  cursor!: Cursor<S>;

  constructor() {
    const weighed = aroundStore(this.store, (call) => {
      if (call.op === "append") {
        const { record, parts } = call.args[2] as AppendEntry;
        this.written += record.byteLength + parts.reduce((sum, part) => sum + part.byteLength, 0);
      }
      return call.apply();
    });
    this.log = new CheckpointLog(weighed, this.#clock);
  }

  async create(state: S): Promise<void> {
    this.cursor = await this.log.create(CREATED, canonical(state, "a state") as S, {});
  }

  async append(events: readonly RecordEvent[], reduce?: (state: S) => S): Promise<void> {
    const { checkpoint, state } = this.cursor;
    const after = evolve(checkpoint, events, checkpoint.run.revision + 1, 1_000);
    const next = reduce && advance(state, reduce(state), "a state");
    this.cursor = await this.log.append(this.cursor, {
      events,
      checkpoint: after,
      ...(next === undefined ? {} : { next: { state: next.value, patch: next.patch } }),
    });
  }

  /** A whole step of one vertex that changes the state. */
  async step(reduce: (state: S) => S): Promise<void> {
    await this.append([
      { type: "done", vertexId: "turn", attempt: 1, startedAt: 1_000, at: 1_000 },
      { type: "folded", finish: false },
      { type: "routed", routes: [{ from: "turn", to: "turn", kind: "static" }], frontier: ["turn"] },
    ], reduce);
  }

  /** The run as somebody else finds it. */
  async load(): Promise<Cursor<S>> {
    return (await new CheckpointLog<S>(this.store, this.#clock).load("run"))!;
  }

  /** What is stored is what this process has. */
  async check(): Promise<void> {
    const { checkpoint, state } = await this.load();
    assert.deepEqual(state, this.cursor.state);
    assert.deepEqual(listed(checkpoint), listed(this.cursor.checkpoint));
    assert.deepEqual([...checkpoint.executions.keys()], [...this.cursor.checkpoint.executions.keys()]);
  }
}

const textOf = (n: number, bytes: number) => String(n).padEnd(bytes, "abcdefghij");
/** A place that looks random. */
const placeOf = (n: number, size: number) => (n * 2_654_435_761 >>> 0) % size;

test("a large array of which one entry changes a step is stored in bytes that follow the entries (FT-E2, C2)", async () => {
  const hand = new Hand<readonly string[]>();
  await hand.create(Array.from({ length: 1_000 }, (_, i) => textOf(i, 200)));
  const [first, steps] = [hand.written, 1_500];
  for (let n = 0; n < steps; n++) await hand.step((list) => list.with(placeOf(n, 1_000), textOf(n, 200)));
  assert.ok(hand.written - first < 3.5 * 200 * steps, `${hand.written - first} bytes for ${200 * steps}`);
  await hand.check();
});

test("a large record of which one key changes a step is stored in bytes that follow the keys (FT-E2, C2)", async () => {
  const hand = new Hand<Record<string, string>>();
  await hand.create(
    Object.fromEntries(Array.from({ length: 1_000 }, (_, i) => [`key-${i}`, textOf(i, 200)])),
  );
  const [first, steps] = [hand.written, 500];
  for (let n = 0; n < steps; n++) {
    await hand.step((record) => ({ ...record, [`key-${placeOf(n, 1_000)}`]: textOf(n, 200) }));
  }
  assert.ok(hand.written - first < 4 * 200 * steps, `${hand.written - first} bytes for ${200 * steps}`);
  await hand.check();
});

test("items of a map that settle one by one are stored in bytes that follow their outputs (FT-E2, C2)", async () => {
  const hand = new Hand<null>();
  await hand.create(null);
  const [first, items] = [hand.written, 2_000];
  await hand.append([{ type: "mapped", vertexId: "turn", count: items, digest: "" }]);
  for (let item = 0; item < items; item++) {
    const output = textOf(item, 500);
    await hand.append([{ type: "done", vertexId: "turn", item, attempt: 1, startedAt: 1, at: 2, output }]);
  }
  assert.ok(hand.written - first < 3 * 500 * items, `${hand.written - first} bytes for ${500 * items}`);
  await hand.check();
});

test("waits that get their answers one at a time are stored in bytes that follow the answers (FT-E2, C2)", async () => {
  const hand = new Hand<null>();
  await hand.create(null);
  const waits = 400;
  const [vertexId, name, n] = ["turn", "reply", 0];
  await hand.append(Array.from({ length: waits }, (_, item): RecordEvent => {
    return { type: "opened", vertexId, item, id: `wait-${item}`, kind: "timer", name, n, openedAt: 1 };
  }));
  const first = hand.written;
  for (let i = 0; i < waits; i++) {
    const item = placeOf(i, waits);
    if (hand.cursor.checkpoint.executions.get(`turn/${item}`)?.status === "done") continue;
    const result = { kind: "answered", at: 1, value: textOf(i, 200) } as const;
    await hand.append([{ type: "claimed", owner: "owner", recovery: false }]);
    await hand.append([{ type: "resolved", vertexId, item, id: `wait-${item}`, result }]);
    await hand.append([{ type: "done", vertexId, item, attempt: 1, startedAt: 1, at: 1, output: null }]);
  }
  assert.ok(hand.written - first < 5 * 200 * waits, `${hand.written - first} bytes for ${200 * waits}`);
  await hand.check();
});

test("what is stored as changes of parts is read back after every step, and whoever goes on from there goes on alike (C2)", async () => {
  const hand = new Hand<readonly string[]>();
  await hand.create(Array.from({ length: 200 }, (_, i) => textOf(i, 300)));
  await hand.append([{ type: "mapped", vertexId: "turn", count: 900, digest: "" }]);
  for (let n = 0; n < 900; n++) {
    const output = textOf(n, 80);
    await hand.append(
      [
        { type: "done", vertexId: "turn", item: placeOf(n, 900), attempt: 1, startedAt: 1, at: 2, output },
      ],
      (list) => n % 5 === 0 ? [...list.slice(1), textOf(n, 300)] : list.with(placeOf(n, 200), textOf(n, 300)),
    );
    if (n % 97 !== 0) continue;
    await hand.check();
    hand.cursor = await hand.load();
    if (n === 582) await retainLast(hand.store, "run", 1);
  }
  await hand.check();
  await hand.step((list) => list);
  await hand.check();
});

test("code that does not know ledgers refuses a record with one by the version of its format (FT-E2, C3)", async () => {
  const hand = new Hand<null>();
  await hand.create(null);
  for (let item = 0; item < 300; item++) {
    const output = textOf(item, 100);
    await hand.append([{ type: "done", vertexId: "turn", item, attempt: 1, startedAt: 1, at: 2, output }]);
  }
  const { records: [snapshot] } = (await hand.store.tail("run"))!;
  assert.equal(snapshot!.bytes[0], 2);
  assert.throws(() => defaultCodec.decode(snapshot!.bytes), /version 2, this code reads up to 1; upgrade/);
  const newer = snapshot!.bytes.with(0, 3);
  const isNewer = (error: unknown) =>
    isSuperstepError(error) && /version 3, this code reads up to 2; upgrade/.test(error.message);
  assert.throws(() => decodeRecord(newer, snapshot!.revision, "run", defaultCodec), isNewer);
});
