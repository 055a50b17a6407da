// Runs on deno by default: the counts are the same everywhere.
import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { compile, defineWait, GraphBuilder, type Store, type TaskContext } from "../../mod.ts";
import { denoKv } from "../../src/store/deno_kv/mod.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { aroundStore } from "../../src/testing/around_store.ts";
import type { PostEntry } from "../../src/store/store.ts";
import { entryAt, mail, post } from "../../src/testing/store_suite/support.ts";
import { temporaryFolder } from "../support/stores.ts";

const Reply = defineWait("reply", z.string());

/** A run of which so many items wait, and the ids of their waits. */
async function waiting(store: Store, items: number) {
  const graph = new GraphBuilder({
    id: "crowd",
    schema: z.object({ items: z.number(), replies: z.number() }),
  })
    .addVertex({
      id: "each",
      waits: [Reply],
      task: { execute: (_: number, ctx: TaskContext) => ctx.waitFor(Reply) },
      each: (s) => Array.from({ length: s.items }, (_, i) => i),
      reduce: (s, outs: readonly string[]) => {
        s.replies = new Set(outs).size;
      },
    })
    .build({ entry: "each", finish: "each" });
  const runner = compile(graph, { store });
  const { run } = await runner.run({ items, replies: 0 });
  const { rows } = await runner.waits({ runId: run.runId, limit: 1_000 });
  return { runner, runId: run.runId, waits: rows.map(({ waitId }) => waitId) };
}

const textOf = (i: number) => String(i).padEnd(20_000, "x");

test("answers to many waits of one run at once share their posts, and each counts once (FT-E1, I2)", async () => {
  const posts: PostEntry[] = [];
  const store = aroundStore(memoryStore(), async (call) => {
    if (call.op === "post") posts.push(call.args[1] as PostEntry);
    if (call.op === "post" || call.op === "wait") await new Promise((resolve) => setTimeout(resolve, 1));
    return await call.apply();
  });
  const { runner, runId, waits } = await waiting(store, 20);
  const given = waits.flatMap((
    waitId,
    i,
  ) => [runner.answer(runId, waitId, textOf(i)), runner.answer(runId, waitId, "second")]);
  const outcomes = await Promise.allSettled(given);
  assert.equal(outcomes.filter(({ status }) => status === "fulfilled").length, 20);
  assert.ok(outcomes.every(({ status }, i) => status === "fulfilled" ? i % 2 === 0 : i % 2 === 1));
  assert.ok(posts.length <= 4, `${posts.length} posts`);
  const { status, state } = await runner.resume(runId);
  assert.deepEqual([status, state.replies], ["completed", 20]);
});

test("an answer costs what it brings, however many were given before it (FT-E1, I2, STORE-11)", async () => {
  const posted: number[] = [];
  const store = aroundStore(memoryStore(), async (call) => {
    if (call.op === "post") {
      const { mailbox: { value, posted: entries = [] } } = call.args[1] as PostEntry;
      posted.push([value, ...entries].reduce((sum, { length }) => sum + length, 0));
    }
    return await call.apply();
  });
  const { runner, runId, waits } = await waiting(store, 20);
  for (const [i, waitId] of waits.entries()) await runner.answer(runId, waitId, textOf(i));
  assert.equal(posted.length, 20);
  assert.ok(posted.every((bytes) => bytes < 20_300), `${posted} bytes`);
  const { status, state } = await runner.resume(runId);
  assert.deepEqual([status, state.replies], ["completed", 20]);
});

test("of two long posts at once, mailboxes or entries, the one that is refused leaves nothing staged behind (FT-E1, S3)", async () => {
  const folder = await temporaryFolder();
  const path = `${folder.path}/store.db`;
  const [one, other] = [await denoKv(path), await denoKv(path)];
  try {
    const { position, mailbox } = await one.append("run", 0, entryAt(null, { mailbox: mail(null, "first") }));
    const long = () => ({ version: mailbox!, value: crypto.getRandomValues(new Uint8Array(65_536)) });
    const values = Array.from({ length: 2 }, long).map(({ version, value }) => {
      const whole = new Uint8Array(16 * value.length);
      for (let i = 0; i < 16; i++) whole.set(value, i * value.length);
      return { version, value: whole };
    });
    const outcomes = await Promise.allSettled(
      values.map((value, i) => post([one, other][i]!, "run", position.epoch, value)),
    );
    assert.deepEqual(outcomes.map(({ status }) => status).sort(), ["fulfilled", "rejected"]);
    assert.equal(await one.sweep({ olderThan: 0 }), 0);
    const { version } = (await one.tail("run"))!.mailbox!;
    const written = await Promise.allSettled(
      values.map(({ value }, i) =>
        post([one, other][i]!, "run", position.epoch, { ...mail(version, "entries"), posted: [value, value] })
      ),
    );
    assert.deepEqual(written.map(({ status }) => status).sort(), ["fulfilled", "rejected"]);
    assert.equal((await other.tail("run"))!.mailbox!.entries.length, 2);
    assert.equal(await one.sweep({ olderThan: 0 }), 0);
  } finally {
    await one.close();
    await other.close();
    await folder.remove();
  }
});
