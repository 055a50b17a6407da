import assert from "node:assert/strict";
import { test } from "node:test";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { FatalError } from "superstep";
import { HttpRequest, type HttpRequestInput, type HttpRequestOptions } from "../../tasks/http_request.ts";
import { contextFor } from "./context.ts";
import { server } from "./server.ts";

const OWN: HttpRequestOptions = { allowPrivate: ["127.0.0.1"] };

function ask(input: HttpRequestInput, options: HttpRequestOptions = OWN, signal?: AbortSignal) {
  return new HttpRequest(options).execute(input, contextFor("key", signal));
}

/** The message of the `FatalError` that a request is refused with. */
async function refused(input: HttpRequestInput, options?: HttpRequestOptions): Promise<string> {
  try {
    await ask(input, options);
  } catch (error) {
    assert.ok(error instanceof FatalError, String(error));
    return error.message;
  }
  throw new assert.AssertionError({ message: `${input.url} was asked` });
}

const LOOPBACK = [
  "http://127.0.0.1:PORT/",
  "http://127.1:PORT/",
  "http://2130706433:PORT/",
  "http://0x7f000001:PORT/",
  "http://0177.0.0.1:PORT/",
  "http://[::ffff:127.0.0.1]:PORT/",
  "http://[::ffff:7f00:1]:PORT/",
  "http://１２７.０.０.１:PORT/",
];

test("HttpRequest asks no server at a private address, however the address is written", async (t) => {
  const { port, seen } = await server(t, () => ({}));
  for (const url of LOOPBACK) {
    assert.match(
      await refused({ url: url.replace("PORT", String(port)) }, {}),
      /loopback.*allowPrivate/,
      url,
    );
  }
  assert.match(await refused({ url: "http://169.254.169.254/latest/meta-data" }, {}), /link-local/);
  assert.match(await refused({ url: "http://[fd00::1]/" }, {}), /private/);
  assert.equal(seen.length, 0);
});

test("HttpRequest asks no server whose name leads to a private address, also when it has public ones as well", async (t) => {
  const { port, seen } = await server(t, () => ({}));
  const named = (...addresses: readonly string[]) => ({ resolve: () => Promise.resolve(addresses) });
  const url = `http://intranet.example:${port}/`;
  assert.match(await refused({ url }, named("127.0.0.1")), /intranet.example.*127.0.0.1 \(loopback\)/);
  assert.match(await refused({ url }, named("1.1.1.1", "10.0.0.1")), /10.0.0.1 \(private\)/);
  assert.match(await refused({ url }, named("::ffff:10.0.0.1")), /private/);
  assert.match(await refused({ url: `http://localhost:${port}/` }, {}), /loopback/);
  assert.equal(seen.length, 0);
});

test("HttpRequest connects to the address that was judged: a name is resolved once", async (t) => {
  const { port, seen } = await server(t, () => ({ body: "here" }));
  const asked: string[] = [];
  const resolve = (host: string) => {
    asked.push(host);
    return Promise.resolve([asked.length === 1 ? "127.0.0.1" : "10.0.0.1"]);
  };
  const url = `http://no.such.host.invalid:${port}/`;
  const { body } = await ask({ url }, { resolve, allowPrivate: ["no.such.host.invalid"] });
  assert.deepEqual([body, asked, seen[0]?.headers.host], [
    "here",
    ["no.such.host.invalid"],
    `no.such.host.invalid:${port}`,
  ]);
});

test("HttpRequest trusts the hosts that allowPrivate names, and only those", async (t) => {
  const { port } = await server(t, () => ({ body: "here" }));
  const resolve = () => Promise.resolve(["127.0.0.1"]);
  const options = { resolve, allowPrivate: ["Billing.Internal"] };
  assert.equal((await ask({ url: `http://billing.internal:${port}/` }, options)).body, "here");
  assert.match(await refused({ url: `http://other.internal:${port}/` }, options), /other.internal/);
  assert.match(await refused({ url: `http://127.0.0.1:${port}/` }, options), /loopback/);
  assert.equal((await ask({ url: `http://127.0.0.1:${port}/` }, { allowPrivate: true })).body, "here");
});

test("HttpRequest judges every redirect: to a private address, to another protocol, with a password", async (t) => {
  const targets: Readonly<Record<string, RegExp>> = {
    "http://10.0.0.1/": /10.0.0.1 \(private\)/,
    "http://[::1]/": /loopback/,
    "ftp://example.org/": /ftp:/,
    "file:///etc/passwd": /file:/,
    "http://user:secret@example.org/": /user or a password/,
    "http://": /no URL/,
  };
  for (const [location, problem] of Object.entries(targets)) {
    const { url } = await server(t, () => ({ status: 302, headers: { location } }));
    const message = await refused({ url });
    assert.match(message, problem);
    assert.ok(!message.includes("secret"));
  }
});

test("HttpRequest follows redirects as browsers do, and its key goes along", async (t) => {
  const cases = [
    [301, "POST", "GET"],
    [302, "POST", "GET"],
    [303, "PUT", "GET"],
    [307, "POST", "POST"],
    [
      308,
      "PUT",
      "PUT",
    ],
    [301, "PUT", "PUT"],
    [303, "HEAD", "HEAD"],
  ] as const;
  for (const [status, method, then] of cases) {
    const { url, seen } = await server(
      t,
      (_, n) => n === 1 ? { status, headers: { location: "/next?a=1" } } : { body: "there" },
    );
    const input = method === "HEAD" ? { url, method } : { url, method, body: { a: 1 } };
    const { body } = await ask({ ...input, headers: { authorization: "Bearer x" } });
    assert.equal(body, method === "HEAD" ? "" : "there");
    const [, next] = seen;
    assert.deepEqual([next?.method, next?.path, next?.body], [
      then,
      "/next?a=1",
      then === method && method !== "HEAD" ? '{"a":1}' : "",
    ]);
    assert.deepEqual([next?.headers["idempotency-key"], next?.headers.authorization], ["key", "Bearer x"]);
    assert.equal(next?.headers["content-type"], next?.body === "" ? undefined : "application/json");
  }
});

test("HttpRequest takes no secrets along to another origin", async (t) => {
  const other = await server(t, () => ({ body: "there" }));
  const { url } = await server(t, () => ({ status: 307, headers: { location: other.url } }));
  const headers = { authorization: "Bearer x", cookie: "a=1", "x-api-key": "k", accept: "text/plain" };
  await ask({ url, body: "text", headers });
  const [seen] = other.seen;
  assert.equal(seen?.body, "text");
  assert.deepEqual(
    Object.keys(seen!.headers).filter((name) => !["host", "connection"].includes(name)).toSorted(),
    ["accept", "accept-encoding", "content-length", "idempotency-key"],
  );
});

test("HttpRequest gives up after so many redirects, and follows none when told so", async (t) => {
  const { url, seen } = await server(t, (_, n) => ({ status: 302, headers: { location: `/${n}` } }));
  assert.match(await refused({ url }), /redirected more than 5 times/);
  assert.equal(seen.length, 6);
  assert.match(await refused({ url }, { ...OWN, maxRedirects: 0 }), /more than 0 times/);
  assert.equal(seen.length, 7);
});

test("HttpRequest reads at most so many bytes and closes the connection", async (t) => {
  const { url, open } = await server(t, () => ({ body: new Uint8Array(3_000_000) }));
  assert.match(await refused({ url }, { ...OWN, maxBytes: 1_000 }), /longer than 1000 bytes/);
  assert.equal(
    (await ask({ url, as: "bytes" }, { ...OWN, maxBytes: 3_000_000 })).body instanceof Uint8Array,
    true,
  );
  while (open() > 0) await new Promise((resolve) => setTimeout(resolve, 1));
});

test("HttpRequest decompresses, and counts what comes out", async (t) => {
  const text = "x".repeat(1_000_000);
  const encodings = { gzip: gzipSync(text), deflate: deflateSync(text), br: brotliCompressSync(text) };
  for (const [encoding, body] of Object.entries(encodings)) {
    const { url, seen } = await server(t, () => ({ headers: { "content-encoding": encoding }, body }));
    assert.equal((await ask({ url })).body, text, encoding);
    assert.equal(seen[0]?.headers["accept-encoding"], "gzip, deflate, br");
    assert.match(await refused({ url }, { ...OWN, maxBytes: 100_000 }), /longer than 100000/, encoding);
  }
  const { url } = await server(t, () => ({ headers: { "content-encoding": "zstd" }, body: "?" }));
  assert.match(await refused({ url }), /zstd/);
});

test("HttpRequest ends in time: a response that never ends, a name that is never resolved", async (t) => {
  const { url, open } = await server(t, () => ({ body: null }));
  const late = ask({ url }, { ...OWN, timeout: 50 });
  await assert.rejects(
    late,
    (error: Error) => error.name === "TimeoutError" && !(error instanceof FatalError),
  );
  while (open() > 0) await new Promise((resolve) => setTimeout(resolve, 1));
  const stuck = new HttpRequest({ resolve: () => new Promise(() => {}), timeout: "20ms" });
  await assert.rejects(stuck.execute({ url: "http://example.org" }, contextFor("k")), /within 20 ms/);
});

test("HttpRequest stops in the middle of a response when its signal is aborted, and lets go of the signal", async (t) => {
  const { url, seen, open } = await server(t, () => ({ body: null }));
  const controller = new AbortController();
  const { signal } = controller;
  let listeners = 0;
  const [add, remove] = [signal.addEventListener.bind(signal), signal.removeEventListener.bind(signal)];
  signal.addEventListener = (...args: Parameters<typeof add>) => (listeners++, add(...args));
  signal.removeEventListener = (...args: Parameters<typeof remove>) => (listeners--, remove(...args));
  const asking = ask({ url }, OWN, signal);
  asking.catch(() => {});
  while (seen.length === 0) await new Promise((resolve) => setTimeout(resolve, 1));
  controller.abort(new Error("enough"));
  await assert.rejects(asking, /enough/);
  while (open() > 0) await new Promise((resolve) => setTimeout(resolve, 1));
  assert.equal(listeners, 0);
});

test("HttpRequest: a connection that breaks off is left to the retry policy", async (t) => {
  const { url } = await server(t, (request) => {
    request.socket.destroy();
    return {};
  });
  await assert.rejects(ask({ url }), (error: Error) => !(error instanceof FatalError));
});

test("HttpRequest reads a body as the input asks: bytes, JSON without a type, text in its charset", async (t) => {
  const { url } = await server(t, () => ({ body: '{"a":1}' }));
  assert.deepEqual((await ask({ url, as: "json" })).body, { a: 1 });
  assert.deepEqual((await ask({ url, as: "bytes" })).body, new TextEncoder().encode('{"a":1}'));
  assert.equal((await ask({ url, as: "text" })).body, '{"a":1}');
  const latin = await server(t, () => ({
    headers: { "content-type": "text/plain; charset=ISO-8859-1" },
    body: new Uint8Array([0xe4, 0xf6]),
  }));
  assert.equal((await ask({ url: latin.url })).body, "äö");
  const broken = await server(t, () => ({ headers: { "content-type": "application/json" }, body: "{" }));
  await assert.rejects(ask({ url: broken.url }), /no JSON/);
});

test("HttpRequest refuses what is no URL, another protocol, a password; and options that cannot be meant", async () => {
  assert.match(await refused({ url: "charges" }), /no URL/);
  assert.match(await refused({ url: "file:///etc/passwd" }), /file:/);
  const secret = await refused({ url: "http://me:secret@example.org/" });
  assert.match(secret, /user or a password/);
  assert.ok(!secret.includes("secret"));
  for (const options of [{ timeout: 0 }, { timeout: NaN }, { maxBytes: 0 }, { maxRedirects: -1 }]) {
    assert.throws(() => new HttpRequest(options), RangeError);
  }
});
