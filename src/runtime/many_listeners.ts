import { setMaxListeners } from "node:events";

/** A signal that any number may listen to: Node would take many listeners for a leak, and say so. */
export function allowManyListeners(signal: AbortSignal): AbortSignal {
  setMaxListeners(0, signal);
  return signal;
}
