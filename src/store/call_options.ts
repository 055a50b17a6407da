/** Options of every call of a store. */
export interface CallOptions {
  /** Aborting it ends the call. */
  readonly signal?: AbortSignal;
}
