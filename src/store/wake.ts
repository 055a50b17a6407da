/** A run to be woken. */
export interface WakeRow {
  /** The run to wake. */
  readonly runId: string;
  /** The graph that it runs. */
  readonly graphId: string;
  /** The version of that graph. */
  readonly graphVersion: string;
  /** When, in milliseconds since the epoch. */
  readonly due: number;
}
