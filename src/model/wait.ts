import { type Duration, toMs } from "./durations.ts";
import { isId } from "./ids.ts";
import { type Schema, transformIn } from "./schema.ts";

/**
 * An awaited answer: its name, the schema its value must satisfy, and how long it stays open by default. `T` is the type
 * of the answer as the body gets it, `A` that of what may be given as one.
 */
export interface WaitDefinition<T = unknown, A = unknown> {
  /** Unique among the waits of a vertex. */
  readonly name: string;
  /** Judges an answer when it is given and when it is read. */
  readonly schema: Schema<A, T>;
  /** How long after its opening the wait expires. @default never */
  readonly deadline?: Duration;
}

/** The answer to a wait as the body gets it, such as `AnswerOf<typeof Verdict>`. */
export type AnswerOf<W extends WaitDefinition> = W extends WaitDefinition<infer T> ? T : never;

/** What is wrong with a wait definition and what to do, or `undefined` when nothing is. */
export function waitProblem(wait: WaitDefinition | undefined): string | undefined {
  if (typeof wait !== "object" || wait === null) {
    return `a wait is ${String(wait)}; if it is imported, import it from a module that is loaded before`;
  }
  const { name, schema, deadline } = wait;
  if (!isId(name)) {
    return `a wait is named ${
      JSON.stringify(name)
    }; start with a letter or digit, then letters, digits, or ._:-`;
  }
  if (typeof schema?.["~standard"]?.validate !== "function") {
    return `the wait ${name} has no Standard Schema; give it one, such as z.object({ … })`;
  }
  const place = transformIn(schema);
  if (place !== undefined) {
    return `the schema of the wait ${name} transforms what it accepts${
      place === "" ? "" : ` at ${place}`
    }; an answer ` +
      "is judged again when it is read: declare what people give, and convert it in the body";
  }
  const ms = deadline === undefined ? 1 : toMs(deadline);
  if (ms === undefined || ms <= 0) {
    return `the wait ${name} has the deadline ${
      JSON.stringify(deadline) ?? String(deadline)
    }; give a positive ` +
      `duration such as "7d"`;
  }
  return undefined;
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

/**
 * The recorded result of a wait.
 *
 * @internal
 */
export type WaitResult =
  | { readonly kind: "answered"; readonly value: unknown; readonly at: number }
  | { readonly kind: "fired"; readonly at: number }
  | { readonly kind: "expired"; readonly at: number };

/** What tells an opening from the others of its execution. */
export interface OpeningName {
  readonly kind: WaitKind;
  readonly name: string;
  /** Tells waits of one name apart that are open side by side. */
  readonly key?: string;
  /** The n-th opening of this name, with this key, in the execution, from 1. */
  readonly n: number;
}

/**
 * One opening of a wait.
 *
 * @internal
 */
export interface WaitOpening extends OpeningName {
  readonly id: string;
  readonly openedAt: number;
  /** When it expires or fires. */
  readonly due?: number;
  readonly info?: unknown;
  readonly continuation?: unknown;
}

/** One opening of a wait, as part of a checkpoint. */
export interface WaitState extends WaitOpening {
  /** The position of the result among all results of the execution, from 1; present iff there is a result. */
  readonly seq?: number;
  readonly result?: WaitResult;
  /** Present iff closed without a result for the body. */
  readonly closed?: WaitCloseReason;
}

/** Whether a wait, or a timer, has neither a result nor been closed. */
export function isOpen({ result, closed }: WaitState): boolean {
  return result === undefined && closed === undefined;
}

/** What tells one opening of an execution from its others. */
export function openingKey({ kind, name, key, n }: OpeningName): string {
  return `${kind}/${key === undefined ? name : `${name}/${key}`}:${n}`;
}
