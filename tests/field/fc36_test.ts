// Runs on deno by default: its processes show the same on all runtimes, and tests of a few start them on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import { compile, GraphBuilder } from "../../mod.ts";
import { openDriver } from "../../src/store/deno_kv/driver.ts";
import { type CommitEvent, denoKv, type KvDriver } from "../../src/store/deno_kv/mod.ts";
import { allEntries } from "../support/kv_faults.ts";
import { temporaryFolder } from "../support/stores.ts";

const KIB = 1_024;
const STEPS = 1_000;

interface Growing {
  readonly lines: string[];
  readonly left: number;
}

/** A run of so many steps, each of which adds 1 KiB to the state. */
function growing() {
  return new GraphBuilder<Growing>({ id: "growing" })
    .addVertex<number, string>({
      id: "grow",
      task: { execute: (n) => `${n} `.padEnd(KIB, String.fromCharCode(97 + n % 26)) },
      select: (s) => s.left,
      reduce: (s, line) => {
        s.lines.push(line);
        (s as { left: number }).left -= 1;
      },
    })
    .addVertex({ id: "end", task: { execute: () => 0 }, select: () => 0, reduce: () => {} })
    .addConditionalEdge("grow", { targets: ["grow", "end"], pick: (s) => s.left > 0 ? "grow" : "end" })
    .build({ entry: "grow", finish: "end" });
}

async function onFile(
  work: (
    open: (onCommit?: (event: CommitEvent) => void) => ReturnType<typeof denoKv>,
    raw: KvDriver,
  ) => Promise<void>,
): Promise<void> {
  const folder = await temporaryFolder();
  const path = `${folder.path}/store.db`;
  const { kv: raw } = await openDriver(path);
  const handles: { close(): Promise<void> | void }[] = [raw];
  try {
    await work(async (onCommit) => {
      const store = await denoKv(path, onCommit === undefined ? {} : { onCommit });
      handles.push(store);
      return store;
    }, raw);
  } finally {
    for (const handle of handles) await handle.close();
    await folder.remove();
  }
}

/** The bytes of every value under the adapter's records, parts and chunks. */
async function storedBytes(raw: KvDriver): Promise<number> {
  const entries = await allEntries(raw);
  return entries.filter(({ key }) => ["r", "p", "b"].includes(String(key[1])))
    .reduce((sum, { value }) => sum + (value as Uint8Array).length, 0);
}

test("a run of 1000 steps that gains 1 KiB a step, retained meanwhile, holds its state and a bounded history (FC-36, H4)", async () => {
  await onFile(async (open, raw) => {
    const store = await open();
    const runner = compile(growing(), { store });
    const bytes: number[] = [];
    let work: Promise<unknown> = Promise.resolve();
    const hooks = {
      checkpoint: ({ revision }: { readonly revision: number }) => {
        if (revision % 200 !== 0) return;
        work = work.then(async () => {
          await runner.retain("r", 10);
          bytes.push(await storedBytes(raw));
        });
      },
    };
    const result = await runner.run({ lines: [], left: STEPS }, { runId: "r", hooks });
    await work;
    const { revision } = result.run;
    assert.deepEqual([result.status, result.state.lines.length], ["completed", STEPS]);
    const { first } = await runner.retain("r", 10);
    const kept = revision - first + 1;
    assert.ok(kept >= 10 && kept <= 10 + 257, `${kept} records`);
    const history = (await runner.history("r", { limit: 1_000 })).rows;
    assert.equal(history.length, kept);
    // The state as parts, and at most its steps since the cut once more.
    const most = (STEPS + kept) * (KIB + 200) + 64 * KIB;
    const final = await storedBytes(raw);
    assert.ok(final <= most, `${final} bytes, at most ${most}`);
    const perStep = bytes.map((size, i) => size / ((i + 1) * 200));
    assert.ok(Math.max(...perStep) <= 4 * KIB, `${perStep.map(Math.round).join()} bytes a step`);
    assert.deepEqual((await compile(growing(), { store: await open() }).get("r")).state, result.state);
    assert.equal(await runner.purge({}), 1);
    assert.equal(await storedBytes(raw), 0);
  });
});

test("a purge of a long run is many small commits, between which another run goes on (FC-36, H4)", async () => {
  await onFile(async (open) => {
    const kinds: string[] = [];
    let isPurging = false;
    const store = await open(({ kind, phase }) => {
      if (isPurging && phase === "after") kinds.push(kind);
    });
    const runner = compile(growing(), { store });
    await runner.run({ lines: [], left: 500 }, { runId: "long" });
    const handle = await runner.start({ lines: [], left: 200 }, { runId: "beside" });
    isPurging = true;
    assert.equal(await runner.purge({ runId: "long" }), 1);
    isPurging = false;
    const during = kinds.filter((kind) => kind === "append").length;
    const purging = kinds.filter((kind) => kind === "purge").length;
    assert.ok(purging >= 5, `${purging} commits of the purge`);
    assert.ok(during >= purging / 4, `${during} appends beside ${purging} commits of the purge`);
    assert.equal((await handle.result()).status, "completed");
  });
});
