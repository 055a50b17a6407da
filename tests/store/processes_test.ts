import assert from "node:assert/strict";
import { test } from "node:test";
import { denoKv } from "../../src/store/deno_kv/mod.ts";
import { text } from "../../src/testing/store_suite/support.ts";
import { effort } from "../support/effort.ts";
import { HOST } from "../support/runtimes.ts";
import { temporaryFolder } from "../support/stores.ts";
import { run } from "./ended.ts";

const PROCESSES = ["a", "b", "c", "d"];
const EACH = effort(60, 250);

test("4 processes append records to one file at once, shared and separate, and all are accounted for (S4, STR-05)", async () => {
  const folder = await temporaryFolder();
  try {
    const path = `${folder.path}/store.db`;
    const ended = await Promise.all(
      PROCESSES.map((id) => run(HOST, "tests/store/appender.ts", [path, id, String(EACH)])),
    );
    for (const { code, output } of ended) {
      assert.doesNotMatch(output, /database is locked/);
      assert.equal(code, 0, output);
    }
    const store = await denoKv(path);
    const expected = (id: string) => Array.from({ length: EACH }, (_, i) => `${id}/${i}`);
    const shared = (await store.range("shared", 0, 10_000)).map(({ bytes }) => text(bytes));
    assert.equal(shared.length, PROCESSES.length * EACH);
    for (const id of PROCESSES) {
      assert.deepEqual(shared.filter((record) => record.startsWith(`${id}/`)), expected(id));
      const own = await store.range(`own-${id}`, 0, 10_000);
      assert.deepEqual(own.map(({ bytes }) => text(bytes)), expected(id));
    }
    await store.close();
  } finally {
    await folder.remove();
  }
});
