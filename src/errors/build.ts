import { reasonOf, SuperstepError } from "./base.ts";

/** A declaration that cannot become a graph. */
export class BuildError extends SuperstepError {
  /** @internal */
  static readonly errorName: string = "BuildError";
  /** The stable code. */
  override readonly code: string = "BUILD";
  /** `op`: what was called or applied, such as `@Vertex` or `compile`. */
  constructor(
    readonly op: string,
    problem: string,
    fields: Readonly<Record<string, unknown>> = {},
    options?: ErrorOptions,
  ) {
    super(`superstep: ${op}: ${problem}`, { op, ...fields }, options);
  }
}

/** Where in a declaration a fault is, as far as it is known. */
export interface FaultPlace {
  /** The graph that was to be built. */
  readonly graphId?: string;
  /** The name of the task class that is bound to the vertex. */
  readonly className?: string;
}

/** A vertex id that is bound already. */
export class DuplicateVertexError extends SuperstepError {
  /** @internal */
  static readonly errorName: string = "DuplicateVertexError";
  /** The stable code. */
  override readonly code = "DUPLICATE_VERTEX";
  /** `vertexId`: the id that is bound twice. */
  constructor(readonly vertexId: string, places?: string, place: FaultPlace = {}) {
    super(
      `superstep: duplicate vertex ${vertexId}${inGraph(place)}: it is bound already${
        places ? ` (${places})` : ""
      }; give one of them another id`,
      { vertexId, ...(places ? { places } : {}), ...place },
    );
  }
}

/** A second condition on one vertex. */
export class DuplicateConditionalEdgeError extends SuperstepError {
  /** @internal */
  static readonly errorName: string = "DuplicateConditionalEdgeError";
  /** The stable code. */
  override readonly code = "DUPLICATE_CONDITIONAL_EDGE";
  /** `from`: the vertex that has a condition already. */
  constructor(readonly from: string, place: FaultPlace = {}) {
    super(
      `superstep: duplicate conditional edge for vertex ${from}${
        inGraph(place)
      }: a vertex has at most one pick; ` +
        "let one pick choose among the targets of both",
      { from, ...place },
    );
  }
}

/** An id that no vertex of the graph has. */
export class UnknownVertexError extends SuperstepError {
  /** @internal */
  static readonly errorName: string = "UnknownVertexError";
  /** The stable code. */
  override readonly code = "UNKNOWN_VERTEX";
  /**
   * `vertexId`: the id that was not found; `fields.where` says what names it, `fields.closest` what may be
   * meant.
   */
  constructor(readonly vertexId: string, where: string, closest?: string, place: FaultPlace = {}) {
    super(
      `superstep: unknown vertex ${JSON.stringify(vertexId)} in ${where}${ofClass(place)}${ofGraph(place)}` +
        advice(closest),
      { vertexId, where, ...(closest === undefined ? {} : { closest }), ...place },
    );
  }
}

/** A vertex that no path from the entry reaches. */
export class UnreachableVertexError extends SuperstepError {
  /** @internal */
  static readonly errorName: string = "UnreachableVertexError";
  /** The stable code. */
  override readonly code = "UNREACHABLE_VERTEX";
  /** `vertexId`: the vertex that nothing leads to. */
  constructor(readonly vertexId: string, place: FaultPlace = {}) {
    super(
      `superstep: unreachable vertex ${vertexId}${ofClass(place)}${
        inGraph(place)
      }: no edge, target or error route ` +
        "leads to it from the entry; connect or remove it",
      { vertexId, ...place },
    );
  }
}

/** A vertex with both static edges and a condition. */
export class AmbiguousRoutingError extends SuperstepError {
  /** @internal */
  static readonly errorName: string = "AmbiguousRoutingError";
  /** The stable code. */
  override readonly code = "AMBIGUOUS_ROUTING";
  /** `vertexId`: the vertex that has both. */
  constructor(readonly vertexId: string, place: FaultPlace = {}) {
    super(
      `superstep: ambiguous routing at vertex ${vertexId}${ofClass(place)}${
        inGraph(place)
      }: it has static edges and ` +
        "a condition; keep one of the two",
      { vertexId, ...place },
    );
  }
}

/** A missing entry or finish. */
export class MissingEntryError extends SuperstepError {
  /** @internal */
  static readonly errorName: string = "MissingEntryError";
  /** The stable code. */
  override readonly code = "MISSING_ENTRY";
  /** `role`: which end is missing; `vertexId`: the id that was given for it, if one was. */
  constructor(
    readonly role: "entry" | "finish",
    readonly vertexId: string | undefined,
    closest?: string,
    place: FaultPlace = {},
  ) {
    const graph = place.graphId === undefined ? "the graph" : `graph ${place.graphId}`;
    super(
      vertexId === undefined
        ? `superstep: ${graph} has no ${role}; mark one vertex with \`${role}: true\`${
          role === "finish" ? ", or let a branch lead to END" : ""
        }`
        : `superstep: the ${role} ${JSON.stringify(vertexId)} is not a vertex of ${graph}${advice(closest)}`,
      {
        role,
        ...(vertexId === undefined ? {} : { vertexId }),
        ...(closest === undefined ? {} : { closest }),
        ...place,
      },
    );
  }
}

/** Several faults of one build, all at once. */
export class BuildFaultsError extends SuperstepError {
  /** @internal */
  static readonly errorName: string = "BuildFaultsError";
  /** The stable code. */
  override readonly code = "BUILD_FAULTS";
  /** `faults`: the errors, each as it would have been thrown alone. */
  constructor(readonly faults: readonly Error[]) {
    super(`superstep: ${faults.length} faults:\n${faults.map((f) => `- ${reasonOf(f)}`).join("\n")}`, {
      faults: faults.map((f) => f.message),
    }, { cause: faults[0] });
  }
}

function inGraph({ graphId }: FaultPlace): string {
  return graphId === undefined ? "" : ` in graph ${graphId}`;
}

function ofGraph({ graphId }: FaultPlace): string {
  return graphId === undefined ? "" : ` of graph ${graphId}`;
}

function ofClass({ className }: FaultPlace): string {
  return className === undefined ? "" : ` (class ${className})`;
}

function advice(closest: string | undefined): string {
  return closest === undefined ? "; add it or correct the id" : `; did you mean ${JSON.stringify(closest)}?`;
}
