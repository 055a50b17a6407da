import type { Cells, Emits, Leases, Owners, Store } from "../store/store.ts";

/** Every operation of a store; those of its owners and cells have a prefix. */
export type StoreOp =
  | Exclude<keyof Store, "info" | "owners" | "cells" | "emits" | "leases" | "hints">
  | `owners.${keyof Owners}`
  | `cells.${keyof Cells}`
  | `emits.${keyof Emits}`
  | `leases.${keyof Leases}`;

/** One call on its way to a store. */
export interface StoreCall<T> {
  readonly op: StoreOp;
  /** Whether the call may change the store. */
  readonly writes: boolean;
  readonly args: readonly unknown[];
  /** Hands the call on. */
  apply(): Promise<T>;
}

/** What happens around a call. */
export type AroundStore = <T>(call: StoreCall<T>) => Promise<T>;

const WRITES: ReadonlySet<StoreOp> = new Set([
  "append",
  "post",
  "trim",
  "purge",
  "owners.register",
  "owners.beat",
  "owners.bury",
  "owners.forget",
  "cells.write",
  "emits.add",
  "leases.take",
]);

/**
 * A store whose every call passes through `around`. It is another object than `store`, so that runners on it count as
 * another process.
 */
export function aroundStore(store: Store, around: AroundStore): Store {
  const passing = <A extends readonly unknown[], T>(op: StoreOp, call: (...args: A) => Promise<T>) => {
    const writes = WRITES.has(op);
    return (...args: A): Promise<T> => around({ op, writes, args, apply: () => call(...args) });
  };
  const { owners, cells, emits, leases } = store;
  return {
    info: store.info,
    append: passing("append", store.append.bind(store)),
    post: passing("post", store.post.bind(store)),
    tail: passing("tail", store.tail.bind(store)),
    range: passing("range", store.range.bind(store)),
    parts: passing("parts", store.parts.bind(store)),
    inspect: passing("inspect", store.inspect.bind(store)),
    wait: passing("wait", store.wait.bind(store)),
    list: passing("list", store.list.bind(store)),
    waits: passing("waits", store.waits.bind(store)),
    wakes: passing("wakes", store.wakes.bind(store)),
    trim: passing("trim", store.trim.bind(store)),
    purge: passing("purge", store.purge.bind(store)),
    close: passing("close", store.close.bind(store)),
    cells: {
      read: passing("cells.read", cells.read.bind(cells)),
      list: passing("cells.list", cells.list.bind(cells)),
      write: passing("cells.write", cells.write.bind(cells)),
    },
    ...(emits && {
      emits: {
        add: passing("emits.add", emits.add.bind(emits)),
        read: passing("emits.read", emits.read.bind(emits)),
      },
    }),
    ...(leases && { leases: { take: passing("leases.take", leases.take.bind(leases)) } }),
    ...(store.hints && { hints: store.hints.bind(store) }),
    owners: {
      register: passing("owners.register", owners.register.bind(owners)),
      beat: passing("owners.beat", owners.beat.bind(owners)),
      list: passing("owners.list", owners.list.bind(owners)),
      bury: passing("owners.bury", owners.bury.bind(owners)),
      forget: passing("owners.forget", owners.forget.bind(owners)),
      ownedBy: passing("owners.ownedBy", owners.ownedBy.bind(owners)),
      takePokes: passing("owners.takePokes", owners.takePokes.bind(owners)),
    },
  };
}
