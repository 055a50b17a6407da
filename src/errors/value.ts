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
  /** @internal */
  static readonly errorName: string = "AnswerError";
  /** The stable code. */
  override readonly code = "ANSWER";
  /**
   * `reason`: why; `waitId`: the wait, where one was found; `revision`: that of the accepted answer, where
   * there is one.
   */
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
  /** @internal */
  static readonly errorName: string = "ValidationError";
  /** The stable code. */
  override readonly code = "VALIDATION";
  /** `what`: the value that was judged; `issues`: what its schema has against it, by path. */
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
  /** @internal */
  static readonly errorName: string = "SerializationError";
  /** The stable code. */
  override readonly code = "SERIALIZATION";
  /** `what`: the value that was to be stored; `path`: the place in it; `type`: what was found there. */
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
  /** @internal */
  static readonly errorName: string = "ReducerError";
  /** The stable code. */
  override readonly code = "REDUCER";
  /** `what`: the reducer; `path`: the place in the state, where there is one. */
  constructor(readonly what: string, problem: string, readonly path?: string, options?: ErrorOptions) {
    super(`superstep: ${what} ${problem}`, { what, ...(path === undefined ? {} : { path }) }, options);
  }
}

/** A state, output or record above its ceiling. */
export class StateSizeError extends SuperstepError {
  /** @internal */
  static readonly errorName: string = "StateSizeError";
  /** The stable code. */
  override readonly code = "STATE_SIZE";
  /** `bytes`: the size of `what`; `max`: the ceiling; `largest`: its largest field. */
  constructor(readonly what: string, readonly bytes: number, readonly max: number, readonly largest: string) {
    super(
      `superstep: ${what} takes ${bytes} bytes, at most ${max} are allowed; the largest field is ${largest}. ` +
        `Keep artifacts in a blob store and pass references, or raise maxStateBytes`,
      { what, bytes, max, largest },
    );
  }
}
