import { AsyncLocalStorage } from "node:async_hooks";
import { allowManyListeners } from "../runtime/many_listeners.ts";

/** Aborted with the caller's signal; that one itself is not what many listen to. */
export function endOf(signal: AbortSignal | undefined): { readonly signal: AbortSignal } {
  const ending = new AbortController();
  allowManyListeners(ending.signal);
  const end = () => ending.abort(signal?.reason);
  if (signal?.aborted) end();
  else signal?.addEventListener("abort", end, { once: true });
  return ending;
}

/**
 * What goes on in an app by itself: its streams, and the runs that `resume` works on. It ends with the app, and when a
 * server that has served it closes; after that the app can be served anew.
 */
export class AppLifetime {
  #end = new AbortController();

  constructor(app: AbortSignal) {
    allowManyListeners(this.#end.signal);
    const end = () => this.#end.abort(app.reason);
    if (app.aborted) end();
    else app.addEventListener("abort", end, { once: true });
  }

  get signal(): AbortSignal {
    return this.#end.signal;
  }

  /** Ends what goes on now. */
  end(): void {
    if (this.#end.signal.aborted) return;
    const end = this.#end;
    this.#end = new AbortController();
    allowManyListeners(this.#end.signal);
    end.abort();
  }
}

/** A server, as the apps see it that requests to it reach, however they are mounted. */
export interface Serving {
  /** Whether other machines could reach it. */
  readonly isPublic: boolean;
  /** Of the apps that it has served; they end when it closes. */
  readonly lifetimes: Set<AppLifetime>;
}

/** The server that a request came through. */
export const serving = new AsyncLocalStorage<Serving>();
