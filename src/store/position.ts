/** Where the head of a run was when it was last seen; given by the store, never made up. */
export interface Position {
  /** The revision of the head. */
  readonly revision: number;
  /** Tells a run from one that had its id before and was purged. */
  readonly epoch: string;
  /** The store's own token of that head. */
  readonly token: string;
}
