import { createRoute, OpenAPIHono, z } from "@hono/zod-openapi";
import { type Api, type Env, fails, json, visibilityOf } from "../api.ts";
import { HttpFault } from "../faults.ts";
import { EventsQuery, HistoryQuery, LastEventId, limitOf } from "../requests.ts";
import { HistoryPage, RunId } from "../schemas.ts";
import { eventStream } from "../stream.ts";
import { toJson } from "../../model/json.ts";
import { defined } from "../../model/defined.ts";
import { isOver } from "../../model/run.ts";
import type { StreamEvent } from "../../engine/stream.ts";
import { checkpointOf, streamMessageOf } from "../views.ts";
import type * as wire from "../wire.ts";

const params = z.object({ run_id: RunId });

const history = createRoute({
  method: "get",
  path: "/v1/runs/{run_id}/history",
  operationId: "getHistory",
  summary: "What happened to a run, by revision",
  description: "A page is shorter than it may be when what is in it is large.",
  request: { params, query: HistoryQuery },
  responses: { 200: json(HistoryPage, "A page of revisions"), ...fails(404, 409) },
});

const events = createRoute({
  method: "get",
  path: "/v1/runs/{run_id}/events",
  operationId: "streamEvents",
  summary: "What happens to a run, as it happens",
  description:
    "Server-sent events: `checkpoint`, whose ids are revisions and whose data are those of the history, and between " +
    "them `emit` for what bodies emit, `replaced` where a body runs again, and `gap` for emits that are kept no more. " +
    "The stream ends with the record that ends the run; a reader that comes back after that gets 204.",
  request: { params, query: EventsQuery, headers: LastEventId },
  responses: {
    200: { description: "A stream of events", content: { "text/event-stream": { schema: z.string() } } },
    204: { description: "The run is over and the reader has seen its end" },
    ...fails(404, 409),
  },
});

/** Behind everything that is emitted after a revision. */
const AFTER_ALL = 999_999_999_999_999;
/** With states a page is short: each of them is put together from records before it. */
const STATES_PER_PAGE = 50;
/** A page ends with the records that come to more than this. */
const PAGE_BYTES = 4 * 1024 * 1024;

/** Routes that tell what happened to a run. */
export function historyRoutes(api: Api) {
  const { served, streams, runtime, logger } = api;
  let open = 0;
  return new OpenAPIHono<Env>()
    .openapi(history, async (c) => {
      const { run_id } = c.req.valid("param");
      const { from_revision = "0", limit, include_state, include_values } = c.req.valid("query");
      const allowed = visibilityOf(api, c);
      const withStates = allowed.state && include_state === "true";
      const sight = { ...allowed, state: withStates || allowed.state && include_values === "true" };
      const { runner, run } = await served.find(run_id);
      const from = Number(from_revision);
      const most = withStates ? Math.min(limitOf(limit), STATES_PER_PAGE) : limitOf(limit);
      // From the beginning means from the first revision that is kept.
      const page = { limit: most, ...(from === 0 ? {} : { from }) };
      const { rows, cursor } = from > run.revision ? { rows: [] } : await runner.history(run_id, page);
      const checkpoints: wire.Checkpoint[] = [];
      for (let i = 0, bytes = 0; i < rows.length && bytes < PAGE_BYTES; i++) {
        const { revision } = rows[i]!;
        const state = withStates ? { state: toJson((await runner.get(run_id, { revision })).state) } : {};
        const checkpoint = { ...checkpointOf(rows[i]!, sight), ...state };
        bytes += JSON.stringify(checkpoint).length;
        checkpoints.push(checkpoint);
      }
      // Nobody goes on from a revision that is not there yet.
      const next_revision = (checkpoints.at(-1)?.revision ?? Math.min(from - 1, run.revision)) + 1;
      const done = cursor === undefined && checkpoints.length === rows.length;
      return c.json({ checkpoints, next_revision, done }, 200);
    })
    .openapi(events, async (c) => {
      const { run_id } = c.req.valid("param");
      const { runner, run } = await served.find(run_id);
      const last = c.req.valid("header")["last-event-id"];
      const from = last === undefined
        ? Number(c.req.valid("query").from_revision ?? "0")
        : Number.parseInt(last, 10) + 1;
      if (from > run.revision + 1) {
        throw new HttpFault("BAD_REQUEST", {
          issues: [{
            path: last === undefined ? "from_revision" : "last-event-id",
            message: "the run is not there yet",
          }],
        });
      }
      const over = isOver(run.status);
      if (over && from > run.revision) return c.body(null, 204);
      const headers = {
        "Content-Type": "text/event-stream",
        "Cache-Control": "no-store, no-transform",
        "X-Accel-Buffering": "no",
      };
      if (c.req.method === "HEAD") return c.body(null, 200, headers);
      if (open >= streams.limit) throw new HttpFault("TOO_MANY_STREAMS", { headers: { "Retry-After": "5" } });
      open++;
      const sight = visibilityOf(api, c);
      const hidden = { ...sight, state: false };
      const after = last ?? (from === 0 ? undefined : `${from - 1}.${AFTER_ALL}`);
      const emits = c.req.valid("query").emits !== "false" && runner.store.emits !== undefined;
      const source = {
        events: (signal: AbortSignal) =>
          runner.events(run_id, { poll: streams.poll, signal, emits, ...defined({ after }) }),
        show: (event: StreamEvent) => streamMessageOf(event, event.type === "checkpoint" ? hidden : sight),
        signal: api.closing,
        closed: () => void open--,
        failed: (error: unknown) =>
          logger.warn(`superstep: the event stream of run ${run_id} failed`, { error }),
      };
      return c.body(eventStream(source, streams, runtime), 200, headers);
    });
}
