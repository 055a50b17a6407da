import assert from "node:assert/strict";
import type { CallOptions, Position, Store } from "../../store/store.ts";
import { entryAt, freshId, mail, push, rejects, type StoreCase } from "./support.ts";

type Call = (store: Store, options: CallOptions, at: Position) => Promise<unknown>;

const cell = { space: "s", name: "n" };

/** Every call of a store, by the name that its errors carry. */
const calls: Readonly<Record<string, Call>> = {
  append: (store, options) => store.append("new", 0, entryAt(null), options),
  post: (store, options, { epoch }) => {
    const mailbox = mail(null, "x");
    return store.post("run", { postId: freshId("post"), epoch, mailbox }, options);
  },
  tail: (store, options) => store.tail("run", options),
  range: (store, options) => store.range("run", 0, 1, options),
  parts: (store, options) => store.parts("run", "e", [], options),
  inspect: (store, options) => store.inspect("run", 0, undefined, options),
  wait: (store, options) => store.wait("run", "w", options),
  list: (store, options) => store.list({}, options),
  waits: (store, options) => store.waits({}, options),
  wakes: (store, options) => store.wakes(1, 1, options),
  "cells.read": (store, options) => store.cells.read([cell], options),
  "cells.list": (store, options) => store.cells.list("s", { limit: 1 }, options),
  "cells.write": (store, options) =>
    store.cells.write({ writeId: freshId("write"), cells: [{ ...cell, value: null }] }, options),
  trim: (store, options) => store.trim("run", { epoch: "none", before: 0, keep: [] }, options),
  purge: (store, options) => store.purge("run", options),
  register: (store, options) => store.owners.register("me", options),
  beat: (store, options) => store.owners.beat("me", options),
  owners: (store, options) => store.owners.list(options),
  bury: (store, options) => store.owners.bury("me", "v", options),
  forget: (store, options) => store.owners.forget("me", options),
  ownedBy: (store, options) => store.owners.ownedBy("me", 1, options),
  takePokes: (store, options) => store.owners.takePokes("me", options),
};

/** Cancellation. */
export const signalCases: readonly StoreCase[] = Object.entries(calls).map(([op, call]) => ({
  title: `an aborted ${op} rejects with a StoreError of ${op} that wraps the reason (STR-10, STORE-8)`,
  run: async ({ store }) => {
    const at = await push(store, "run", null);
    const reason = new Error("enough");
    const error = await rejects(call(store, { signal: AbortSignal.abort(reason) }, at), "STORE", { op });
    assert.equal(error.cause, reason);
    assert.deepEqual((await store.tail("run"))?.position, at);
    assert.equal(await store.tail("new"), undefined);
    assert.deepEqual(await store.owners.list(), []);
    const live = new AbortController();
    if (op !== "parts" && op !== "trim") await call(store, { signal: live.signal }, at);
  },
}));
