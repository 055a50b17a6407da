import assert from "node:assert/strict";
import { test } from "node:test";
import { compile, FatalError, Graph, Retry, RetryLater, Vertex, Workflow } from "superstep";
import { memoryStore } from "superstep/store/memory";
import { z } from "zod";
import { HttpError, HttpRequest, type HttpResponse } from "../../tasks/http_request.ts";
import { contextFor } from "./context.ts";
import { server } from "./server.ts";

/** Asks servers of this machine. */
const OWN = new HttpRequest({ allowPrivate: true });

const JSON_TYPE = { "content-type": "application/json; charset=utf-8" };

test("HttpRequest sends JSON under the idempotency key and parses a JSON response", async (t) => {
  const { url, seen } = await server(t, () => ({ status: 201, headers: JSON_TYPE, body: '{"id":7}' }));
  const response = await OWN.execute({ url, body: { amount: 3 } }, contextFor("key-1"));
  assert.deepEqual([response.status, response.body], [201, { id: 7 }]);
  assert.match(response.headers["content-type"]!, /json/);
  const [request] = seen;
  assert.deepEqual([request?.method, request?.body], ["POST", '{"amount":3}']);
  assert.equal(request?.headers["idempotency-key"], "key-1");
  assert.equal(request?.headers["content-type"], "application/json");
});

test("HttpRequest keeps what the input says: method, headers, a key of its own, a body of text", async (t) => {
  const { url, seen } = await server(t, () => ({ body: "thanks" }));
  const headers = { "Idempotency-Key": "mine", "Content-Type": "text/csv" };
  const input = { url: new URL(url), method: "PUT", headers, body: "a,b" };
  const { body } = await OWN.execute(input, contextFor("key-1"));
  assert.equal(body, "thanks");
  const [request] = seen;
  assert.deepEqual([request?.method, request?.body], ["PUT", "a,b"]);
  assert.equal(request?.headers["idempotency-key"], "mine");
  assert.equal(request?.headers["content-type"], "text/csv");
});

for (const status of [400, 401, 404, 409, 422]) {
  test(`HttpRequest: ${status} is fatal and tells the beginning of the response`, async (t) => {
    const { url } = await server(t, () => ({ status, body: "no ".repeat(1_000) }));
    const error = await failure(url);
    assert.ok(error instanceof FatalError);
    const { data } = error as FatalError & { data: { status: number; body: string } };
    assert.equal(data.status, status);
    assert.equal(data.body.length, 1_000);
    assert.match(error.message, new RegExp(`GET ${url} was answered with ${status}`));
  });
}

for (const status of [408, 425, 429, 500, 502, 503]) {
  test(`HttpRequest: ${status} without Retry-After is left to the retry policy`, async (t) => {
    const { url } = await server(t, () => ({ status }));
    const error = await failure(url);
    assert.ok(error instanceof HttpError);
    assert.equal(error.data.status, status);
  });
}

for (const status of [429, 503]) {
  test(`HttpRequest: ${status} is tried again when the server asks for it`, async (t) => {
    const { url } = await server(t, () => ({ status, headers: { "retry-after": "7" } }));
    const error = await failure(url);
    assert.ok(error instanceof RetryLater);
    assert.equal(error.delay, 7_000);
    assert.equal((error as RetryLater & { data: { status: number } }).data.status, status);
  });
}

test("HttpRequest: a Retry-After that is a date in the past means now, and one that is neither is ignored", async (t) => {
  const { url } = await server(t, (_, n) => ({
    status: 503,
    headers: { "retry-after": n === 1 ? "Thu, 01 Jan 2015 00:00:00 GMT" : "soon" },
  }));
  const error = await failure(url);
  assert.ok(error instanceof RetryLater);
  assert.equal(error.delay, 0);
  assert.ok(await failure(url) instanceof HttpError);
});

test("HttpRequest ends with its signal", async (t) => {
  const controller = new AbortController();
  const { url } = await server(t, () => ({}));
  controller.abort(new Error("enough"));
  await assert.rejects(OWN.execute({ url }, contextFor("k", controller.signal)), /enough/);
});

const Order = z.object({ url: z.string(), charge: z.unknown().optional() });

@Graph({ id: "order" })
class OrderFlow extends Workflow(Order) {}

@Vertex({
  graph: OrderFlow,
  id: "charge",
  entry: true,
  finish: true,
  select: (s) => ({ url: s.url, body: { amount: 3 } }),
  reduce: (s, response: HttpResponse) => {
    s.charge = response.body;
  },
})
@Retry({ maxAttempts: 3 })
export class Charge extends HttpRequest {
  constructor() {
    super({ allowPrivate: ["127.0.0.1"] });
  }
}

test("HttpRequest in a workflow: every attempt carries the same key, and the body comes back into the state", async (t) => {
  const { url, seen } = await server(
    t,
    (_, n) =>
      n < 3
        ? { status: n === 1 ? 500 : 503, headers: { "retry-after": "0" } }
        : { headers: JSON_TYPE, body: '{"paid":true}' },
  );
  const result = await compile(OrderFlow, { store: memoryStore() }).run({ url }, { runId: "o1" });
  assert.equal(result.status, "completed");
  assert.deepEqual(result.state.charge, { paid: true });
  assert.deepEqual(
    seen.map((request) => request.headers["idempotency-key"]),
    Array(3).fill("graph=order/run=o1/step=0/vertex=charge"),
  );
});

async function failure(url: string): Promise<Error> {
  try {
    await OWN.execute({ url }, contextFor("k"));
  } catch (error) {
    assert.ok(error instanceof Error);
    return error;
  }
  throw new assert.AssertionError({ message: "the request was not refused" });
}
