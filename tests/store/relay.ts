/**
 * One turn of a relay over one file: a process of any runtime reads everything that the turns before it wrote, and
 * adds its own. It ends with an error when anything is not as it was written.
 */
import assert from "node:assert/strict";
import process from "node:process";
import { denoKv } from "../../src/store/deno_kv/mod.ts";
import {
  bytes,
  catalogRow,
  entryAt,
  noise,
  sameBytes,
  text,
  waitRow,
} from "../../src/testing/store_suite/support.ts";

const [path, turnText] = process.argv.slice(2);
if (path === undefined || turnText === undefined) throw new Error("usage: relay path turn");
const turn = Number(turnText);
const before = Array.from({ length: turn }, (_, i) => i);

const store = await denoKv(path);
const tail = await store.tail("relay");
assert.deepEqual(tail?.records.map((record) => text(record.bytes)) ?? [], before.map((i) => `turn ${i}`));
assert.equal(
  tail === undefined ? "none" : text(tail.mailbox!.value),
  turn === 0 ? "none" : `mail ${turn - 1}`,
);

const parts = tail === undefined
  ? []
  : await store.parts("relay", tail.position.epoch, before.map((revision) => ({ revision, index: 0 })));
parts.forEach((part, i) =>
  assert.ok(sameBytes(part, noise(i % 2 === 0 ? 1_200_000 : 100_000, i)), `part ${i}`)
);

assert.deepEqual((await store.list({})).rows.map(({ runId }) => runId), before.map((i) => `r${i}`).reverse());
assert.deepEqual((await store.waits({})).rows.map(({ waitId }) => waitId), before.map((i) => `w${i}`));
assert.deepEqual((await store.wakes(1e12, 100)).map(({ runId }) => runId), before.map((i) => `r${i}`));

const at = tail?.position ?? null;
await store.owners.register(`process-${turn}`);
await store.append(
  "relay",
  turn,
  entryAt(at, {
    record: bytes(`turn ${turn}`),
    parts: [noise(turn % 2 === 0 ? 1_200_000 : 100_000, turn)],
    mailbox: { version: tail?.mailbox?.version ?? null, value: bytes(`mail ${turn}`) },
    writer: `process-${turn}`,
    owner: null,
  }),
);
// Times on both sides of what other number formats would order differently.
const time = [0.5, 1, 200, 70_000, 2 ** 31, 2 ** 33 + 0.25, 1e11][turn]!;
const runId = `r${turn}`;
await store.append(
  runId,
  0,
  entryAt(null, {
    index: {
      catalog: { to: catalogRow(runId, { createdAt: time }) },
      opened: [waitRow(runId, `w${turn}`, { openedAt: time })],
      wake: { to: { runId, graphId: "g", graphVersion: "v", due: time } },
    },
  }),
);
await store.close();
