import { createRoute, OpenAPIHono, z } from "@hono/zod-openapi";
import { type Api, type Env, fails, json } from "../api.ts";
import { VersionQuery } from "../requests.ts";
import { Capabilities, GraphBody, GraphId, GraphList, WorkerList } from "../schemas.ts";
import { graphBody } from "../views.ts";

const capabilities = createRoute({
  method: "get",
  path: "/v1/capabilities",
  operationId: "getCapabilities",
  summary: "What this server is and can do",
  responses: { 200: json(Capabilities, "What this server can do"), ...fails<never>() },
});

const list = createRoute({
  method: "get",
  path: "/v1/graphs",
  operationId: "listGraphs",
  summary: "The graphs that are served, with their versions",
  responses: { 200: json(GraphList, "The graphs"), ...fails<never>() },
});

const topology = createRoute({
  method: "get",
  path: "/v1/graphs/{graph_id}/topology",
  operationId: "getTopology",
  summary: "A graph as plain data: exactly what its version is made of, and what its runs are started with",
  request: { params: z.object({ graph_id: GraphId }), query: VersionQuery },
  responses: { 200: json(GraphBody, "The graph"), ...fails(404) },
});

const workers = createRoute({
  method: "get",
  path: "/v1/workers",
  operationId: "listWorkers",
  summary: "The workers of the store: what they serve, and how full they are",
  responses: { 200: json(WorkerList, "The workers, the oldest first"), ...fails<never>() },
});

/** Routes about graphs and who serves them. */
export function graphRoutes({ served, runtime }: Api) {
  return new OpenAPIHono<Env>()
    .openapi(
      capabilities,
      (c) => c.json({ protocol: "superstep" as const, version: 1 as const, features: FEATURES }, 200),
    )
    .openapi(workers, async (c) => c.json({ workers: await served.workers(runtime.now()) }, 200))
    .openapi(list, (c) => c.json({ graphs: served.graphs }, 200))
    .openapi(topology, (c) => {
      const { graph_id } = c.req.valid("param");
      const runner = served.resolve(graph_id, c.req.valid("query").version);
      return c.json(graphBody(runner), 200);
    });
}

const FEATURES = [
  "runs_list",
  "history",
  "topology",
  "events",
  "waits",
  "answer",
  "resume",
  "cancel",
  "fork",
  "state",
  "workers",
];
