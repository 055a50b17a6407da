import { createRoute, OpenAPIHono, z } from "@hono/zod-openapi";
import { defined } from "../../model/defined.ts";
import { type Api, type Env, fails, json, takes, visibilityOf } from "../api.ts";
import { locationOf } from "../paths.ts";
import {
  GetQuery,
  IdempotencyKey,
  limitOf,
  RunQuery,
  StartQuery,
  StartRequest,
  waitOf,
} from "../requests.ts";
import { GraphId, RunBody, RunId, RunPage, RunRef } from "../schemas.ts";
import { settled, submit } from "../start.ts";
import { runBody, runPage, runRef } from "../views.ts";

const location = z.object({ Location: z.string().openapi({ description: "Where the run is" }) });

const start = createRoute({
  method: "post",
  path: "/v1/graphs/{graph_id}/runs",
  operationId: "startRun",
  summary: "Starts a run",
  description: "The run is stored before this answers, and worked on by whoever serves the store.",
  request: {
    params: z.object({ graph_id: GraphId }),
    query: StartQuery,
    headers: IdempotencyKey,
    body: takes(StartRequest),
  },
  responses: {
    200: {
      ...json(RunBody, "What the run came to, as it did so within `wait`; or the live run of a singleton"),
      headers: location,
    },
    202: { ...json(RunRef, "The run goes on"), headers: location },
    ...fails(404, 408, 409, 413, 415, 422),
  },
});

const list = createRoute({
  method: "get",
  path: "/v1/runs",
  operationId: "listRuns",
  summary: "Runs, newest created first",
  request: { query: RunQuery },
  responses: { 200: json(RunPage, "A page of runs"), ...fails(404) },
});

const get = createRoute({
  method: "get",
  path: "/v1/runs/{run_id}",
  operationId: "getRun",
  summary: "A run as it is now, or was at a revision",
  request: { params: z.object({ run_id: RunId }), query: GetQuery },
  responses: { 200: json(RunBody, "The run"), ...fails(404, 409) },
});

/** Routes that start and read runs. */
export function runRoutes(api: Api) {
  const { served, streams } = api;
  let waiting = 0;
  return new OpenAPIHono<Env>()
    .openapi(start, async (c) => {
      const { version, wait } = c.req.valid("query");
      const runner = served.resolve(c.req.valid("param").graph_id, version);
      const key = c.req.valid("header")["idempotency-key"];
      const { run, skipped } = await submit(api, runner, c.get("caller")!, key, defined(c.req.valid("json")));
      const headers = { Location: locationOf(c, run.runId) };
      if (skipped) return c.json(runBody(await runner.get(run.runId), visibilityOf(api, c)), 200, headers);
      // Whoever waits costs what a stream does: with too many of them the next one is answered at once.
      const ms = waiting < streams.limit ? waitOf(wait) : 0;
      if (ms > 0) waiting++;
      try {
        const result = await settled(api, runner, run, ms);
        return result === undefined
          ? c.json(runRef(run), 202, headers)
          : c.json(runBody(result, visibilityOf(api, c)), 200, headers);
      } finally {
        if (ms > 0) waiting--;
      }
    })
    .openapi(list, async (c) => {
      const { graph_id: graphId, limit, ...query } = c.req.valid("query");
      return c.json(
        runPage(
          await served.list({ ...defined({ ...query, graphId }), limit: limitOf(limit) }, api.runtime.now()),
        ),
        200,
      );
    })
    .openapi(get, async (c) => {
      const { run_id } = c.req.valid("param");
      const { revision, include_state } = c.req.valid("query");
      const { runner } = await served.find(run_id);
      const view = await runner.get(run_id, revision === undefined ? {} : { revision: Number(revision) });
      const sight = visibilityOf(api, c);
      return c.json(runBody(view, { ...sight, state: sight.state && include_state !== "false" }), 200);
    });
}
