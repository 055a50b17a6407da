/** What was asked of the app and by whom, without anything that was sent or answered. */
export interface AuditEvent {
  /** When it was answered. */
  readonly at: number;
  readonly method: string;
  /** The name of the route; absent where there is none. */
  readonly operation?: string;
  /** Absent when the request was denied. */
  readonly caller?: string;
  readonly graphId?: string;
  readonly runId?: string;
  readonly waitId?: string;
  readonly status: number;
  /** The code of the error that was answered. */
  readonly code?: string;
}
