import { SuperstepError } from "./base.ts";

/** A declaration that cannot become a graph. */
export class BuildError extends SuperstepError {
  static readonly errorName: string = "BuildError";
  override readonly code: string = "BUILD";
  constructor(
    readonly op: string,
    problem: string,
    fields: Readonly<Record<string, unknown>> = {},
    options?: ErrorOptions,
  ) {
    super(`superstep: ${op}: ${problem}`, { op, ...fields }, options);
  }
}

/** A vertex id that is bound already. */
export class DuplicateVertexError extends SuperstepError {
  static readonly errorName: string = "DuplicateVertexError";
  override readonly code = "DUPLICATE_VERTEX";
  constructor(readonly vertexId: string, places?: string) {
    super(
      `superstep: duplicate vertex ${vertexId}: it is bound already${
        places ? ` (${places})` : ""
      }; give one of them another id`,
      { vertexId, ...(places ? { places } : {}) },
    );
  }
}

/** A second condition on one vertex. */
export class DuplicateConditionalEdgeError extends SuperstepError {
  static readonly errorName: string = "DuplicateConditionalEdgeError";
  override readonly code = "DUPLICATE_CONDITIONAL_EDGE";
  constructor(readonly from: string) {
    super(`superstep: duplicate conditional edge for vertex ${from}; a vertex has at most one pick`, {
      from,
    });
  }
}

/** An id that no vertex of the graph has. */
export class UnknownVertexError extends SuperstepError {
  static readonly errorName: string = "UnknownVertexError";
  override readonly code = "UNKNOWN_VERTEX";
  constructor(readonly vertexId: string, where: string, closest?: string) {
    super(
      `superstep: unknown vertex ${JSON.stringify(vertexId)} in ${where}` +
        (closest === undefined ? "; add it or correct the id" : `; did you mean ${JSON.stringify(closest)}?`),
      { vertexId, where, ...(closest === undefined ? {} : { closest }) },
    );
  }
}

/** A vertex that no path from the entry reaches. */
export class UnreachableVertexError extends SuperstepError {
  static readonly errorName: string = "UnreachableVertexError";
  override readonly code = "UNREACHABLE_VERTEX";
  constructor(readonly vertexId: string) {
    super(
      `superstep: unreachable vertex ${vertexId}: no edge, target or error route leads to it from the entry; connect or remove it`,
      { vertexId },
    );
  }
}

/** A vertex with both static edges and a condition. */
export class AmbiguousRoutingError extends SuperstepError {
  static readonly errorName: string = "AmbiguousRoutingError";
  override readonly code = "AMBIGUOUS_ROUTING";
  constructor(readonly vertexId: string) {
    super(
      `superstep: ambiguous routing at vertex ${vertexId}: it has static edges and a condition; keep one of the two`,
      { vertexId },
    );
  }
}

/** A missing entry or finish. */
export class MissingEntryError extends SuperstepError {
  static readonly errorName: string = "MissingEntryError";
  override readonly code = "MISSING_ENTRY";
  constructor(readonly role: "entry" | "finish", readonly vertexId: string | undefined, closest?: string) {
    super(
      vertexId === undefined
        ? `superstep: the graph has no ${role}; mark one vertex with \`${role}: true\``
        : `superstep: the ${role} ${JSON.stringify(vertexId)} is not a vertex of the graph` +
          (closest === undefined
            ? "; add it or correct the id"
            : `; did you mean ${JSON.stringify(closest)}?`),
      { role, ...(vertexId === undefined ? {} : { vertexId }) },
    );
  }
}

/** Several faults of one build, all at once. */
export class BuildFaultsError extends SuperstepError {
  static readonly errorName: string = "BuildFaultsError";
  override readonly code = "BUILD_FAULTS";
  constructor(readonly faults: readonly Error[]) {
    super(`superstep: ${faults.length} faults:\n${faults.map((f) => `- ${f.message}`).join("\n")}`, {
      faults: faults.map((f) => f.message),
    }, { cause: faults[0] });
  }
}
