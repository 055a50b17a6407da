import process from "node:process";

/**
 * Errors with which the engine rejects promises of a body. The body may derive promises from them that it awaits only
 * later, and the platform reports those as unhandled meanwhile: these reports end here, all others go on as before.
 */
const deferred = new WeakSet<object>();
let listening = false;

/** Whatever promise rejects with this error, and whenever that is handled, the process goes on. */
export function mayBeHandledLater<E extends object>(error: E): E {
  deferred.add(error);
  if (!listening) listen();
  listening = true;
  return error;
}

function listen(): void {
  // Deno tells its test runner of a rejection unless the web event was stopped; Node and Bun have no such event.
  if ("Deno" in globalThis) {
    addEventListener("unhandledrejection", (event) => isDeferred(event.reason) && event.preventDefault());
    return;
  }
  process.on("unhandledRejection", (reason) => {
    // Without a listener the platform would have thrown it.
    if (!isDeferred(reason) && process.listenerCount("unhandledRejection") === 1) throw reason;
  });
}

/** `Promise.any` rejects with an error of its own, that of several waits holds theirs. */
function isDeferred(reason: unknown): boolean {
  if (typeof reason !== "object" || reason === null) return false;
  if (deferred.has(reason)) return true;
  return reason instanceof AggregateError && reason.errors.length > 0 && reason.errors.every(isDeferred);
}
