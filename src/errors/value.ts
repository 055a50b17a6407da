import { SuperstepError } from "./base.ts";

/** Why an answer was not accepted. */
export type AnswerRefusal =
  | "unknown"
  | "foreign"
  | "closed"
  | "answered"
  | "expired"
  | "not_open"
  | "invalid"
  | "ambiguous";

/** An answer that was not accepted; nothing has changed. */
export class AnswerError extends SuperstepError {
  static readonly errorName: string = "AnswerError";
  override readonly code = "ANSWER";
  constructor(
    readonly reason: AnswerRefusal,
    readonly runId: string,
    readonly waitId: string | undefined,
    problem: string,
    readonly revision?: number,
    fields: Readonly<Record<string, unknown>> = {},
  ) {
    super(
      `superstep: the answer${
        waitId === undefined ? "" : ` to wait ${waitId}`
      } of run ${runId} was not accepted: ${problem}`,
      {
        reason,
        runId,
        ...(waitId === undefined ? {} : { waitId }),
        ...(revision === undefined ? {} : { revision }),
        ...fields,
      },
    );
  }
}

/** An input, state or answer that its schema refuses. */
export class ValidationError extends SuperstepError {
  static readonly errorName: string = "ValidationError";
  override readonly code = "VALIDATION";
  constructor(
    readonly what: string,
    readonly issues: readonly { readonly path: string; readonly message: string }[],
  ) {
    super(
      `superstep: ${what} does not satisfy its schema: ` +
        issues.map((i) => (i.path === "" ? i.message : `${i.path}: ${i.message}`)).join("; "),
      { what, issues },
    );
  }
}

/** A value that cannot be stored and read back equal. */
export class SerializationError extends SuperstepError {
  static readonly errorName: string = "SerializationError";
  override readonly code = "SERIALIZATION";
  constructor(
    readonly what: string,
    readonly path: string,
    readonly type: string,
    problem: string,
    options?: ErrorOptions,
  ) {
    super(`superstep: ${what} cannot be stored: ${path === "" ? "the value" : path} is ${type}: ${problem}`, {
      what,
      path,
      type,
    }, options);
  }
}

/** A reducer that did what its draft does not allow. The state is as it was before. */
export class ReducerError extends SuperstepError {
  static readonly errorName: string = "ReducerError";
  override readonly code = "REDUCER";
  constructor(readonly what: string, problem: string, readonly path?: string, options?: ErrorOptions) {
    super(`superstep: ${what} ${problem}`, { what, ...(path === undefined ? {} : { path }) }, options);
  }
}

/** A state, output or record above its ceiling. */
export class StateSizeError extends SuperstepError {
  static readonly errorName: string = "StateSizeError";
  override readonly code = "STATE_SIZE";
  constructor(readonly what: string, readonly bytes: number, readonly max: number, readonly largest: string) {
    super(
      `superstep: ${what} takes ${bytes} bytes, at most ${max} are allowed; the largest field is ${largest}. ` +
        `Keep artifacts in a blob store and pass references, or raise maxStateBytes`,
      { what, bytes, max, largest },
    );
  }
}
