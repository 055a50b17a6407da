// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { AppendEntry, PartRef, Store } from "../../src/store/store.ts";
import { bytes, noise, push, sameBytes } from "../../src/testing/store_suite/support.ts";
import { inLab, keysUnder } from "./crash_lab.ts";

const SMALL = 1_000;
/** Above a value: chunked beside the append. */
const LARGE = 90_000;
/** Above an operation: staged. */
const HUGE = 900_000;

/** Records and parts of each size, every one followed by small ones up to revision 3. */
const SHAPES: Readonly<Record<string, Partial<AppendEntry>>> = {
  "a large record": { record: noise(LARGE, 1) },
  "a huge record": { record: noise(HUGE, 2) },
  "a large part": { parts: [noise(LARGE, 3)] },
  "huge parts": { parts: [noise(HUGE, 4), noise(SMALL, 5), noise(LARGE, 6)] },
  "a large record with huge parts": { record: noise(LARGE, 7), parts: [noise(HUGE, 8)] },
};

async function history(store: Store, runId: string, first: Partial<AppendEntry>) {
  let at = await push(store, runId, null, first);
  for (let i = 1; i <= 3; i++) {
    at = await push(store, runId, at, { record: bytes(`record ${i}`), snapshot: i });
  }
  return at;
}

test("after a trim no chunk of a record that was cut off stays, nor one of its parts (FT-G10, H4, STORE-9)", async () => {
  await inLab(async ({ open, raw }) => {
    const store = await open();
    for (const [what, first] of Object.entries(SHAPES)) {
      const { epoch } = await history(store, what, first);
      const of = async () => (await keysUnder(raw, "r", "p", "b")).filter((key) => key.includes(epoch));
      assert.ok((await of()).length > 4, what);
      await store.trim(what, { epoch, before: 2, keep: [] });
      assert.deepEqual((await of()).map((key) => key.split("/").slice(3).join("/")), ["2", "3"], what);
    }
  });
});

test("after a trim that keeps one part its chunks stay, and none of another part or of the record (FT-G10, H4, STORE-9)", async () => {
  await inLab(async ({ open, raw }) => {
    const store = await open();
    for (const [what, first] of Object.entries(SHAPES)) {
      for (const [index, part] of (first.parts ?? []).entries()) {
        const runId = `${what} ${index}`;
        const { epoch } = await history(store, runId, first);
        const keep: PartRef[] = [{ revision: 0, index }];
        await store.trim(runId, { epoch, before: 2, keep });
        assert.ok(sameBytes((await store.parts(runId, epoch, keep))[0], part), runId);
        const chunks = (await keysUnder(raw, "b")).filter((key) => key.includes(epoch));
        assert.equal(
          chunks.length,
          part.length > SMALL ? Math.ceil(part.length / 65_536) : chunks.length,
          runId,
        );
        await store.trim(runId, { epoch, before: 3, keep: [] });
        const left = (await keysUnder(raw, "r", "p", "b")).filter((key) => key.includes(epoch));
        assert.deepEqual(left.map((key) => key.split("/").slice(3).join("/")), ["3"], runId);
      }
    }
  });
});

test("a purge leaves nothing of a run, whatever the size of its records and parts, and nothing of another run is gone (FT-G10, H4)", async () => {
  await inLab(async ({ open, raw }) => {
    const store = await open();
    for (const [what, first] of Object.entries(SHAPES)) {
      const { epoch } = await history(store, what, first);
      const other = await history(store, `${what} beside`, first);
      const of = async (e: string) => (await keysUnder(raw, "r", "p", "b")).filter((key) => key.includes(e));
      const beside = await of(other.epoch);
      await store.trim(what, { epoch, before: 1, keep: [] });
      await store.purge(what);
      assert.deepEqual(await of(epoch), [], what);
      assert.deepEqual(await of(other.epoch), beside, what);
      const ends = (await keysUnder(raw, "h", "m", "f", "g", "w", "c")).filter((key) =>
        key.split("/")[2] === what
      );
      assert.deepEqual(ends, [], what);
    }
  });
});
