import { BuildError } from "../errors.ts";
import type { ErrorHandler, ErrorMatch } from "../model/definition.ts";
import type { VertexFailure } from "../model/failure.ts";
import type { KnownOptions } from "../model/known_options.ts";
import { KNOWN_HANDLER } from "../model/policy_options.ts";
import { type Annotation, annotation, nameOf, refuseUnknown, requireOptions } from "./annotation.ts";
import { prependOwn, records } from "./metadata.ts";
import { KNOWN_SCOPE, type PolicyScope, scopeOf } from "./scope.ts";
import type { WorkflowReference } from "./workflow.ts";

/** A handler for the bindings into one graph, whose state type `record` then sees. */
export interface GraphErrorHandler<S> {
  /** The workflow class whose binding it is for; a thunk where modules import each other. */
  readonly graph: WorkflowReference<S>;
  /** The vertex that takes over. */
  readonly route: string;
  /** Which errors it takes: an error class or a predicate. @default all */
  readonly match?: ErrorMatch;
  /** Notes the failure in the state. */
  readonly record?: (state: NoInfer<S>, failure: VertexFailure) => NoInfer<S> | void;
}

const KNOWN = { ...KNOWN_HANDLER, ...KNOWN_SCOPE } satisfies KnownOptions<keyof GraphErrorHandler<unknown>>;

/**
 * What a final failure of the task does: `"pause"` the run, which is the default, or go on at another vertex. Several
 * stack: they are asked from the top, and the first whose `match` takes the error decides.
 *
 * Without `graph`, a handler holds for every binding, and the state that `record` annotates is not checked.
 *
 * @example
 * ```ts
 * @Graph({ id: "support" })
 * class Support extends Workflow(z.object({ question: z.string(), lastError: z.string().optional() })) {}
 *
 * class QuotaError extends Error {}
 *
 * @OnError({ graph: Support, match: QuotaError, route: "later" })
 * @OnError({ graph: Support, route: "ticket", record: (s, e) => { s.lastError = e.message; } })
 * class Ask {
 *   execute(question: string): string {
 *     throw new QuotaError(question);
 *   }
 * }
 * ```
 */
export function OnError(policy: "pause", scope?: PolicyScope): Annotation;
/** A handler for the bindings into one graph, whose state `record` sees. */
export function OnError<S>(policy: GraphErrorHandler<S>): Annotation;
/** A handler for every binding; the state that `record` annotates is not checked. */
export function OnError<S>(policy: ErrorHandler<S> & { readonly graph?: never }): Annotation;
export function OnError(
  policy: "pause" | (ErrorHandler<never> & { readonly graph?: unknown }),
  scope: PolicyScope = {},
): Annotation {
  requireOptions("@OnError", policy);
  return annotation("@OnError", (cls) => {
    if (policy === "pause") {
      refuseUnknown("@OnError", cls, scope, KNOWN_SCOPE);
      prependOwn(cls, records.onError, Object.freeze({ graph: scopeOf("@OnError", cls, scope), policy }));
      return;
    }
    refuseUnknown("@OnError", cls, policy, KNOWN);
    const { graph: _, ...handler } = policy;
    if ("match" in handler && handler.match === undefined) {
      throw new BuildError(
        "@OnError",
        `on class ${
          nameOf(cls)
        }: its match is undefined; the error class has not been defined yet, probably because ` +
          "two modules import each other; give a predicate, match: (e) => e instanceof TheError",
      );
    }
    const graph = scopeOf("@OnError", cls, policy);
    prependOwn(cls, records.onError, Object.freeze({ graph, policy: Object.freeze(handler) }));
  });
}
