/** What was asked of the app and by whom, without anything that was sent or answered. */
export interface AuditEvent {
  /** When it was answered. */
  readonly at: number;
  /** The method of the request. */
  readonly method: string;
  /** The name of the route; absent where there is none. */
  readonly operation?: string;
  /** Absent when the request was denied. */
  readonly caller?: string;
  /** The graph that the request was about. */
  readonly graphId?: string;
  /** The run that the request was about. */
  readonly runId?: string;
  /** The wait that the request was about. */
  readonly waitId?: string;
  /** The status of the answer. */
  readonly status: number;
  /** The code of the error that was answered. */
  readonly code?: string;
}
