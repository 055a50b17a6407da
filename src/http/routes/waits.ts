import { createRoute, OpenAPIHono, z } from "@hono/zod-openapi";
import { fromJson } from "../../model/json.ts";
import { defined } from "../../model/defined.ts";
import { type Api, type Env, fails, json, takes } from "../api.ts";
import { AnswerRequest, limitOf, WaitQuery } from "../requests.ts";
import { Accepted, RunId, WaitId, WaitPage } from "../schemas.ts";
import { waitPage } from "../views.ts";

const list = createRoute({
  method: "get",
  path: "/v1/waits",
  operationId: "listWaits",
  summary: "The inbox: open waits, oldest opened first",
  description: "A page is shorter than it may be when what its waits tell is large.",
  request: { query: WaitQuery },
  responses: { 200: json(WaitPage, "A page of waits"), ...fails(404) },
});

const answer = createRoute({
  method: "post",
  path: "/v1/runs/{run_id}/waits/{wait_id}/answer",
  operationId: "answerWait",
  summary: "Answers an open wait; the first answer counts",
  request: { params: z.object({ run_id: RunId, wait_id: WaitId }), body: takes(AnswerRequest) },
  responses: {
    202: json(Accepted, "The answer is accepted for good, and the run goes on"),
    ...fails(404, 408, 409, 413, 415, 422),
  },
});

/** Routes about waits. */
export function waitRoutes({ served, runtime }: Api) {
  return new OpenAPIHono<Env>()
    .openapi(list, async (c) => {
      const { graph_id: graphId, run_id: runId, wait_id: waitId, limit, ...query } = c.req.valid("query");
      const wanted = defined({ ...query, graphId, runId });
      const page = runId !== undefined && waitId !== undefined
        ? await served.wait(runId, waitId, wanted, runtime.now())
        : await served.waits({ ...wanted, limit: limitOf(limit) }, runtime.now());
      return c.json(waitPage(page), 200);
    })
    .openapi(answer, async (c) => {
      const { run_id: runId, wait_id: waitId } = c.req.valid("param");
      const { runner } = await served.find(runId);
      await runner.answer(runId, waitId, fromJson(c.req.valid("json").value, "the answer"));
      return c.json({ runId, waitId }, 202);
    });
}
