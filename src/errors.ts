/**
 * The error family, by what went wrong: a declaration, a vertex, a whole run, its identity and ownership, the store, a
 * value. Every error has a stable `code`, structured `fields` and, where there is one, a `cause`.
 *
 * @module
 */

export { isSuperstepError, messageOf, reasonOf, recordedMessage, SuperstepError } from "./errors/base.ts";
export * from "./errors/build.ts";
export * from "./errors/vertex.ts";
export * from "./errors/halt.ts";
export * from "./errors/run.ts";
export * from "./errors/store.ts";
export * from "./errors/value.ts";
export * from "./errors/worker.ts";
