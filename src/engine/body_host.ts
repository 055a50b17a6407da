import type { Cursor } from "../checkpoint/log.ts";
import type { EventOf, RecordEvent } from "../checkpoint/records.ts";
import type { CallingRun } from "./child_runs.ts";
import type { EmitWriter } from "./emit_writer.ts";
import type { RunEvent, VertexStart } from "./events.ts";

/** Where bodies leave their facts. */
export interface BodyHost<S> {
  /** The run as far as it is durable. */
  cursor(): Cursor<S>;
  /** The run, for those that its bodies call. */
  readonly callingRun: CallingRun;
  /** Notes a fact that is to be recorded soon. */
  note(event: RecordEvent): void;
  /** Notes a fact that can wait for the next record. */
  keep(event: RecordEvent): void;
  /** Notes a fact; resolves when it is durable. */
  durable(event: EventOf<"once" | "returned">): Promise<void>;
  /** Takes a fact back; false when it is recorded, or about to be. */
  withdraw(event: RecordEvent): boolean;
  wake(): void;
  /** Whether this process is sure to own the run; otherwise the loop makes sure when it is woken. */
  mayStart(): boolean;
  /** Resolves when it is sure. */
  confirmed(): Promise<void>;
  /** Whether this wait was opened and is not recorded yet. */
  isOpening(waitId: string): boolean;
  /** Keeps a live error for the result of the call. */
  keepError(key: string, error: unknown): void;
  /** Where what bodies emit goes. */
  readonly emits: Pick<EmitWriter, "nextBody" | "send">;
  /** Tells observers, if there are any, of an event. */
  tell(event: () => RunEvent): void;
  /** What runs a body within what observers put around it, if any does. */
  around(start: () => VertexStart): ((body: () => unknown) => unknown) | undefined;
}

/** A body that goes on by itself after it was suspended. */
export interface Return {
  /** Resolves when it may act. */
  readonly ready: Promise<void>;
  readonly goOn: () => void;
  isRecorded: boolean;
}
