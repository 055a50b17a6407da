import { messageOf, StoreError } from "../errors.ts";
import type { CallOptions } from "./store.ts";

/** Refuses a call whose signal is aborted (obligation 8). */
export function checkSignal(op: string, options: CallOptions | undefined, runId?: string): void {
  const signal = options?.signal;
  if (signal?.aborted) {
    throw new StoreError(op, `the call was aborted: ${messageOf(signal.reason)}`, {
      cause: signal.reason,
      ...(runId === undefined ? {} : { runId }),
    });
  }
}
