import type { Context } from "hono";
import type { Runtime } from "../runtime/runtime.ts";
import { HttpFault } from "./faults.ts";

/** What the API takes. */
export const JSON_TYPE = "application/json";
/** What pages send. */
export const FORM = "application/x-www-form-urlencoded";

/**
 * Reads the body of a request once, counted and judged, and puts what was read in its place, so that routes get JSON or
 * nothing.
 *
 * 1. No more than `limit` bytes are kept, and reading ends with the first one above, whatever length was announced.
 * 2. Nothing is unpacked, and nothing that is no UTF-8 is repaired.
 * 3. An empty body is `{}`: every field of it is absent.
 */
export async function readBody(
  c: Context,
  { limit, type }: { readonly limit: number; readonly type: typeof JSON_TYPE | typeof FORM },
  runtime: Runtime,
): Promise<void> {
  const { method, headers, url } = c.req.raw;
  // Other methods have no route, and some of them no request can be made anew with.
  if (method !== "POST" && method !== "PATCH") return;
  const bytes = await bytesOf(c.req.raw, limit, runtime);
  if (bytes.byteLength > 0) {
    const [sent = ""] = (headers.get("content-type") ?? "").split(";");
    if (
      sent.trim().toLowerCase() !== type || (headers.get("content-encoding") ?? "identity") !== "identity"
    ) {
      throw new HttpFault("UNSUPPORTED_MEDIA_TYPE");
    }
  }
  const body = bytes.byteLength === 0 && type === JSON_TYPE ? "{}" : textOf(bytes);
  const read = new Headers(headers);
  for (const name of ["content-length", "transfer-encoding"]) read.delete(name);
  read.set("content-type", type);
  c.req.raw = new Request(url, { method, headers: read, body });
}

async function bytesOf({ body }: Request, limit: number, runtime: Runtime): Promise<Uint8Array> {
  const reader = body?.getReader();
  if (reader === undefined) return new Uint8Array();
  const chunks: Uint8Array[] = [];
  let size = 0;
  let late = false;
  const timer = runtime.wakeIn(READ_MS, () => {
    late = true;
    leave();
  }, { keepAlive: false });
  try {
    for (;;) {
      const { done, value } = await reader.read().catch(() => {
        throw new HttpFault(late ? "BODY_TIMEOUT" : "BODY_BROKEN");
      });
      if (late) throw new HttpFault("BODY_TIMEOUT");
      if (done) return joined(chunks, size);
      size += value.byteLength;
      if (size > limit) {
        leave();
        throw new HttpFault("BODY_TOO_LARGE");
      }
      chunks.push(value);
    }
  } finally {
    timer.cancel();
  }

  function leave(): void {
    reader!.cancel().catch(() => {});
  }
}

/** How long the body of a request may take to come. */
const READ_MS = 30_000;

function joined(chunks: readonly Uint8Array[], size: number): Uint8Array {
  const bytes = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.byteLength;
  }
  return bytes;
}

function textOf(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new HttpFault("MALFORMED_BODY");
  }
}
