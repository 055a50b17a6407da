/**
 * A process that appends to a KV file beside others: `count` records to a run that all of them share and as many to
 * one of its own. Its last line is what it did, as JSON.
 */
import process from "node:process";
import { isSuperstepError } from "../../src/errors.ts";
import { denoKv } from "../../src/store/deno_kv/mod.ts";
import type { Position, Store } from "../../src/store/store.ts";
import { bytes, entryAt } from "../../src/testing/store_suite/support.ts";

const [path, me, count] = process.argv.slice(2);
if (path === undefined || me === undefined || count === undefined) {
  throw new Error("usage: appender path id count");
}

async function append(store: Store, runId: string, at: Position | null, what: string): Promise<Position> {
  const revision = at === null ? 0 : at.revision + 1;
  const entry = entryAt(at, { writer: me!, owner: me!, record: bytes(what), snapshot: revision });
  return (await store.append(runId, revision, entry)).position;
}

const store = await denoKv(path);
await store.owners.register(me);
let own: Position | null = null;
let conflicts = 0;
for (let i = 0; i < Number(count); i++) {
  own = await append(store, `own-${me}`, own, `${me}/${i}`);
  for (;;) {
    const at: Position | null = (await store.tail("shared"))?.position ?? null;
    try {
      await append(store, "shared", at, `${me}/${i}`);
      break;
    } catch (error) {
      if (!isSuperstepError(error, "REVISION_CONFLICT")) throw error;
      conflicts++;
    }
  }
}
await store.close();
console.log(JSON.stringify({ me, conflicts }));
