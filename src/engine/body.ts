import type { OnceRecorded, WaitOpened } from "../checkpoint/records.ts";
import type { Execution } from "../model/checkpoint.ts";
import type { CompiledVertex } from "../model/definition.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { Callers } from "./called.ts";

/** What a body is run for. */
export interface BodyInfo {
  readonly graphId: string;
  readonly runId: string;
  readonly step: number;
  readonly vertex: CompiledVertex<never>;
  /** The execution as recorded when the body begins. */
  readonly execution: Execution;
  readonly runtime: Runtime;
  /** The newest revision of the run, and of those that it works for. */
  readonly callers: Callers;
}

/** Where a body's facts go. */
export interface BodyPort {
  /** The signal of this attempt. */
  signal(): AbortSignal;
  /** Resolves when the result is durable. */
  record(event: OnceRecorded): Promise<void>;
  /** Notes an opening; `before` is the id of the opening of the same name that it closes. */
  open(event: WaitOpened, before: string | undefined): void;
  /** The code does not accept a recorded answer. */
  refuse(waitId: string, error: unknown): void;
  emit(type: string, data: unknown): void;
  log(message: string, fields: Readonly<Record<string, unknown>>): void;
}

/** What a settled body was. */
export type BodyEnd =
  /** It opened a wait that stands. */
  | { readonly kind: "paused" }
  /** Its own value or error counts. */
  | { readonly kind: "free" }
  | { readonly kind: "fault"; readonly error: unknown };
