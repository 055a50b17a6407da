// Runs on deno by default: the app is the same everywhere; listening, streams and clients have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Validator } from "@seriousme/openapi-schema-validator";
import { Hono } from "hono";
import { approval, type Body, inStatus, single, site } from "./support.ts";

interface Document extends Body {
  readonly openapi: string;
  readonly servers: readonly { readonly url: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>;
}

interface Described {
  readonly operationId: string;
  readonly summary?: string;
  readonly responses: Readonly<Record<string, unknown>>;
  readonly parameters?: readonly {
    readonly name: string;
    readonly in: string;
    readonly required?: boolean;
  }[];
}

test("the description is OpenAPI 3.1 that a validator accepts (W2)", async () => {
  await using s = await site([approval()], { work: false });
  const { body } = await s.get<Document>("/v1/openapi.json");
  assert.match(body.openapi, /^3\.1\./);
  const validator = new Validator();
  const { valid, errors } = await validator.validate(structuredClone(body) as never);
  assert.ok(valid, JSON.stringify(errors, null, 2));
});

test("the description names every route, once, with a summary, and its server is where the app is mounted (W2)", async () => {
  await using s = await site([approval()], { work: false });
  const { body } = await s.get<Document>("/v1/openapi.json");
  const routes = Object.entries(body.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { operationId, summary }]) => {
      assert.ok(summary, operationId);
      return `${method.toUpperCase()} ${path} ${operationId}`;
    })
  );
  assert.deepEqual(routes, [
    "GET /v1/openapi.json getDocument",
    "GET /v1/capabilities getCapabilities",
    "GET /v1/workers listWorkers",
    "GET /v1/graphs listGraphs",
    "GET /v1/graphs/{graph_id}/topology getTopology",
    "POST /v1/graphs/{graph_id}/runs startRun",
    "GET /v1/runs listRuns",
    "GET /v1/runs/{run_id} getRun",
    "GET /v1/runs/{run_id}/history getHistory",
    "GET /v1/runs/{run_id}/events streamEvents",
    "POST /v1/runs/{run_id}/resume resumeRun",
    "POST /v1/runs/{run_id}/cancel cancelRun",
    "POST /v1/runs/{run_id}/fork forkRun",
    "PATCH /v1/runs/{run_id}/state editState",
    "GET /v1/waits listWaits",
    "POST /v1/runs/{run_id}/waits/{wait_id}/answer answerWait",
  ]);
  assert.deepEqual(body.servers, [{ url: "/" }]);
  const mounted = new Hono().route("/deep/down", s.app);
  const there = await (await mounted.request("/deep/down/v1/openapi.json")).json() as Document;
  assert.deepEqual(there.servers, [{ url: "/deep/down" }]);
  assert.deepEqual(there.paths, body.paths);
});

/** A body of everything that a run may hold: values, failures, a halt, waits, timers. */
const failing = () =>
  single("fails", (_, ctx) => {
    if (ctx.step === 0) throw Object.assign(new TypeError("no"), { code: "E_NO", data: { at: new Date(0) } });
  });

test("every answer of every route is as described: all that succeed were given here, and held against it (W2)", async () => {
  await using s = await site([approval(), failing(), single("loop", () => 0, { pick: () => "only" })], {
    expose: { causes: true },
  });
  const answered = new Set<string>();
  const { body: document } = await s.get<Document>("/v1/openapi.json");
  const operation = (method: string, path: string) => {
    const route = Object.keys(document.paths).find((p) =>
      new RegExp(`^${p.replaceAll(/\{\w+\}/g, "[^/]+")}$`).test(path.split("?")[0]!)
    )!;
    return document.paths[route]![method.toLowerCase()]!.operationId;
  };
  const ask = async (method: string, path: string, body?: unknown) => {
    const answer = await s.call(method, path, { body });
    answered.add(`${operation(method, path)} ${answer.status}`);
    return answer;
  };
  await ask("GET", "/v1/openapi.json");
  await ask("GET", "/v1/capabilities");
  await ask("GET", "/v1/workers");
  await ask("GET", "/v1/graphs");
  await ask("GET", "/v1/graphs/approval/topology");
  await ask("POST", "/v1/graphs/approval/runs", {
    runId: "r",
    input: { question: "?" },
    tags: ["t"],
    deadline: "1h",
  });
  await ask("POST", "/v1/graphs/fails/runs?wait=10s", { runId: "f" });
  await ask("POST", "/v1/graphs/loop/runs?wait=10s", { runId: "l", maxSteps: 3 });
  const { body } = await inStatus(s, "r", "interrupted");
  const [{ waitId }] = body.waits as [{ waitId: string }];
  await ask("GET", "/v1/waits");
  await ask("POST", "/v1/runs/r/fork", { revision: 0 });
  await ask("PATCH", "/v1/runs/r/state", { set: { question: "!" } });
  await ask("POST", `/v1/runs/r/waits/${waitId}/answer`, { value: { approve: true } });
  await inStatus(s, "r", "completed");
  await ask("POST", "/v1/runs/f/resume", { maxSteps: 50 });
  await ask("POST", "/v1/runs/l/cancel", { reason: "enough" });
  await ask("GET", "/v1/runs");
  for (const id of ["r", "f", "l"]) {
    await ask("GET", `/v1/runs/${id}`);
    await ask("GET", `/v1/runs/${id}/history?include_state=true`);
  }
  const stream = await s.app.request("/v1/runs/r/events");
  assert.equal(stream.headers.get("Content-Type"), "text/event-stream");
  const last = Number([...(await stream.text()).matchAll(/^id: (\d+)$/gm)].at(-1)![1]);
  answered.add(`streamEvents ${stream.status}`);
  const over = await s.app.request("/v1/runs/r/events", { headers: { "Last-Event-ID": String(last) } });
  answered.add(`streamEvents ${over.status}`);

  const described = Object.values(document.paths).flatMap((methods) =>
    Object.values(methods).flatMap(({ operationId, responses }) =>
      Object.keys(responses).filter((status) => status < "300").map((status) => `${operationId} ${status}`)
    )
  );
  assert.deepEqual([...answered].filter((a) => !/ [45]/.test(a)).sort(), described.sort());
});

test("parameters are described by name and place, and nothing that a route takes is left out (W2)", async () => {
  await using s = await site([approval()], { work: false });
  const { body } = await s.get<Document>("/v1/openapi.json");
  const of = (path: string, method: string) =>
    (body.paths[path]![method]!.parameters ?? []).map(({ name, in: place, required }) =>
      `${place} ${name}${required ? "!" : ""}`
    ).sort();
  assert.deepEqual(of("/v1/graphs/{graph_id}/runs", "post"), [
    "header idempotency-key",
    "path graph_id!",
    "query version",
    "query wait",
  ]);
  assert.deepEqual(of("/v1/runs/{run_id}/events", "get"), [
    "header last-event-id",
    "path run_id!",
    "query emits",
    "query from_revision",
  ]);
  assert.deepEqual(of("/v1/runs", "get"), [
    "query activity",
    "query cursor",
    "query graph_id",
    "query limit",
    "query reason",
    "query status",
    "query tag",
  ]);
});
