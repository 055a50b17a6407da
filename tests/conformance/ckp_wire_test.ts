// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import { isSuperstepError } from "../../mod.ts";
import { defaultCodec } from "../../src/checkpoint/codec.ts";
import { firstCheckpoint } from "../../src/checkpoint/beginning.ts";
import { decodeRecord, encodeRecord, type LogRecord } from "../../src/checkpoint/wire.ts";
import type { Checkpoint } from "../../src/model/checkpoint.ts";
import { listed, storedCheckpoint } from "../waits/damage.ts";
import { gate, INPUT, Lab } from "../waits/lab.ts";

const VALUE = {
  at: new Date(3),
  map: new Map([[1n, new Set(["x"])]]),
  none: undefined,
  list: [1, undefined],
};

/** A checkpoint of each phase, with everything in it that one can hold. */
async function ofEveryPhase(): Promise<Checkpoint[]> {
  const lab = new Lab();
  const slow = gate<unknown>();
  const pick = () => {
    throw new Error("no way");
  };
  const runner = lab.engine(lab.graph({
    v: { body: () => 0, to: ["a", "b", "c", "m"] },
    a: {
      body: async (ctx) => {
        await ctx.once("paid", () => VALUE);
        return ctx.answer()?.value ?? ctx.interrupt(VALUE, { continuation: VALUE, deadline: "9d" });
      },
    },
    b: { body: () => slow.promise },
    c: { body: () => undefined, reduce: () => {}, route: { targets: ["v"], pick } },
    m: { each: () => [1, 2], body: (_, item: number) => item, join: "all" },
  }));
  const found: Checkpoint[] = [];
  const note = async () => void found.push(await storedCheckpoint(lab.store, "r"));
  const handle = await runner.start(INPUT, { runId: "r", tags: ["t"], deadline: "30d" });
  await note();
  await lab.clock.settle();
  await note();
  slow.open(VALUE);
  await lab.drive(handle.result());
  await note();
  await lab.drive(runner.resume("r", { payload: VALUE }));
  await note();
  return found;
}

function roundTrip(record: LogRecord): LogRecord {
  return decodeRecord(encodeRecord(record, defaultCodec), 0, "r", defaultCodec);
}

test("a checkpoint of every phase, and the first of all, come back from bytes equal (CKP-18)", async () => {
  const first = firstCheckpoint({
    type: "created",
    runId: "r",
    graphId: "g",
    graphVersion: "v",
    form: "f",
    entry: "a",
    maxSteps: 1,
    tags: [],
    inputDigest: "",
  }, 0);
  const all = [first, ...await ofEveryPhase()];
  assert.deepEqual(all.map((c) => c.phase), ["routed", "routed", "running", "paused", "halted"]);
  for (const checkpoint of all) {
    const record = { at: 1, events: [], snapshot: { checkpoint, table: { any: 1 } } };
    const { snapshot, ...rest } = roundTrip(record);
    assert.deepEqual({ ...rest, ...snapshot, checkpoint: listed(snapshot!.checkpoint) }, {
      at: 1,
      events: [],
      table: { any: 1 },
      checkpoint: listed(checkpoint),
    });
  }
});

test("outputs, infos and continuations come back as they were; one that is absent stays absent (CKP-19)", async () => {
  const of = { vertexId: "a", at: 1, startedAt: 0 };
  const opened = { type: "opened", id: "w", kind: "interrupt", name: "i", n: 1, openedAt: 0 } as const;
  const values = [VALUE, null, undefined, 0, "", false, [], new Uint8Array([1, 2])];
  for (const value of values) {
    const record: LogRecord = {
      at: 1,
      events: [
        { type: "done", ...of, attempt: 1, output: value },
        { ...opened, vertexId: "a", info: value, continuation: value },
      ],
    };
    assert.deepEqual(roundTrip(record), record);
  }
  const absent: LogRecord = {
    at: 1,
    events: [{ type: "done", ...of, attempt: 1 }, { ...opened, vertexId: "a" }],
  };
  const back = roundTrip(absent);
  assert.deepEqual(back, absent);
  assert.ok(!("output" in back.events[0]!) && !("info" in back.events[1]!));
  const [, , paused] = (await ofEveryPhase()).slice(0, 3);
  assert.deepEqual([...paused!.executions.get("a")!.waits.values()][0]!.continuation, VALUE);
});

test("arbitrary and damaged bytes give a typed error or a record, which then is stable (CKP-20)", async () => {
  const [checkpoint] = (await ofEveryPhase()).slice(2);
  const whole = encodeRecord(
    { at: 1, events: [], snapshot: { checkpoint: checkpoint!, table: [] } },
    defaultCodec,
  );
  let seed = 7;
  const chance = (n: number) => (seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648) % n;
  let refused = 0;
  for (let i = 0; i < 2_000; i++) {
    const bytes = i % 2 === 0
      ? Uint8Array.from({ length: chance(60) }, () => chance(256))
      : whole.slice(0, i % 3 === 0 ? chance(whole.length) : whole.length);
    if (i % 2 === 1) { for (let n = chance(4); n >= 0; n--) bytes[chance(bytes.length)] = chance(256); }
    let record: LogRecord;
    try {
      record = decodeRecord(bytes, 3, "r", defaultCodec);
    } catch (error) {
      assert.ok(isSuperstepError(error), String(error));
      refused += 1;
      continue;
    }
    const again = encodeRecord(record, defaultCodec);
    assert.deepEqual(encodeRecord(decodeRecord(again, 3, "r", defaultCodec), defaultCodec), again);
  }
  assert.ok(refused > 1_000);
});

test("the stored form of a checkpoint has these fields and no others; what is unset is left out (CKP-21)", async () => {
  const fields = [
    "arrivals",
    "executions",
    "finishRan",
    "folded",
    "frontier",
    "maps",
    "nextStep",
    "path",
    "phase",
    "routes",
    "run",
  ];
  for (const checkpoint of await ofEveryPhase()) {
    const bytes = encodeRecord({ at: 1, events: [], snapshot: { checkpoint, table: [] } }, defaultCodec);
    const stored = defaultCodec.decode(bytes) as { snapshot: { checkpoint: Record<string, unknown> } };
    const halt = checkpoint.phase === "halted" ? ["halt"] : [];
    assert.deepEqual(Object.keys(stored).sort(), ["at", "events", "snapshot"]);
    assert.deepEqual(Object.keys(stored.snapshot.checkpoint).sort(), [...fields, ...halt].sort());
  }
});
