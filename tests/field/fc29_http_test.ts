// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { listen, type Listening } from "../../src/http/listen.ts";
import { inStatus, single, type Site, site, until } from "../http/support.ts";
import { VirtualClock } from "../../src/testing/virtual_clock.ts";
import { head, raw, type RawAnswer } from "../http/wire.ts";

const LIMIT = 256 * 1024;

/** A served app, with a paused run `r` whose wait is open. */
async function served(): Promise<{ s: Site; server: Listening; waitId: string }> {
  const s = await site([single("any", (_, ctx) => ctx.interrupt("?"))], { bodyLimit: LIMIT });
  await s.post("/v1/graphs/any/runs", { runId: "r" });
  const { body } = await inStatus(s, "r", "interrupted");
  const [{ waitId }] = body.waits as [{ waitId: string }];
  return { s, server: await listen(s.app, { port: 0, grace: 0 }), waitId };
}

const runsOf = async (s: Site) =>
  (await s.get<{ runs: { runId: string }[] }>("/v1/runs?limit=1000")).body.runs;

function post(port: number, path: string, body: string | Uint8Array, method = "POST"): Promise<RawAnswer> {
  const length = typeof body === "string" ? new TextEncoder().encode(body).byteLength : body.byteLength;
  return raw(
    port,
    head(method, path, { "Content-Type": "application/json", "Content-Length": length }),
    body,
  );
}

const POISONS = [
  '{"__proto__": {"admin": true}}',
  '{"constructor": {"prototype": {"admin": true}}}',
  '[{"a": [{"__proto__": {"admin": true}}]}]',
  '{"a": {"__proto__": {"admin": true}}}',
  '{"$map": [["__proto__", {"admin": true}]]}',
  '{"$plain": {"__proto__": {"admin": true}}}',
];

test("keys that would change prototypes change none, wherever a value may be sent (FC-29)", async () => {
  const { s, server, waitId } = await served();
  const before = Object.getOwnPropertyNames(Object.prototype).sort();
  for (const poison of POISONS) {
    for (
      const [method, path, body] of [
        ["POST", "/v1/graphs/any/runs", `{"input": {"value": ${poison}}}`],
        ["POST", "/v1/graphs/any/runs", `{"input": ${poison}}`],
        ["POST", "/v1/graphs/any/runs", poison],
        ["POST", "/v1/runs/r/fork", `{"revision": 0, "state": {"n": 0, "value": ${poison}}}`],
        ["PATCH", "/v1/runs/r/state", `{"set": {"value": ${poison}}}`],
        ["PATCH", "/v1/runs/r/state", `{"set": ${poison.startsWith("{") ? poison : "{}"}}`],
        ["PATCH", "/v1/runs/r/state", `{"state": {"n": 0, "value": ${poison}}}`],
        ["PATCH", "/v1/runs/r/state", '{"unset": ["__proto__", "constructor"]}'],
        ["POST", "/v1/runs/r/resume", `{"answers": ${poison.startsWith("{") ? poison : '{"w": 1}'}}`],
        ["POST", "/v1/runs/r/cancel", poison],
        ["POST", "/v1/runs/r/waits/w/answer", `{"value": ${poison}}`],
      ] as const
    ) {
      const { status, text } = await post(server.port, path, body, method);
      assert.ok(status < 500, `${method} ${path} ${body}: ${status} ${text}`);
      if (path.endsWith("cancel")) assert.equal(status, 400, `${body}: a field that is not described`);
      if (body.startsWith('{"set": {"__proto__"')) assert.equal(status, 400, `${body}: no field of a state`);
      assert.equal(({} as { admin?: unknown }).admin, undefined);
    }
    assert.equal((await s.get("/v1/runs/r")).status, 200);
  }
  for (const { runId } of await runsOf(s)) {
    const { state } = await s.runners[0]!.get(runId);
    assert.equal(Object.getPrototypeOf(state), Object.prototype);
    assert.equal((state as { admin?: unknown }).admin, undefined);
  }
  assert.deepEqual(Object.getOwnPropertyNames(Object.prototype).sort(), before);
  const answered = await post(
    server.port,
    `/v1/runs/r/waits/${waitId}/answer`,
    '{"value": {"constructor": {"prototype": 1}}}',
  );
  assert.equal(answered.status, 202, answered.text);
  await server.close();
  await s.close();
});

test("names that are none are refused before they go anywhere (FC-29)", async () => {
  const { s, server, waitId } = await served();
  const names = ["__proto__", "%2e%2e%2fx", "x".repeat(3 * 1024), "a%00b", "a%2Fb", "%ff", "-", "a%20b"];
  for (const name of names) {
    for (
      const [method, path] of [
        ["GET", `/v1/runs/${name}`],
        ["GET", `/v1/runs/${name}/history`],
        ["GET", `/v1/runs/${name}/events`],
        ["POST", `/v1/runs/${name}/cancel`],
        ["POST", `/v1/graphs/${name}/runs`],
        ["POST", `/v1/runs/r/waits/${name}/answer`],
        ["GET", `/v1/runs?graph_id=${name}`],
        ["GET", `/v1/waits?run_id=${name}`],
      ] as const
    ) {
      const { status } = await raw(server.port, head(method, path, { "Content-Length": 0 }));
      assert.equal(status, 400, `${method} ${path.slice(0, 60)}`);
    }
    const runId = decode(name);
    const started = await post(server.port, "/v1/graphs/any/runs", JSON.stringify({ runId }));
    assert.equal(started.status, 400, name.slice(0, 60));
  }
  for (const name of ["toString", "constructor", "hasOwnProperty"]) {
    assert.equal((await raw(server.port, head("GET", `/v1/runs/${name}`))).status, 404);
    assert.equal((await raw(server.port, head("GET", `/v1/graphs/${name}/topology`))).status, 404);
  }
  const keyed = await raw(
    server.port,
    head("POST", "/v1/graphs/any/runs", { "Idempotency-Key": "x".repeat(3 * 1024), "Content-Length": 0 }),
  );
  assert.equal(keyed.status, 400);
  for (const key of ["__proto__", "toString", "../x"]) {
    const { status } = await raw(
      server.port,
      head("POST", "/v1/graphs/any/runs", { "Idempotency-Key": key, "Content-Length": 0 }),
    );
    assert.equal(status, 202);
  }
  assert.equal((await runsOf(s)).length, 4, "one that was there, and one for each key");
  assert.ok(waitId);
  await server.close();
  await s.close();
});

function decode(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

/** The body in chunks of its own transfer coding, without a length. */
function* chunked(total: number, piece = "x".repeat(64 * 1024)): Generator<string> {
  const size = piece.length.toString(16);
  for (let sent = 0; sent < total; sent += piece.length) yield `${size}\r\n${piece}\r\n`;
  yield "0\r\n\r\n";
}

test("bodies that are too large or malformed are refused, no run is created, and memory stays bounded (FC-29)", async () => {
  const { s, server } = await served();
  const { port } = server;
  const path = "/v1/graphs/any/runs";
  const json = (body: string | Uint8Array) => post(port, path, body);
  const before = (await runsOf(s)).length;
  const heap = process.memoryUsage().rss;

  assert.equal((await json(`{"input": {"x": "${"x".repeat(LIMIT)}"}}`)).status, 413);
  assert.equal((await json("x".repeat(1024 * 1024))).status, 413);
  for (const megabytes of [1, 50]) {
    const headers = head("POST", path, {
      "Content-Type": "application/json",
      "Transfer-Encoding": "chunked",
    });
    const { status } = await raw(port, headers, ...chunked(megabytes * 1024 * 1024));
    assert.ok([413, 0].includes(status), `${megabytes} MiB in chunks: ${status}`);
  }
  const bomb = gzipSync(new Uint8Array(50 * 1024 * 1024));
  const zipped = head("POST", path, {
    "Content-Type": "application/json",
    "Content-Encoding": "gzip",
    "Content-Length": bomb.byteLength,
  });
  assert.equal((await raw(port, zipped, bomb)).status, 415);
  assert.equal((await json(bomb)).status, 400);
  assert.equal((await json(Uint8Array.of(0x22, 0xff, 0xfe, 0x22))).status, 400);
  assert.equal((await json(Uint8Array.of(0xed, 0xa0, 0x80))).status, 400);
  const repaired = new TextEncoder().encode('{"input": {"x": "?"}}').map((byte) =>
    byte === 0x3f ? 0xff : byte
  );
  assert.equal((await json(repaired)).status, 400);
  assert.equal((await json('{"input": {"x": "\\ud800"}}')).status, 422);
  assert.equal((await json(`{"input": {"x": ${"[".repeat(100_000)}${"]".repeat(100_000)}}}`)).status, 400);
  assert.equal((await json(`${"[".repeat(100_000)}`)).status, 400);
  assert.equal((await json(`{"input": {"x": ${'{"a":'.repeat(5_000)}1${"}".repeat(5_000)}}}`)).status, 400);
  assert.equal(
    (await json('{"input": {"n": 1}, "input": {"n": "no number"}}')).status,
    422,
    "the last of two keys counts",
  );
  assert.equal((await json('{"input": {"n": 1}')).status, 400);
  assert.deepEqual((await runsOf(s)).length, before);
  assert.ok(process.memoryUsage().rss - heap < 300 * 1024 * 1024, "memory");
  assert.equal((await json('{"input": {"n": 1}}')).status, 202, "and the server goes on");
  await server.close();
  await s.close();
});

test("a request whose body never ends holds nothing but its connection (FC-29)", async () => {
  const { s, server } = await served();
  const { connect } = await import("node:net");
  const socket = connect(server.port, "127.0.0.1");
  socket.on("error", () => {});
  socket.write(
    head("POST", "/v1/graphs/any/runs", { "Content-Type": "application/json", "Content-Length": 100 }) + "{",
  );
  await until(async () => (await s.get("/v1/graphs")).status === 200);
  socket.resetAndDestroy();
  assert.equal((await post(server.port, "/v1/graphs/any/runs", "{}")).status, 202);
  await server.close();
  await s.close();
});

test("a body that does not come in time is left, and its request answered (FC-29)", async () => {
  const clock = new VirtualClock();
  await using s = await site([single("any", () => 0)], { work: false, runtime: clock });
  let left = false;
  const body = new ReadableStream({
    start: (controller) => controller.enqueue(new TextEncoder().encode("{")),
    cancel: () => void (left = true),
  });
  const request = new Request("http://localhost/v1/graphs/any/runs", {
    method: "POST",
    body,
    headers: { "Content-Type": "application/json" },
    duplex: "half",
  } as RequestInit);
  const answered = Promise.resolve(s.app.fetch(request));
  await clock.advance("29s");
  assert.equal(left, false);
  await clock.advance("1s");
  const { status } = await answered;
  assert.deepEqual([status, left, clock.pending], [408, true, 0]);
});
