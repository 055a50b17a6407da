import { createRoute, OpenAPIHono, z } from "@hono/zod-openapi";
import { defined } from "../../model/defined.ts";
import { type Api, type Env, fails, json, takes, visibilityOf } from "../api.ts";
import { edited, forked, resumed } from "../operations.ts";
import { locationOf } from "../paths.ts";
import { CancelRequest, ForkRequest, ResumeRequest, StateRequest } from "../requests.ts";
import { CancelledRun, RunBody, RunId, RunRef } from "../schemas.ts";
import { runBody, runRef } from "../views.ts";

const params = z.object({ run_id: RunId });

const resume = createRoute({
  method: "post",
  path: "/v1/runs/{run_id}/resume",
  operationId: "resumeRun",
  summary: "Goes on with a run: retries failed vertices and halts, takes in answers",
  description:
    "The run is claimed by this server, which works on it from then on; it answers as soon as that stands.",
  request: { params, body: takes(ResumeRequest) },
  responses: { 202: json(RunRef, "The run goes on"), ...fails(404, 408, 409, 413, 415, 422) },
});

const cancel = createRoute({
  method: "post",
  path: "/v1/runs/{run_id}/cancel",
  operationId: "cancelRun",
  summary: "Ends a run for good",
  request: { params, body: takes(CancelRequest) },
  responses: { 200: json(CancelledRun, "How the run ended"), ...fails(404, 408, 409, 413, 415) },
});

const fork = createRoute({
  method: "post",
  path: "/v1/runs/{run_id}/fork",
  operationId: "forkRun",
  summary: "Begins a new run where this one was at a revision",
  request: { params, body: takes(ForkRequest) },
  responses: {
    202: {
      ...json(RunRef, "The new run"),
      headers: z.object({ Location: z.string().openapi({ description: "Where the new run is" }) }),
    },
    ...fails(404, 408, 409, 413, 415, 422),
  },
});

const state = createRoute({
  method: "patch",
  path: "/v1/runs/{run_id}/state",
  operationId: "editState",
  summary: "Edits the state of a run that no process is at work on",
  request: { params, body: takes(StateRequest) },
  responses: { 200: json(RunBody, "The run as it is then"), ...fails(404, 408, 409, 413, 415, 422) },
});

/** Routes that move runs. */
export function operationRoutes(api: Api) {
  const { served } = api;
  return new OpenAPIHono<Env>()
    .openapi(resume, async (c) => {
      const { runner, run } = await served.find(c.req.valid("param").run_id);
      await resumed(api, runner, run, defined(c.req.valid("json")));
      return c.json(runRef(await runner.status(run.runId)), 202);
    })
    .openapi(cancel, async (c) => {
      const { runner, run } = await served.find(c.req.valid("param").run_id);
      const { graphId, graphVersion } = run;
      const end = await runner.cancel(run.runId, c.req.valid("json")?.reason);
      return c.json({ graphId, graphVersion, ...end }, 200);
    })
    .openapi(fork, async (c) => {
      const { runner, run } = await served.find(c.req.valid("param").run_id);
      const made = await forked(runner, run, defined(c.req.valid("json")));
      return c.json(runRef(made), 202, { Location: locationOf(c, made.runId) });
    })
    .openapi(state, async (c) => {
      const { runner, run } = await served.find(c.req.valid("param").run_id);
      return c.json(
        runBody(await edited(runner, run, defined(c.req.valid("json"))), visibilityOf(api, c)),
        200,
      );
    });
}
