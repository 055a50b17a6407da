import { lookup as systemLookup } from "node:dns/promises";
import { type IncomingMessage, request as plain } from "node:http";
import { request as secure } from "node:https";
import { isIP } from "node:net";
import { type BrotliDecompress, createBrotliDecompress, createUnzip, type Unzip } from "node:zlib";
import { specialUseOf } from "./addresses.ts";

/** One request to one server: no redirect is followed. */
export interface Exchange {
  readonly url: URL;
  readonly method: string;
  readonly headers: Headers;
  readonly body: Uint8Array | undefined;
  readonly signal: AbortSignal;
  readonly maxBytes: number;
  /** Whether any address of this host may be asked. */
  readonly trusted: boolean;
  readonly resolve: (host: string) => Promise<readonly string[]>;
}

/** What came back. */
export interface Answered {
  readonly status: number;
  readonly statusText: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

/** A request that must not be made, or whose response must not be read: another attempt comes to the same. */
export class Refusal extends Error {}

/** The addresses of a host, as the system sees them. */
export async function systemResolve(host: string): Promise<readonly string[]> {
  return (await systemLookup(host, { all: true })).map(({ address }) => address);
}

/**
 * Sends a request and reads its response.
 *
 * 1. The connection goes to an address that was judged, never to one that was resolved again.
 * 2. It is closed when the signal is aborted, and as soon as the response is longer than it may be, decompressed.
 */
export async function exchange(wanted: Exchange): Promise<Answered> {
  const { url, signal, trusted } = wanted;
  signal.throwIfAborted();
  const host = url.hostname.replace(/^\[|\]$/g, "");
  const addresses = isIP(host) === 0 ? await untilAborted(wanted.resolve(host), signal) : [host];
  if (addresses.length === 0) throw new Error(`${host} has no address`);
  for (const address of trusted ? [] : addresses) {
    const use = specialUseOf(address);
    if (use === undefined) continue;
    throw new Refusal(
      `${url.origin} is at ${address} (${use}), and only public addresses are asked; name ${url.hostname} in allowPrivate if it is meant`,
    );
  }
  return await send(wanted, addresses);
}

function send(wanted: Exchange, addresses: readonly string[]): Promise<Answered> {
  const { url, method, headers, body, signal, maxBytes } = wanted;
  const found = addresses.map((address) => ({ address, family: isIP(address) }));
  let stop = () => {};
  const answered = new Promise<Answered>((resolve, reject) => {
    const request = (url.protocol === "https:" ? secure : plain)({
      protocol: url.protocol,
      hostname: url.hostname.replace(/^\[|\]$/g, ""),
      ...(url.port === "" ? {} : { port: url.port }),
      path: url.pathname + url.search,
      method,
      headers: Object.fromEntries(headers),
      agent: false,
      lookup: (_host, options, done) =>
        options.all === true ? done(null, found) : done(null, found[0]!.address, found[0]!.family),
    });
    const close = (reason: unknown) => {
      reject(reason);
      request.destroy();
    };
    const abort = () => close(signal.reason);
    signal.addEventListener("abort", abort);
    stop = () => signal.removeEventListener("abort", abort);
    request.on("error", reject);
    request.on("response", (response) => {
      const { statusCode: status = 0, statusMessage: statusText = "" } = response;
      const empty = method === "HEAD" || status === 204 || status === 304;
      read(response, empty, maxBytes).then(
        (bytes) => resolve({ status, statusText, headers: headersOf(response), body: bytes }),
        close,
      );
    });
    request.end(body);
  });
  return answered.finally(() => stop());
}

async function read(response: IncomingMessage, empty: boolean, maxBytes: number): Promise<Uint8Array> {
  const encoding = response.headers["content-encoding"]?.toLowerCase() ?? "identity";
  const decoder = empty || encoding === "identity" ? undefined : decoderOf(encoding);
  const chunks: Uint8Array[] = [];
  let size = 0;
  await new Promise<void>((resolve, reject) => {
    let ended = false;
    const source = decoder === undefined ? response : response.pipe(decoder);
    source.on("data", (chunk: Uint8Array) => {
      size += chunk.byteLength;
      if (size <= maxBytes) return void chunks.push(chunk);
      decoder?.destroy();
      reject(new Refusal(`the response is longer than ${maxBytes} bytes; raise maxBytes if it is meant`));
    });
    source.on("end", resolve);
    source.on("error", reject);
    response.on("error", reject);
    response.on("end", () => ended = true);
    response.on("close", () => {
      if (!ended) reject(new Error("the connection was closed before the response was over"));
    });
  });
  return joined(chunks, size);
}

function decoderOf(encoding: string): BrotliDecompress | Unzip {
  if (encoding === "br") return createBrotliDecompress();
  if (encoding === "gzip" || encoding === "x-gzip" || encoding === "deflate") return createUnzip();
  throw new Refusal(`the response is encoded with ${encoding}, which was not asked for`);
}

function joined(chunks: readonly Uint8Array[], size: number): Uint8Array {
  const whole = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.byteLength;
  }
  return whole;
}

function headersOf(response: IncomingMessage): Record<string, string> {
  return Object.fromEntries(
    Object.entries(response.headers).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, typeof value === "string" ? value : value.join(", ")]]
    ),
  );
}

/** A promise that nothing can stop, up to the abort. */
async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  let stop = () => {};
  const aborted = new Promise<never>((_, reject) => {
    const abort = () => reject(signal.reason);
    signal.addEventListener("abort", abort);
    stop = () => signal.removeEventListener("abort", abort);
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    stop();
  }
}
