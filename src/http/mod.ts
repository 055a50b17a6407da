/**
 * Runs over HTTP: an app to mount in any Hono app or to serve on its own. `superstep/client` is its typed client.
 *
 * @example
 * ```ts ignore
 * const store = await denoKv("./superstep.db");
 * await using worker = await serve({ store, workflows: [Approval] });
 * await using server = await listen(createApp({ store, workflows: [Approval] }), { port: 8000 });
 * ```
 *
 * @module
 */
export { createApp } from "./app.ts";
export { listen } from "./listen.ts";
export type { Answering, Listening, ListenOptions } from "./listen.ts";
export type { AppOptions, StreamOptions } from "./options.ts";
export type { ApiCall, Authenticate, Caller } from "./auth.ts";
export type { AuditEvent } from "./audit.ts";
export type { HttpRunner } from "./served.ts";
export type { AppType, Routes } from "./contract.ts";
