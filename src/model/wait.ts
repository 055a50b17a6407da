import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { Duration } from "./durations.ts";

/** An awaited answer: its name, the schema its value must satisfy, and how long it stays open by default. */
export interface WaitDefinition<T = unknown> {
  readonly name: string;
  readonly schema: StandardSchemaV1<unknown, T>;
  /** How long after its opening the wait expires. @default never */
  readonly deadline?: Duration;
}

/** What a wait is for: a declared answer, a timer, or the undeclared answer of `ctx.interrupt`. */
export type WaitKind = "answer" | "timer" | "interrupt";

/** Why a wait is no longer open. */
export type WaitCloseReason =
  | "answered"
  | "expired"
  | "fired"
  | "superseded"
  | "settled"
  | "refused"
  | "cancelled";

/** The recorded result of a wait. */
export type WaitResult =
  | { readonly kind: "answered"; readonly value: unknown; readonly at: number }
  | { readonly kind: "fired"; readonly at: number }
  | { readonly kind: "expired"; readonly at: number };

/** One opening of a wait, as part of a checkpoint. */
export interface WaitState {
  readonly id: string;
  readonly kind: WaitKind;
  readonly name: string;
  /** The n-th opening of this name in the execution, from 1. */
  readonly n: number;
  readonly openedAt: number;
  /** When it expires or fires. */
  readonly due?: number;
  readonly info?: unknown;
  readonly continuation?: unknown;
  /** The position of the result among all results of the execution, from 1; present iff there is a result. */
  readonly seq?: number;
  readonly result?: WaitResult;
  /** Present iff closed without a result for the body. */
  readonly closed?: WaitCloseReason;
}
