import { SuperstepError } from "./base.ts";

/** A control plane that was used after it had been closed. */
export class ControlPlaneClosedError extends SuperstepError {
  static readonly errorName: string = "ControlPlaneClosedError";
  override readonly code = "CONTROL_PLANE_CLOSED";
  constructor(readonly op: string) {
    super(`superstep: ${op}: the control plane is closed; open another one`, { op });
  }
}

/** A second runner of one version of a graph in a registry. */
export class DuplicateRegistrationError extends SuperstepError {
  static readonly errorName: string = "DuplicateRegistrationError";
  override readonly code = "DUPLICATE_REGISTRATION";
  constructor(readonly graphId: string, readonly graphVersion: string) {
    super(
      `superstep: graph ${graphId} is registered already in version ${graphVersion}; register each version once, ` +
        "or raise the version of the workflow",
      { graphId, graphVersion },
    );
  }
}
