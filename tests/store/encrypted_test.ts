// Runs on deno and node by default: the cipher of Bun is tried by `deno task test:long`.
import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import process from "node:process";
import { test } from "node:test";
import { z } from "zod";
import { compile, defineWait, GraphBuilder, isSuperstepError, type Store } from "../../mod.ts";
import { withDatabase } from "../../src/cli/database.ts";
import { toBase64 } from "../../src/runtime/base64.ts";
import { encrypted, type EncryptedOptions } from "../../src/store/encrypted.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { storeCases } from "../../src/testing/store_suite.ts";
import { testEach } from "../../src/testing/suite.ts";
import { LONG } from "../support/effort.ts";
import { openDenoKv, openMemory } from "../support/stores.ts";

const OLD = new Uint8Array(32).fill(1);
const NEW = new Uint8Array(32).fill(2);
const KEYS: EncryptedOptions = { keys: { old: OLD }, current: "old" };

const around = (open: typeof openMemory) => async () => {
  const opened = await open();
  const wrap = (store: Store) => encrypted(store, KEYS);
  return {
    ...opened,
    store: wrap(opened.store),
    reopen: async () => wrap(await opened.reopen()),
    second: async () => wrap(await opened.second()),
  };
};
testEach("encrypted memory (V7)", storeCases, around(openMemory));
if (LONG) testEach("encrypted deno kv (V7)", storeCases, around(openDenoKv));

/** Every kind of text that a run holds, none of which may be found in the file. */
const SECRETS = ["input-3f1", "state-77a", "output-c09", "answer-5be", "info-e42", "error-d18", "once-a6c"];
const Approve = defineWait("approve", z.object({ note: z.string() }));

function secretive(store: Store) {
  return compile(
    new GraphBuilder({
      id: "secretive",
      schema: z.object({ text: z.string(), seen: z.array(z.string()).default([]) }),
    })
      .addVertex({
        id: "ask",
        task: {
          async execute(_: string, ctx) {
            await ctx.once("look", () => "once-a6c");
            return `output-c09 ${(await ctx.waitFor(Approve, { info: "info-e42" })).note}`;
          },
        },
        waits: [Approve],
        select: (s) => s.text,
        reduce: (s, out: string) => void s.seen.push("state-77a".repeat(9_000), out),
      })
      .addVertex({
        id: "fail",
        task: { execute: (): never => assert.fail("error-d18") },
        select: () => undefined,
        reduce: () => {},
      })
      .addEdge("ask", "fail")
      .build({ entry: "ask", finish: "fail" }),
    { store, logger: null },
  );
}

test("of what a run holds nothing is found in the file (V7)", async () => {
  const opened = await openDenoKv();
  try {
    const runner = secretive(encrypted(opened.store, KEYS));
    const paused = await runner.run({ text: "input-3f1" }, { runId: "findable", tags: ["a-tag"] });
    assert.equal(paused.status, "interrupted");
    const [wait] = (await runner.waits({})).rows;
    assert.equal(wait?.info, "info-e42");
    await runner.answer("findable", wait.waitId, { note: "answer-5be" });
    const result = await runner.resume("findable");
    assert.ok(result.status === "interrupted");
    assert.match(result.failures[0]?.error.message ?? "", /error-d18/);
    assert.match(result.state.seen[1] ?? "", /^output-c09 answer-5be$/);
    await opened.store.close();

    const folder = dirname(opened.path);
    const names = await readdir(folder);
    const bytes = Buffer.concat(await Promise.all(names.map((name) => readFile(join(folder, name)))));
    assert.deepEqual(SECRETS.filter((secret) => bytes.includes(secret)), []);
    for (const readable of ["findable", "secretive", "a-tag"]) {
      assert.ok(bytes.includes(readable), readable);
    }
  } finally {
    await opened.cleanup();
  }
});

test("a key is changed while runs wait: what is written under the old one is read on, with the new one alone it is not (V7)", async () => {
  const store = memoryStore();
  const before = secretive(encrypted(store, KEYS));
  for (const runId of ["r", "q"]) await before.run({ text: "t" }, { runId });
  const both = secretive(encrypted(store, { keys: { old: OLD, new: NEW }, current: "new" }));
  const [wait] = (await both.waits({ runId: "r" })).rows;
  await both.answer("r", wait!.waitId, { note: "n" });
  assert.equal((await both.resume("r")).run.reason, "errored");
  await both.run({ text: "t" }, { runId: "s" });

  const alone = secretive(encrypted(store, { keys: { new: NEW }, current: "new" }));
  assert.equal((await alone.get("s")).run.status, "interrupted");
  await assert.rejects(alone.get("q"), (error) => {
    assert.ok(isSuperstepError(error, "INTEGRITY"));
    assert.match(error.message, /run q: its mailbox cannot be trusted: it is encrypted under the key "old"/);
    return true;
  });
  assert.equal((await alone.list({})).rows.length, 3);
});

test("a value that was changed, moved to another place or run, or is not encrypted is refused by its place (V7)", async () => {
  const { store, swap } = swapping(memoryStore());
  const runner = secretive(encrypted(store, KEYS));
  for (const runId of ["a", "b"]) await runner.run({ text: "t" }, { runId });

  const refused = async (runId: string, problem: RegExp) =>
    await assert.rejects(runner.get(runId), (error) => {
      assert.ok(isSuperstepError(error, "INTEGRITY"), String(error));
      assert.equal(error.fields["runId"], runId);
      assert.match(error.message, problem);
      return true;
    });
  const record = async (runId: string, revision: number) => (await store.range(runId, revision, 1))[0]!.bytes;

  const [ofA, ofB, later] = [await record("a", 0), await record("b", 0), await record("a", 1)];
  swap((runId, revision) => runId === "a" && revision === 0 ? ofB : undefined);
  await refused("a", /run a: its record 0 .* was changed, belongs elsewhere/);
  swap((runId, revision) => runId === "a" && revision === 0 ? later : undefined);
  await refused("a", /record 0/);
  swap((runId, revision) =>
    runId === "a" && revision === 0 ? ofA.map((b, i) => i === 60 ? b ^ 1 : b) : undefined
  );
  await refused("a", /record 0/);
  swap((runId, revision) => runId === "a" && revision === 0 ? new Uint8Array(9) : undefined);
  await refused("a", /is not encrypted/);
  assert.equal((await runner.get("b")).run.status, "interrupted");
  await runner.purge({ runId: "a", force: true });
  swap(() => undefined);
  assert.deepEqual((await runner.list({})).rows.map(({ runId }) => runId), ["b"]);
});

test("keys of another length, ids that are none and a current key that is not there are refused (V7)", () => {
  const wrong: readonly [EncryptedOptions, RegExp][] = [
    [{ keys: { a: new Uint8Array(16) }, current: "a" }, /key a has not 32 bytes/],
    [{ keys: { a: "not base64!" }, current: "a" }, /key a has not 32 bytes/],
    [{ keys: { "": OLD }, current: "" }, /id of a key is ""/],
    [{ keys: { a: OLD }, current: "b" }, /current key is "b", which is not among the keys/],
  ];
  for (const [options, problem] of wrong) {
    assert.throws(() => encrypted(memoryStore(), options), problem);
  }
  assert.ok(encrypted(memoryStore(), { keys: { a: Buffer.from(OLD).toString("base64") }, current: "a" }));
});

/** A store of which records are read as somebody else left them. */
function swapping(store: Store) {
  let other: (runId: string, revision: number) => Uint8Array | undefined = () => undefined;
  return {
    swap: (to: typeof other) => void (other = to),
    store: {
      ...store,
      tail: async (runId: string) => {
        const tail = await store.tail(runId);
        return tail && {
          ...tail,
          records: tail.records.map((one) => ({ ...one, bytes: other(runId, one.revision) ?? one.bytes })),
        };
      },
    } satisfies Store,
  };
}

test("the command line opens an encrypted file by the keys of its environment, and without them changes nothing (V7, W4)", async () => {
  const opened = await openDenoKv();
  const keys = process.env["SUPERSTEP_KEYS"];
  try {
    await secretive(encrypted(opened.store, KEYS)).run({ text: "t" }, { runId: "r" });
    const runner = (use: (runner: ReturnType<typeof secretive>) => Promise<unknown>) =>
      withDatabase(opened.path, { create: false }, async (store) => await use(secretive(store)));
    const wait = () =>
      runner(async (r) => (await r.waits({})).rows.map(({ info, unreadable }) => info ?? unreadable));
    process.env["SUPERSTEP_KEYS"] = `new=${toBase64(NEW)},old=${toBase64(OLD)}`;
    assert.deepEqual(await wait(), ["info-e42"]);
    process.env["SUPERSTEP_KEYS"] = "no keys";
    await assert.rejects(wait(), /SUPERSTEP_KEYS is not of the form/);
    for (const [given, code] of [[`new=${toBase64(NEW)}`, "INTEGRITY"], ["", "CHECKPOINT_DECODE"]] as const) {
      process.env["SUPERSTEP_KEYS"] = given;
      // It is listed, and nothing of it is acted upon.
      assert.deepEqual(await wait(), [
        "it is encrypted and cannot be decrypted here; give encrypted() the key of it",
      ]);
      const open = async (r: ReturnType<typeof secretive>) => (await r.waits({})).rows[0]!.waitId;
      for (
        const act of [
          (r) => r.get("r"),
          (r) => r.resume("r"),
          async (r) => await r.answer("r", await open(r), { note: "n" }),
        ] satisfies ((r: ReturnType<typeof secretive>) => Promise<unknown>)[]
      ) await assert.rejects(runner(act), { code });
    }
  } finally {
    if (keys !== undefined) process.env["SUPERSTEP_KEYS"] = keys;
    await opened.cleanup();
  }
});
