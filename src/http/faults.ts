import type { ContentfulStatusCode } from "hono/utils/http-status";
import { isSuperstepError, reasonOf, type SuperstepError } from "../errors.ts";
import type { ErrorBody, Issue } from "./wire.ts";

/** What a code means over HTTP. The text is fixed: what the engine says may name what the caller must not see. */
interface Meaning {
  readonly status: ContentfulStatusCode;
  readonly message: string;
  /** @default false */
  readonly retryable?: boolean;
  /** Whether the engine's own text is about nothing but what the caller has sent. @default false */
  readonly explains?: boolean;
}

const meaning = (status: ContentfulStatusCode, message: string, more: Partial<Meaning> = {}): Meaning => ({
  status,
  message,
  ...more,
});

const INTERNAL = meaning(500, "the server failed; its log says why");
const ENDED = meaning(409, "the run is over");
const DECLARATION = meaning(500, "a workflow is not declared as it must be");
const OF_A_RUN = meaning(500, "something in a run failed that should not have reached this request");

/**
 * Every code with its status. 400 is a request that this interface does not describe, 422 one whose value the workflow's
 * own schema refuses, 409 one that the state of the run does not allow, 503 one that may be sent again as it is.
 */
const MEANINGS: ReadonlyMap<string, Meaning> = new Map(Object.entries({
  UNAUTHORIZED: meaning(401, "unauthorized"),
  FORBIDDEN: meaning(403, "forbidden"),
  FOREIGN_ORIGIN: meaning(
    403,
    "pages of other origins may not do this; a proxy in front must pass on the Host that the browser asked for",
  ),
  LOCAL_ONLY: meaning(
    403,
    "without auth only this machine is served, under a name of its own and not through a proxy",
  ),
  NOT_FOUND: meaning(404, "there is nothing at this path"),
  METHOD_NOT_ALLOWED: meaning(405, "this path does not take that method"),
  BAD_REQUEST: meaning(400, "the request is not as described"),
  MALFORMED_BODY: meaning(400, "the body is not JSON in UTF-8"),
  BODY_TOO_LARGE: meaning(413, "the body is too large"),
  BODY_BROKEN: meaning(400, "the body broke off"),
  BODY_TIMEOUT: meaning(408, "the body did not come in time", { retryable: true }),
  UNSUPPORTED_MEDIA_TYPE: meaning(415, "send a body of type application/json, as it is"),
  GRAPH_NOT_SERVED: meaning(404, "the graph, or that version of it, is not served here"),
  TOO_MANY_STREAMS: meaning(503, "too many event streams are open", { retryable: true }),
  INTERNAL,

  ARGUMENT: meaning(400, "an argument cannot be meant", { explains: true }),
  VALIDATION: meaning(422, "the value does not satisfy its schema"),
  SERIALIZATION: meaning(422, "the value cannot be stored", { explains: true }),
  STATE_SIZE: meaning(413, "the value is too large to be stored", { explains: true }),
  REDUCER: meaning(422, "the state cannot be edited so", { explains: true }),
  ANSWER: meaning(409, "the answer was not accepted"),

  CHECKPOINT_NOT_FOUND: meaning(404, "there is no such run, or no such revision of it"),
  RUN_EXISTS: meaning(409, "the id or the key is taken by another run"),
  RUN_BUSY: meaning(409, "a process is at work on the run", { retryable: true }),
  REVISION_CONFLICT: meaning(409, "the run has moved meanwhile", { retryable: true }),
  MAILBOX_CONFLICT: meaning(409, "the run has moved meanwhile", { retryable: true }),
  CELL_CONFLICT: meaning(409, "what the call depends on has changed meanwhile", { retryable: true }),
  RESUME_TERMINAL: ENDED,
  RUN_CANCELLED: ENDED,
  RUN_DEADLINE: ENDED,
  GRAPH_MISMATCH: meaning(409, "the run is of another graph"),
  GRAPH_VERSION_MISMATCH: meaning(
    409,
    "the run is of a version of its graph that is not served here, and cannot go on with one that is",
  ),
  OWNERSHIP_LOST: meaning(503, "another process took the run over", { retryable: true }),
  RUN_ABORTED: meaning(503, "the server stops; the run goes on elsewhere", { retryable: true }),
  STORE: meaning(503, "the store does not answer", { retryable: true }),
  CONTROL_PLANE: meaning(503, "the control plane does not answer", { retryable: true }),
  CONTROL_PLANE_CLOSED: meaning(503, "the server stops", { retryable: true }),
  CHECKPOINT_DECODE: meaning(500, "what is stored of the run cannot be read"),
  INTEGRITY: meaning(500, "what is stored of the run is damaged, or its key is not there"),
  GRAPH_RUN_MISMATCH: meaning(500, "what is stored of the run is of another one"),

  BUILD: DECLARATION,
  BUILD_FAULTS: DECLARATION,
  DUPLICATE_VERTEX: DECLARATION,
  DUPLICATE_CONDITIONAL_EDGE: DECLARATION,
  UNKNOWN_VERTEX: DECLARATION,
  UNREACHABLE_VERTEX: DECLARATION,
  AMBIGUOUS_ROUTING: DECLARATION,
  MISSING_ENTRY: DECLARATION,
  DUPLICATE_REGISTRATION: DECLARATION,

  VERTEX: OF_A_RUN,
  FATAL: OF_A_RUN,
  RETRY_LATER: OF_A_RUN,
  VERTEX_TIMEOUT: OF_A_RUN,
  WAIT_EXPIRED: OF_A_RUN,
  CONTEXT: OF_A_RUN,
  CONDITION: OF_A_RUN,
  UNDECLARED_TARGET: OF_A_RUN,
  DEAD_END: OF_A_RUN,
  MAX_STEPS: OF_A_RUN,
  HALT: OF_A_RUN,
  MIGRATION: OF_A_RUN,
}));

/** Whether the code has a meaning of its own. */
export function isKnownCode(code: string): boolean {
  return MEANINGS.has(code);
}

/** A fault of a request that is not the engine's. */
export class HttpFault extends Error {
  override readonly name = "HttpFault";
  constructor(
    readonly code: string,
    readonly more: {
      readonly issues?: readonly Issue[];
      readonly headers?: Readonly<Record<string, string>>;
    } = {},
  ) {
    super(code);
  }
}

/** An error as the caller sees it. */
export interface FaultAnswer {
  readonly status: ContentfulStatusCode;
  readonly body: ErrorBody;
  readonly headers: Readonly<Record<string, string>>;
}

/** What to answer when `error` was thrown. */
export function answerTo(error: unknown): FaultAnswer {
  if (error instanceof HttpFault) {
    const { issues, headers = {} } = error.more;
    return answer(
      error.code,
      MEANINGS.get(error.code) ?? INTERNAL,
      issues === undefined ? {} : { issues },
      headers,
    );
  }
  const found = isSuperstepError(error) ? MEANINGS.get(error.code) : undefined;
  if (found === undefined) return answer("INTERNAL", INTERNAL, {}, {});
  const fault = error as SuperstepError;
  return answer(fault.code, refined(fault, found), detailsOf(fault, found), headersOf(fault));
}

function answer(
  code: string,
  { status, message, retryable = false }: Meaning,
  details: Omit<ErrorBody["error"], "code" | "message" | "retryable">,
  headers: Readonly<Record<string, string>>,
): FaultAnswer {
  return { status, body: { error: { code, message, retryable, ...details } }, headers };
}

/** The status of a refused answer depends on why it was refused. */
function refined(fault: SuperstepError, found: Meaning): Meaning {
  if (fault.code !== "ANSWER") return found;
  const { reason } = fault.fields;
  const why = REFUSALS.get(String(reason));
  return why === undefined ? found : { ...found, ...why };
}

/** Why an answer was not accepted, and what that is over HTTP. */
const REFUSALS = new Map<string, Partial<Meaning>>([
  ["invalid", { status: 422, message: "the answer does not satisfy the schema of the wait" }],
  ["unknown", { status: 404, message: "the run has no such wait" }],
  ["foreign", { status: 404, message: "the run has no such wait" }],
  ["answered", { message: "the wait was answered before" }],
  ["expired", { message: "the wait has expired" }],
  ["closed", { message: "the run went on without an answer to that wait" }],
  ["not_open", { message: "the wait is not open" }],
]);

function detailsOf(
  fault: SuperstepError,
  { explains = false }: Meaning,
): Omit<ErrorBody["error"], "code" | "message" | "retryable"> {
  const { difference, first, issues, reason, revision, waits } = fault.fields as Readonly<
    Record<string, unknown>
  >;
  const isAnswer = fault.code === "ANSWER";
  return {
    ...(Array.isArray(issues)
      ? {
        issues: issues.map(({ path, message }: Issue) => ({ path: String(path), message: String(message) })),
      }
      // Code of the workflow may have thrown what it is caused by, which may be about what the caller must not see.
      : fault.code === "GRAPH_VERSION_MISMATCH" && typeof difference === "string"
      // What user code threw over it is not in that.
      ? { issues: [{ path: "", message: difference }] }
      : explains && fault.cause === undefined
      ? { issues: [{ path: pathOf(fault), message: reasonOf(fault) }] }
      : {}),
    ...(fault.code === "CHECKPOINT_NOT_FOUND" && typeof first === "number" ? { first } : {}),
    ...(isAnswer && typeof reason === "string" ? { reason } : {}),
    ...(isAnswer && typeof revision === "number" ? { revision } : {}),
    ...(isAnswer && Array.isArray(waits) ? { waits: waits.map(String) } : {}),
  };
}

function pathOf({ fields }: SuperstepError): string {
  return typeof fields["path"] === "string" ? fields["path"] : "";
}

/** The version that a run needs is for those who route requests to the right server. */
function headersOf(fault: SuperstepError): Readonly<Record<string, string>> {
  return fault.code === "GRAPH_VERSION_MISMATCH" && typeof fault.fields["actual"] === "string"
    ? { "X-Graph-Version": fault.fields["actual"] }
    : {};
}

/** A request that is not as described; where, in its own words. */
export function badRequest(
  issues: readonly { readonly path: readonly PropertyKey[]; readonly message: string }[],
): HttpFault {
  return new HttpFault("BAD_REQUEST", {
    issues: issues.map(({ path, message }) => ({ path: path.map(String).join("."), message })),
  });
}
