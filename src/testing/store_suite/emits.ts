import assert from "node:assert/strict";
import type { EmitPlace, Emits, Position, Store } from "../../store/store.ts";
import { bytes, noise, push, rejects, sameBytes, type StoreCase, text } from "./support.ts";
import { casesOf } from "../suite.ts";

/** What the engine writes at most; a store around the store may add a little. */
const LARGEST = 60_000;
const TOO_LARGE = 70_000;

async function add(store: Store, at: Position, number: number, said: string): Promise<void> {
  await channel(store).add("run", at, { batch: { revision: at.revision, number, bytes: bytes(said) } });
}

async function readAll(store: Store, epoch: string, after?: EmitPlace, limit = 100): Promise<string[]> {
  const batches = await channel(store).read("run", epoch, after, limit);
  return batches.map((batch) => `${batch.revision}.${batch.number} ${text(batch.bytes)}`);
}

function channel({ emits }: Store): Emits {
  assert.ok(emits, "the store has a channel");
  return emits;
}

/** The channel beside the records of a run. A store without one need not pass them. */
export const emitCases: readonly StoreCase[] = casesOf({
  "batches are read in order behind a place, from any handle; those that are dropped are gone (EMITS-3, A1)":
    async (
      { store, second },
    ) => {
      const other = await second();
      const first = await push(store, "run", null);
      await add(store, first, 0, "a");
      await add(store, first, 3, "b");
      const next = await push(store, "run", first);
      await add(other, next, 0, "c");
      assert.deepEqual(await readAll(other, next.epoch), ["0.0 a", "0.3 b", "1.0 c"]);
      assert.deepEqual(await readAll(store, next.epoch, { revision: 0, number: 0 }, 1), ["0.3 b"]);
      assert.deepEqual(await readAll(store, next.epoch, { revision: 1, number: 0 }), []);
      const batch = { revision: 1, number: 7, bytes: noise(LARGEST, 1) };
      await channel(store).add("run", next, { batch, dropped: [{ revision: 0, number: 0 }] });
      assert.deepEqual((await readAll(other, next.epoch)).slice(0, 2), ["0.3 b", "1.0 c"]);
      const [last] = await channel(other).read("run", next.epoch, { revision: 1, number: 0 }, 10);
      assert.ok(sameBytes(last?.bytes, batch.bytes));
    },
  "a batch is added only at the head of its run, and one that is there is added again without effect (EMITS-1, EMITS-2)":
    async ({ store }) => {
      const first = await push(store, "run", null);
      await add(store, first, 0, "a");
      await add(store, first, 0, "a");
      const next = await push(store, "run", first);
      await rejects(add(store, first, 1, "late"), "REVISION_CONFLICT");
      await rejects(
        channel(store).add("none", first, { batch: { revision: 0, number: 0, bytes: bytes("x") } }),
        "CHECKPOINT_NOT_FOUND",
      );
      await rejects(
        channel(store).add("run", next, { batch: { revision: 0, number: 9, bytes: bytes("x") } }),
        "STORE",
      );
      await rejects(
        channel(store).add("run", next, {
          batch: { revision: 1, number: 9, bytes: noise(TOO_LARGE, 1) },
        }),
        "STORE",
      );
      assert.deepEqual(await readAll(store, next.epoch), ["0.0 a"]);
    },
  "a purge removes batches, and a later run of the same id sees none of them (EMITS-4)": async (
    { store },
  ) => {
    const first = await push(store, "run", null);
    await add(store, first, 0, "a");
    await store.purge("run");
    await rejects(add(store, first, 1, "late"), "CHECKPOINT_NOT_FOUND");
    const again = await push(store, "run", null);
    assert.deepEqual(await readAll(store, again.epoch), []);
    assert.deepEqual(await readAll(store, first.epoch), []);
  },
});
