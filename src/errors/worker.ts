import { SuperstepError } from "./base.ts";

/** A control plane that was used after it had been closed. */
export class ControlPlaneClosedError extends SuperstepError {
  /** @internal */
  static readonly errorName: string = "ControlPlaneClosedError";
  /** The stable code. */
  override readonly code = "CONTROL_PLANE_CLOSED";
  /** `op`: the method that was called. */
  constructor(readonly op: string) {
    super(`superstep: ${op}: the control plane is closed; open another one`, { op });
  }
}

/** A control plane that did not do what it was asked to. No run is lost by that: workers look into the store as well. */
export class ControlPlaneError extends SuperstepError {
  /** @internal */
  static readonly errorName: string = "ControlPlaneError";
  /** The stable code. */
  override readonly code = "CONTROL_PLANE";
  /** `op`: what was to be done. */
  constructor(readonly op: string, problem: string, options?: ErrorOptions) {
    super(`superstep: ${op}: ${problem}`, { op, problem }, options);
  }
}

/** A second runner of one version of a graph in a registry. */
export class DuplicateRegistrationError extends SuperstepError {
  /** @internal */
  static readonly errorName: string = "DuplicateRegistrationError";
  /** The stable code. */
  override readonly code = "DUPLICATE_REGISTRATION";
  /** `graphId`, `graphVersion`: what is registered already. */
  constructor(readonly graphId: string, readonly graphVersion: string) {
    super(
      `superstep: graph ${graphId} is registered already in version ${graphVersion}; register each version once, ` +
        "or raise the version of the workflow",
      { graphId, graphVersion },
    );
  }
}
