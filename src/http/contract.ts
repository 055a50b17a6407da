import type { Env, Hono } from "hono";
import type { Activity } from "../engine/activity.ts";
import type { InterruptReason, RunStatus } from "../model/run.ts";
import type * as wire from "./wire.ts";
import type * as requests from "./wire_requests.ts";

/** @internal */
type Nothing = Record<never, never>;

/**
 * Statuses that every route may answer with.
 *
 * @internal
 */
type AnyFault = 400 | 401 | 403 | 500 | 503;
/**
 * Statuses of a body that is not taken.
 *
 * @internal
 */
type BodyFault = 408 | 413 | 415;

/**
 * A call of a route: what it takes, and its answers by status.
 *
 * @internal
 */
type Call<Input, Answers extends Readonly<Record<number, unknown>>, Faults extends number = never> =
  | {
    [S in keyof Answers & number]: { input: Input; output: Answers[S]; outputFormat: "json"; status: S };
  }[keyof Answers & number]
  | { input: Input; output: wire.ErrorBody; outputFormat: "json"; status: AnyFault | Faults };

/** @internal */
type Graph = { param: { graph_id: string } };
/** @internal */
type Run = { param: { run_id: string } };
/** @internal */
type Json<Body> = { json: Body };
/** @internal */
type Query<Fields> = { query?: Fields };
/** @internal */
type Headers<Fields> = { header?: Fields };

/** @internal */
type Events =
  & Run
  & Query<{ from_revision?: string | undefined; emits?: "true" | "false" | undefined }>
  & Headers<{ "last-event-id"?: string | undefined }>;

/** The routes of an app with what they take and answer: what the typed client is made of. */
export type Routes = {
  "/v1/openapi.json": { $get: Call<Nothing, { 200: Record<string, unknown> }> };
  "/v1/capabilities": { $get: Call<Nothing, { 200: wire.Capabilities }> };
  "/v1/graphs": { $get: Call<Nothing, { 200: wire.GraphList }> };
  "/v1/graphs/:graph_id/topology": {
    $get: Call<Graph & Query<{ version?: string | undefined }>, { 200: wire.GraphBody }, 404>;
  };
  "/v1/graphs/:graph_id/runs": {
    $post: Call<
      & Graph
      & Query<{ version?: string | undefined; wait?: string | undefined }>
      & Headers<{ "idempotency-key"?: string | undefined }>
      & Json<requests.StartRequest>,
      { 200: wire.RunBody; 202: wire.RunRef },
      404 | 409 | 422 | BodyFault
    >;
  };
  "/v1/runs": {
    $get: Call<
      Query<{
        graph_id?: string | undefined;
        status?: RunStatus | undefined;
        reason?: InterruptReason | "queued" | undefined;
        activity?: Activity | undefined;
        tag?: string | undefined;
        cursor?: string | undefined;
        limit?: string | undefined;
      }>,
      { 200: wire.RunPage },
      404
    >;
  };
  "/v1/runs/:run_id": {
    $get: Call<
      Run & Query<{ revision?: string | undefined; include_state?: "true" | "false" | undefined }>,
      { 200: wire.RunBody },
      404 | 409
    >;
  };
  "/v1/runs/:run_id/history": {
    $get: Call<
      & Run
      & Query<{
        from_revision?: string | undefined;
        limit?: string | undefined;
        include_state?: "true" | "false" | undefined;
        include_values?: "true" | "false" | undefined;
      }>,
      { 200: wire.HistoryPage },
      404 | 409
    >;
  };
  "/v1/runs/:run_id/events": {
    $get:
      | Call<Events, Nothing, 404 | 409>
      | { input: Events; output: string; outputFormat: string; status: 200 }
      | { input: Events; output: Nothing; outputFormat: string; status: 204 };
  };
  "/v1/runs/:run_id/resume": {
    $post: Call<Run & Json<requests.ResumeRequest>, { 202: wire.RunRef }, 404 | 409 | 422 | BodyFault>;
  };
  "/v1/runs/:run_id/cancel": {
    $post: Call<Run & Json<requests.CancelRequest | null>, { 200: wire.CancelledRun }, 404 | 409 | BodyFault>;
  };
  "/v1/runs/:run_id/fork": {
    $post: Call<Run & Json<requests.ForkRequest>, { 202: wire.RunRef }, 404 | 409 | 422 | BodyFault>;
  };
  "/v1/runs/:run_id/state": {
    $patch: Call<Run & Json<requests.StateRequest>, { 200: wire.RunBody }, 404 | 409 | 422 | BodyFault>;
  };
  "/v1/waits": {
    $get: Call<
      Query<{
        graph_id?: string | undefined;
        run_id?: string | undefined;
        wait_id?: string | undefined;
        name?: string | undefined;
        cursor?: string | undefined;
        limit?: string | undefined;
      }>,
      { 200: wire.WaitPage },
      404
    >;
  };
  "/v1/workers": { $get: Call<Nothing, { 200: wire.WorkerList }> };
  "/v1/runs/:run_id/waits/:wait_id/answer": {
    $post: Call<
      { param: { run_id: string; wait_id: string } } & Json<requests.AnswerRequest>,
      { 202: wire.Accepted },
      404 | 409 | 422 | BodyFault
    >;
  };
};

/** The type of an app, for `hc` of `hono/client`: `hc<AppType>("https://…")`. */
export type AppType = Hono<Env, Routes, "/">;
