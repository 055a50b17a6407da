// Runs on deno by default: the stops find faults of the engine, which no runtime decides.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { PartRef, Position, Store } from "../../src/store/store.ts";
import {
  bytes,
  entryAt,
  historyOf,
  noise,
  push,
  rejects,
  sameBytes,
} from "../../src/testing/store_suite/support.ts";
import { allEntries } from "../support/kv_faults.ts";
import { atEveryCommit, Crash, inLab, keysUnder, stopped } from "./crash_lab.ts";

const ref = (revision: number, index: number): PartRef => ({ revision, index });
const KEPT = [ref(0, 1), ref(1, 0), ref(2, 1)];

/** Records and parts of every size: staged, chunked in place, and small. */
async function grow(store: Store, runId: string): Promise<Position> {
  const first = await store.append(
    runId,
    0,
    entryAt(null, {
      record: noise(900_000, 1),
      parts: [noise(300_000, 2), noise(100_000, 3)],
      mailbox: { version: null, value: noise(100_000, 4) },
    }),
  );
  let at = await push(store, runId, first.position, {
    record: noise(90_000, 5),
    parts: [noise(80_000, 6), bytes("small")],
    snapshot: 1,
  });
  at = await push(store, runId, at, { parts: [bytes("dropped"), bytes("kept")], snapshot: 2 });
  for (let i = 3; i < 8; i++) at = await push(store, runId, at, { snapshot: i });
  return at;
}

async function reads(store: Store, runId: string, epoch: string): Promise<void> {
  const parts = await store.parts(runId, epoch, KEPT);
  assert.ok(sameBytes(parts[0], noise(100_000, 3)) && sameBytes(parts[1], noise(80_000, 6)));
  assert.ok(sameBytes(parts[2], bytes("kept")));
  assert.ok(sameBytes((await store.tail(runId))?.mailbox?.value, noise(100_000, 4)));
}

test("a trim stopped between any two commits is not to be seen or is whole, and trimming again finishes it (STORE-9, H4)", async () => {
  await inLab(async ({ dying, open, raw }) => {
    const reader = await open();
    const lengths = new Set<number>();
    const commits = await atEveryCommit(async (n, phase) => {
      const runId = `run-${n}-${phase}`;
      const at = await grow(reader, runId);
      const { epoch } = at;
      const cut = { epoch, before: 5, keep: KEPT };
      const crashed = await stopped((await dying(n, phase)).trim(runId, cut));
      const history = await historyOf(reader, runId);
      lengths.add(history.length);
      assert.ok(history.length === 8 || history.length === 3, `${history.length}`);
      await reads(reader, runId, epoch);
      const next = await push(reader, runId, at, { snapshot: 8 });
      await reader.trim(runId, cut);
      assert.deepEqual((await historyOf(reader, runId)).length, 4);
      await reads(reader, runId, epoch);
      for (const gone of [ref(0, 0), ref(1, 1), ref(2, 0)]) {
        await rejects(reader.parts(runId, epoch, [gone]), "STORE", { op: "parts" });
      }
      // Of the cut off records only what the kept staged part needs is left.
      const left = (await keysUnder(raw, "r", "p")).filter((key) => key.includes(epoch));
      assert.deepEqual(left.map((key) => key.split("/").slice(3).join("/")), [
        "1/0",
        "2/1",
        "0",
        "5",
        "6",
        "7",
        "8",
      ]);
      await reader.trim(runId, { epoch, before: 8, keep: [] });
      assert.deepEqual((await keysUnder(raw, "r", "p")).filter((key) => key.includes(epoch)).length, 1);
      assert.equal(next.revision, 8);
      await reader.purge(runId);
      assert.deepEqual((await allEntries(raw)).map(({ key }) => key.join("/")), [], `left at ${n} ${phase}`);
      return crashed;
    });
    assert.ok(commits >= 4, `${commits} commits`);
    assert.deepEqual([...lengths].sort(), [3, 8]);
  });
});

test("a purge finishes what a trim that was stopped has left, and a run begun anew has its whole history (H4)", async () => {
  await inLab(async ({ dying, open, raw }) => {
    const reader = await open();
    await atEveryCommit(async (n, phase) => {
      const at = await grow(reader, "run");
      const crashed = await stopped(
        (await dying(n, phase)).trim("run", { epoch: at.epoch, before: 5, keep: KEPT }),
      );
      await reader.purge("run");
      assert.deepEqual((await allEntries(raw)).map(({ key }) => key.join("/")), []);
      await push(reader, "run", null);
      assert.deepEqual(await historyOf(reader, "run"), ["record 0"]);
      await reader.purge("run");
      return crashed;
    });
  });
});

test("a trim that loses its run to a purge, whenever that comes, leaves nothing behind and harms no run begun anew (H4)", async () => {
  await inLab(async ({ open, raw }) => {
    const other = await open();
    let fresh = 0;
    for (const begins of [true, false]) {
      for (let n = 1; n < 10; n++) {
        const at = await grow(other, "run");
        let commits = 0;
        const trimmer = await open(async ({ phase }) => {
          if (phase !== "before" || ++commits !== n) return;
          await other.purge("run");
          fresh++;
          if (begins) await push(other, "run", null, { record: bytes("anew") });
        });
        await trimmer.trim("run", { epoch: at.epoch, before: 5, keep: KEPT }).catch((error) => {
          assert.equal(error.code, "CHECKPOINT_NOT_FOUND");
        });
        const tail = await other.tail("run");
        if (begins && commits >= n) assert.deepEqual(await historyOf(other, "run"), ["anew"]);
        if (tail !== undefined) await other.purge("run");
        assert.deepEqual(
          (await allEntries(raw)).map(({ key }) => key.join("/")),
          [],
          `purged at commit ${n}`,
        );
      }
    }
    assert.ok(fresh >= 8);
  });
});

test("a cut that a trimmer left as it ended, its run purged just before, is none of the run begun anew (STORE-6, H4)", async () => {
  await inLab(async ({ open, raw }) => {
    const other = await open();
    const at = await grow(other, "run");
    const trimmer = await open(async ({ n, phase }) => {
      if (n === 1 && phase === "after") throw new Crash();
      if (n !== 1) return;
      await other.purge("run");
      let last: Position | null = null;
      for (let i = 0; i < 8; i++) last = await push(other, "run", last, { snapshot: i });
    });
    assert.ok(await stopped(trimmer.trim("run", { epoch: at.epoch, before: 5, keep: KEPT })));
    assert.equal((await historyOf(other, "run")).length, 8);
    const { position } = (await other.tail("run"))!;
    await other.trim("run", { epoch: position.epoch, before: 2, keep: [] });
    assert.equal((await historyOf(other, "run")).length, 6);
    await other.purge("run");
    assert.deepEqual((await allEntries(raw)).map(({ key }) => key.join("/")), []);
  });
});

test("a purge that was left in the middle is finished by a later purge of any run, by a sweep and by a new owner (H4)", async () => {
  await inLab(async ({ dying, open, raw }) => {
    const other = await open();
    const minute = 61_000;
    const finishers: readonly ((store: Awaited<ReturnType<typeof open>>) => Promise<unknown>)[] = [
      (store) => store.purge("another"),
      (store) => store.sweep(),
      (store) => store.owners.register("me").then(() => store.owners.forget("me")),
    ];
    for (const [i, finish] of finishers.entries()) {
      await grow(other, "run");
      assert.ok(await stopped((await dying(1, "after")).purge("run")));
      await finish(other);
      assert.ok((await keysUnder(raw, "r")).length > 0, "one that has just begun is left alone");
      await finish(await open(undefined, i === 0 ? minute : 60 * minute));
      const left = (await allEntries(raw)).filter(({ key }) => !["owner", "beat"].includes(String(key[1])));
      assert.deepEqual(left.map(({ key }) => key.join("/")), []);
    }
  });
});
