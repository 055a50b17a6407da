import { SuperstepError, userFault } from "./base.ts";

/** A `pick` that threw. */
export class ConditionError extends SuperstepError {
  /** @internal */
  static readonly errorName: string = "ConditionError";
  /** The stable code. */
  override readonly code = "CONDITION";
  /** `from`: the vertex whose `pick` it is; the cause is what was thrown. */
  constructor(readonly from: string, cause: unknown) {
    super(`superstep: the pick of vertex ${from} failed: ${userFault(cause)}; correct it and resume`, {
      from,
    }, { cause });
  }
}

/** A `pick` that returned nothing, or a target that was not declared. */
export class UndeclaredTargetError extends SuperstepError {
  /** @internal */
  static readonly errorName: string = "UndeclaredTargetError";
  /** The stable code. */
  override readonly code = "UNDECLARED_TARGET";
  /** `target`: what was returned, empty for nothing; `fields.declared`: what may be. */
  constructor(readonly from: string, readonly target: string, declared: readonly string[]) {
    super(
      `superstep: the pick of vertex ${from} returned ` +
        (target === "" ? "an empty set of targets" : `the undeclared target ${JSON.stringify(target)}`) +
        `; it may return ${declared.join(", ")}` + (target === "" ? ", and END once that is a target" : ""),
      { from, target, declared },
    );
  }
}

/** A run that drained without a finish vertex. */
export class DeadEndError extends SuperstepError {
  /** @internal */
  static readonly errorName: string = "DeadEndError";
  /** The stable code. */
  override readonly code = "DEAD_END";
  /** `step`: the step that had just run. */
  constructor(readonly step: number) {
    super(
      `superstep: nothing is left to run after step ${step} and no finish vertex has run; give the last vertices an edge`,
      {
        step,
      },
    );
  }
}

/** A run that used up its step budget. */
export class MaxStepsExceededError extends SuperstepError {
  /** @internal */
  static readonly errorName: string = "MaxStepsExceededError";
  /** The stable code. */
  override readonly code = "MAX_STEPS";
  /** `max`: the budget; `step`: the step that was not begun. */
  constructor(readonly max: number, readonly step: number) {
    super(
      `superstep: the run has used its budget of ${max} steps; resume it with a larger maxSteps to go on`,
      { max, step },
    );
  }
}

/** A run halted by the engine itself: its processes died too often, or its code cannot load it. */
export class HaltError extends SuperstepError {
  /** @internal */
  static readonly errorName: string = "HaltError";
  /** The stable code. */
  override readonly code = "HALT";
  /** `kind`: `max_recoveries` or `load_fault`. */
  constructor(readonly kind: string, readonly step: number, message: string) {
    super(message, { kind, step });
  }
}
