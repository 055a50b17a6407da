import assert from "node:assert/strict";
import { test } from "node:test";
import type { DenoKvStore } from "../../src/store/deno_kv/mod.ts";
import type { AppendEntry, Position } from "../../src/store/store.ts";
import {
  bytes,
  catalogRow,
  entryAt,
  historyOf,
  push,
  rejects,
} from "../../src/testing/store_suite/support.ts";
import { type CommitCall, type Faulty, loseAck, withFaults } from "../support/kv_faults.ts";
import { Crash, inLab } from "./crash_lab.ts";

/** Two commits are in flight and held back until `release`; what comes meanwhile waits. */
async function whileTwoAreInFlight<T>({ store, faults }: Faulty, work: () => Promise<T>): Promise<T> {
  let release = () => {};
  const held = new Promise<void>((resolve) => release = resolve);
  let commits = 0;
  const { commit: then } = faults;
  faults.commit = async (call) => {
    if (++commits > 2) return await (then?.(call) ?? call.commit());
    await held;
    return await call.commit();
  };
  const blocking = ["blocking 1", "blocking 2"].map((runId) => push(store, runId, null));
  const done = work();
  done.catch(() => {});
  for (let turn = 0; turn < 20; turn++) await Promise.resolve();
  release();
  await Promise.all(blocking);
  return await done;
}

/** How many members each commit had, by its checks of heads. */
function counting({ faults }: Faulty): number[] {
  const heads: number[] = [];
  const { commit: then } = faults;
  faults.commit = async (call) => {
    heads.push(call.checks.filter((key) => key[1] === "h" && key.length === 3).length);
    return await (then?.(call) ?? call.commit());
  };
  return heads;
}

const names = (count: number) => Array.from({ length: count }, (_, i) => `run ${i}`);

test("appends of different runs that wait while others are in flight are one operation, with one check of their owner (S5)", async () => {
  await withFaults(async (opened) => {
    const { store } = opened;
    await store.owners.register("me");
    await push(store, "warm", null, { writer: "me" });
    const heads = counting(opened);
    await whileTwoAreInFlight(
      opened,
      () => Promise.all(names(4).map((runId) => push(store, runId, null, { writer: "me", owner: "me" }))),
    );
    // The two that were in flight, and four: a check of each head and of what was purged, and one of the owner.
    assert.deepEqual(heads, [4]);
    for (const runId of names(4)) assert.deepEqual(await historyOf(store, runId), ["record 0"]);
  });
});

test("an operation takes as many as its checks allow, and the rest goes with the next (S5, S3)", async () => {
  await withFaults(async (opened) => {
    const { store } = opened;
    await store.owners.register("me");
    const at = await Promise.all(names(20).map((runId) => push(store, runId, null, { writer: "me" })));
    const heads = counting(opened);
    await whileTwoAreInFlight(
      opened,
      () => Promise.all(names(20).map((runId, i) => push(store, runId, at[i]!, { writer: "me" }))),
    );
    assert.deepEqual(heads, [9, 9, 2]); // Ten checks, one of them of the owner.
    for (const runId of names(20)) assert.equal((await historyOf(store, runId)).length, 2);
  });
});

test("a lone append is committed before its call returns, and two appends of one run never share (S5)", async () => {
  await withFaults(async (opened) => {
    const { store } = opened;
    const heads = counting(opened);
    const lone = push(store, "lone", null);
    assert.equal(heads.length, 1);
    await lone;
    heads.length = 0;
    const [one, two] = await whileTwoAreInFlight(
      opened,
      () => Promise.allSettled([push(store, "same", null), push(store, "same", null)]),
    );
    assert.deepEqual([one!.status, two!.status], ["fulfilled", "rejected"]);
    assert.deepEqual(heads.slice(0, 2), [1, 1]);
  });
});

test("one member that conflicts is refused as it would be alone, and its neighbours are appended at once (S5)", async () => {
  await withFaults(async (opened) => {
    const { store } = opened;
    const first = await Promise.all(names(6).map((runId) => push(store, runId, null)));
    await push(store, "run 2", first[2]!); // Somebody was faster.
    const heads = counting(opened);
    const results = await whileTwoAreInFlight(
      opened,
      () => Promise.allSettled(names(6).map((runId, i) => push(store, runId, first[i]!))),
    );
    assert.deepEqual(results.map(({ status }) => status === "fulfilled"), [
      true,
      true,
      false,
      true,
      true,
      true,
    ]);
    assert.equal((results[2] as PromiseRejectedResult).reason.code, "REVISION_CONFLICT");
    assert.deepEqual(heads, [6, 5]);
    for (const runId of names(6)) assert.equal((await historyOf(store, runId)).length, 2);
  });
});

test("members of an owner that was buried are refused, those of another one are not (S5, O1)", async () => {
  await withFaults(async (opened) => {
    const { store } = opened;
    for (const owner of ["dead", "alive"]) await store.owners.register(owner);
    const first = await Promise.all(
      names(4).map((runId, i) => push(store, runId, null, { writer: i % 2 ? "dead" : "alive" })),
    );
    const dead = (await store.owners.list()).find(({ ownerId }) => ownerId === "dead");
    assert.ok(await store.owners.bury("dead", dead!.beatVersion));
    const results = await whileTwoAreInFlight(opened, () =>
      Promise.allSettled(
        names(4).map((runId, i) => push(store, runId, first[i]!, { writer: i % 2 ? "dead" : "alive" })),
      ));
    const codes = results.map((result) => result.status === "fulfilled" ? "done" : result.reason.code);
    assert.deepEqual(codes, ["done", "OWNERSHIP_LOST", "done", "OWNERSHIP_LOST"]);
  });
});

test("when a group is refused again, its members go one by one and each has its own outcome (S5)", async () => {
  await withFaults(async (opened) => {
    const { store, faults } = opened;
    const first = await Promise.all(names(5).map((runId) => push(store, runId, null)));
    const members: number[] = [];
    faults.commit = async (call) => {
      members.push(call.checks.length);
      if (members.length === 1) await otherWriter("run 1");
      if (members.length === 2) await otherWriter("run 3");
      return await call.commit();
    };
    // Between the inspection and the next commit somebody else is faster.
    const otherWriter = async (runId: string) => {
      const key = ["ss1", "h", runId];
      const [head] = await opened.kv.getMany([key]);
      await opened.kv.atomic().set(key, head!.value as Uint8Array).commit();
    };
    const results = await whileTwoAreInFlight(
      opened,
      () => Promise.allSettled(names(5).map((runId, i) => push(store, runId, first[i]!))),
    );
    const codes = results.map((result) => result.status === "fulfilled" ? "done" : result.reason.code);
    assert.deepEqual(codes, ["done", "REVISION_CONFLICT", "done", "REVISION_CONFLICT", "done"]);
    assert.deepEqual(members.slice(0, 5), [5, 4, 1, 1, 1]);
  });
});

test("after a lost acknowledgement of a group each member is judged, and every record is there once (S2, S5)", async () => {
  await withFaults(async (opened) => {
    const { store, faults } = opened;
    let lost = 0;
    faults.commit = async (call) => {
      if (call.checks.length < 4 || lost++ > 0) return await call.commit();
      return await loseAck(call);
    };
    const positions = await whileTwoAreInFlight(
      opened,
      () => Promise.all(names(4).map((runId) => push(store, runId, null))),
    );
    assert.equal(lost, 1);
    for (const [i, runId] of names(4).entries()) {
      assert.deepEqual(await historyOf(store, runId), ["record 0"]);
      await push(store, runId, positions[i]!);
    }
  });
});

test("a group whose commit fails before it is made is made again, whole (S2, S5)", async () => {
  await withFaults(async (opened) => {
    const { store, faults } = opened;
    let failed = 0;
    faults.commit = (call) => {
      if (call.checks.length < 4 || failed++ > 0) return call.commit();
      return Promise.reject(new Error("database is locked"));
    };
    await whileTwoAreInFlight(opened, () => Promise.all(names(4).map((runId) => push(store, runId, null))));
    for (const runId of names(4)) assert.deepEqual(await historyOf(store, runId), ["record 0"]);
  });
});

test("a call that is aborted while it waits for its turn rejects and writes nothing, the others go on (S5, STORE-8)", async () => {
  await withFaults(async (opened) => {
    const { store } = opened;
    const stop = new AbortController();
    const results = await whileTwoAreInFlight(opened, () => {
      const calls = names(3).map((runId, i) =>
        store.append(runId, 0, entryAt(null), i === 1 ? { signal: stop.signal } : {})
      );
      stop.abort(new Error("enough"));
      return Promise.allSettled(calls);
    });
    assert.deepEqual(results.map(({ status }) => status === "fulfilled"), [true, false, true]);
    assert.equal(await store.tail("run 1"), undefined);
  });
});

test("large records share an operation only as far as its bytes go, and all of them are there (S5, S3)", async () => {
  await withFaults(async (opened) => {
    const { store } = opened;
    const sizes: number[] = [];
    const heads = counting(opened);
    const record = new Uint8Array(60_000).fill(7);
    await whileTwoAreInFlight(
      opened,
      () => Promise.all(names(30).map((runId) => push(store, runId, null, { record }))),
    );
    for (const runId of names(30)) sizes.push((await store.range(runId, 0, 1))[0]!.bytes.length);
    assert.ok(sizes.every((size) => size === record.length));
    assert.ok(heads.length >= 3 && heads.every((count) => count <= 13), String(heads));
  });
});

for (const phase of ["before", "after"] as const) {
  test(`a process that ends ${phase} the commit of a group leaves all of it or nothing, and the next one goes on (S5, S2)`, async () => {
    await inLab(async ({ open }) => {
      let isGroup = false;
      const store = await open((event) => {
        if (event.members < 2 || event.phase !== phase) return;
        isGroup = true;
        throw new Crash();
      });
      const calls = names(12).map((runId) => push(store, runId, null));
      const results = await Promise.allSettled(calls);
      assert.ok(isGroup);
      const next: DenoKvStore = await open();
      const stored = await Promise.all(names(12).map((runId) => next.tail(runId)));
      for (const [i, result] of results.entries()) {
        const isThere = stored[i] !== undefined;
        if (result.status === "fulfilled") assert.ok(isThere);
        else assert.equal(isThere, phase === "after", `run ${i}`);
      }
      for (const [i, tail] of stored.entries()) await push(next, `run ${i}`, tail?.position ?? null);
    });
  });
}

test("whatever meets, a merged history of runs is that of calls made one by one (S5)", async () => {
  await withFaults(async ({ store, faults }) => {
    let seed = 12345;
    const random = (below: number) => (seed = (Math.imul(seed, 1103515245) + 12345) >>> 0) % below;
    faults.commit = async (call: CommitCall) => {
      const dice = random(12);
      if (dice === 0) return await loseAck(call);
      if (dice === 1) throw new Error("database is locked");
      return await call.commit();
    };
    for (const owner of ["a", "b"]) await store.owners.register(owner);
    const expected = new Map<string, string[]>();
    const writer = async (runId: string, owner: string, other: boolean) => {
      let at: Position | null = null;
      for (let i = 0; i < 12; i++) {
        const entry: Partial<AppendEntry> = {
          writer: owner,
          owner,
          record: bytes(`${owner} ${i}`),
          index: { catalog: { to: catalogRow(runId, { step: i }) } },
        };
        try {
          at = await push(store, runId, at, entry);
          expected.set(runId, [...expected.get(runId) ?? [], `${owner} ${i}`]);
        } catch (error) {
          assert.equal((error as { code?: string }).code, "REVISION_CONFLICT");
          if (!other) throw error;
          at = (await store.tail(runId))?.position ?? null;
          i--;
        }
      }
    };
    // Ten runs with one writer, and three that two writers contend for.
    await Promise.all([
      ...names(10).map((runId) => writer(runId, "a", false)),
      ...["x", "y", "z"].flatMap((runId) => ["a", "b"].map((owner) => writer(runId, owner, true))),
    ]);
    for (const [runId, records] of expected) {
      const stored = await historyOf(store, runId);
      assert.equal(stored.length, ["x", "y", "z"].includes(runId) ? 24 : 12);
      assert.deepEqual([...stored].sort(), [...records].sort());
    }
    await rejects(store.append("x", 3, entryAt(null)), "REVISION_CONFLICT");
  });
});
