import { FatalError, RetryLater, type Task, type TaskContext } from "../mod.ts";

/** A request. */
export interface HttpRequestInput {
  readonly url: string | URL;
  /** @default "GET", or "POST" when there is a body */
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as it is when it is text or bytes, and as JSON otherwise. @default none */
  readonly body?: unknown;
}

/** A response with a status of 200 to 299. */
export interface HttpResponse {
  readonly status: number;
  /** With lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  /** Parsed where the response says that it is JSON, text otherwise. */
  readonly body: unknown;
}

/** What is known of a response that was refused: `data` of the error, and of the failure that `record` sees. */
export interface HttpFailure {
  readonly status: number;
  readonly url: string;
  /** The beginning of the response. */
  readonly body: string;
}

/** A response that another attempt may better. */
export class HttpError extends Error {
  override readonly name = "HttpError";
  constructor(message: string, readonly data: HttpFailure) {
    super(message);
  }
}

/**
 * Sends an HTTP request and answers its response. All attempts carry one `Idempotency-Key`, so that a server that knows
 * the header acts once. What happens to a failure under the vertex's `@Retry`:
 *
 * | response                             | thrown                                                            |
 * | ------------------------------------ | ----------------------------------------------------------------- |
 * | 429 or 503 that names a `Retry-After` | `RetryLater`: the next attempt comes when the server asks for it |
 * | any other 408, 425, 429 or 5xx        | {@link HttpError}: retried with backoff                          |
 * | no response at all                    | what `fetch` throws: retried with backoff                        |
 * | anything else but 2xx                 | `FatalError`: not retried                                        |
 *
 * @example
 * ```ts ignore
 * @Vertex({
 *   graph: Order, id: "charge", to: "ship",
 *   select: (s) => ({ url: "https://pay.example/charges", body: { amount: s.total } }),
 *   reduce: (s, response: HttpResponse) => { s.charge = response.body; },
 * })
 * @Retry({ maxAttempts: 5, backoff: { initial: "1s", jitter: true } })
 * @Timeout("30s")
 * class Charge extends HttpRequest {}
 * ```
 */
export class HttpRequest implements Task<HttpRequestInput, HttpResponse> {
  async execute(input: HttpRequestInput, ctx: TaskContext): Promise<HttpResponse> {
    const { url, body, method = body === undefined ? "GET" : "POST" } = input;
    const headers = new Headers(input.headers);
    if (!headers.has("idempotency-key")) headers.set("idempotency-key", ctx.idempotencyKey);
    const raw = body === undefined || typeof body === "string" || body instanceof Uint8Array;
    if (!raw && !headers.has("content-type")) headers.set("content-type", "application/json");

    const response = await fetch(url, {
      method,
      headers,
      signal: ctx.signal,
      ...(body === undefined ? {} : { body: raw ? body as BodyInit : JSON.stringify(body) }),
    });
    const text = await response.text();
    const { status } = response;
    if (!response.ok) throw refusal(`${method} ${String(url)}`, String(url), response, text);
    return {
      status,
      headers: Object.fromEntries(response.headers),
      body: isJson(response) && text !== "" ? JSON.parse(text) as unknown : text,
    };
  }
}

function refusal(what: string, url: string, response: Response, text: string): Error {
  const { status } = response;
  const message = `${what} was answered with ${status} ${response.statusText}`.trimEnd();
  const data: HttpFailure = { status, url, body: text.slice(0, BODY_IN_FAILURE) };
  if (status === 429 || status === 503) {
    const delay = retryAfter(response.headers.get("retry-after"));
    if (delay !== undefined) return new RetryLater(delay, message, { data });
  }
  const worthRetrying = status >= 500 || status === 408 || status === 425 || status === 429;
  return worthRetrying ? new HttpError(message, data) : new FatalError(message, { data });
}

/** Milliseconds from now on: the header holds seconds or a date. */
function retryAfter(header: string | null): number | undefined {
  if (header === null) return undefined;
  const ms = /^\d+$/.test(header.trim()) ? Number(header) * 1000 : Date.parse(header) - Date.now();
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined;
}

function isJson(response: Response): boolean {
  return /^application\/(.*\+)?json\b/i.test(response.headers.get("content-type") ?? "");
}

const BODY_IN_FAILURE = 1_000;
