import { fileOfFrame, moduleUrl } from "../runtime/caller.ts";

/** Where an annotation stands. */
export interface Origin {
  /** The URL of its module, without what a hot reload adds; `undefined` when it cannot be told. */
  readonly module: string | undefined;
  /** The same with the query that tells one evaluation of the module from another, where the runtime shows it. */
  readonly evaluation: string | undefined;
}

/**
 * The module that called the decorator whose body calls this: the explicit `module` option, or else the file of the
 * calling frame. A decorator must not call it in tail position.
 */
export function callerOrigin(explicit: string | undefined): Origin {
  const evaluation = explicit ?? fileOfFrame(2);
  return { module: evaluation === undefined ? undefined : moduleUrl(evaluation), evaluation };
}
