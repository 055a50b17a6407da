/** Stands in place of `src/store/memory.ts` where tests run on PostgreSQL: each store is a schema of its own. */
import { memoryStore as inMemory } from "../../../src/store/memory.ts";
import type { Store } from "../../../src/store/store.ts";
import { aroundStore, type StoreCall } from "../../../src/testing/around_store.ts";
import { openPostgres } from "../postgres.ts";
import { held } from "./virtual_clock.ts";

/** Opens when it is first used, since a store in memory needs no opening. */
export function memoryStore(): Store {
  let opened: Promise<Store> | undefined;
  const open = () => opened ??= openPostgres().then(({ store }) => store);
  return aroundStore(inMemory(), (call) => held(open().then((store) => made(store, call))));
}

/** Makes a call on another store. */
function made<T>(store: Store, { op, args }: StoreCall<T>): Promise<T> {
  const [name, inner] = op.split(".");
  const object = store[name as keyof Store] as unknown as Record<string, Call<T>> | Call<T>;
  return typeof object === "function" ? object.call(store, ...args) : object[inner!]!(...args);
}

type Call<T> = (...args: readonly unknown[]) => Promise<T>;
