import { type Context, Hono } from "hono";
import type { Runtime } from "../../runtime/runtime.ts";
import { isId } from "../../model/ids.ts";
import { fromJson } from "../../model/json.ts";
import type { Env } from "../api.ts";
import { bodyOf, ResponseError } from "../client.ts";
import { HttpFault } from "../faults.ts";
import { ICON, SCRIPT, STYLE } from "./assets.ts";
import { Drawings } from "./drawings.ts";
import { valueOf } from "./form/mod.ts";
import { graphOf } from "./graph.ts";
import { revisionPage } from "./revision_page.ts";
import { runPage } from "./run_page.ts";
import { runsPage } from "./run_list.ts";
import { type Answer, type PageContext, pageContextOf, PAGES } from "./site.ts";
import { graphPage, graphsPage } from "./start_page.ts";
import { workersPage } from "./workers.ts";
import { findWait, inboxPage, waitPage } from "./waits.ts";

/**
 * The pages of the dashboard.
 *
 * 1. They are made on the server, from what the API answers to whoever asks, and work without script.
 * 2. A form is sent as one request, which is answered with the place of the page that shows what came of it; what was
 *    refused comes back with what was sent.
 */
export function dashboard(answer: Answer, runtime: Runtime): Hono<Env> {
  const desk = { runtime, drawings: new Drawings() };
  const visit = (c: Context<Env>) => pageContextOf(c, answer, desk);
  const app = new Hono<Env>();
  app.get("/", (c) => c.redirect(visit(c).link("runs")));
  app.get("/runs", async (c) => c.html(await runsPage(visit(c), c.req.query())));
  app.get("/runs/:run_id", async (c) => {
    const { done, until } = c.req.query();
    return c.html(
      await runPage(visit(c), idOf(c, "run_id"), {
        done: noticeOf(done),
        until: until === undefined ? undefined : revisionOf(until),
      }),
    );
  });
  app.get("/runs/:run_id/revisions/:revision", async (c) => {
    return c.html(await revisionPage(visit(c), idOf(c, "run_id"), revisionOf(c.req.param("revision"))));
  });
  app.get("/runs/:run_id/waits/:wait_id", async (c) => {
    return c.html(await waitPage(visit(c), idOf(c, "run_id"), idOf(c, "wait_id")));
  });
  app.get("/waits", async (c) => {
    return c.html(await inboxPage(visit(c), c.req.query(), noticeOf(c.req.query("done"))));
  });
  app.get("/workers", async (c) => c.html(await workersPage(visit(c))));
  app.get("/graphs", async (c) => c.html(await graphsPage(visit(c))));
  app.get("/graphs/:graph_id", async (c) => {
    return c.html(await graphPage(visit(c), idOf(c, "graph_id"), c.req.query("version")));
  });
  app.post("/graphs/:graph_id", (c) => started(c, visit(c)));
  app.post("/runs/:run_id/waits/:wait_id", (c) => answered(c, visit(c)));
  // Where a form was sent to there is nothing to see, but a browser may come back to it.
  for (const action of ["cancel", "fork", "resume"]) {
    app.get(`/runs/:run_id/${action}`, (c) => c.redirect(`../${encodeURIComponent(idOf(c, "run_id"))}`));
  }
  app.post("/runs/:run_id/cancel", (c) => cancelled(c, visit(c)));
  app.post("/runs/:run_id/resume", (c) => resumed(c, visit(c)));
  app.post("/runs/:run_id/fork", (c) => forked(c, visit(c)));
  for (const [path, type, text] of FILES) {
    app.get(path, (c) => c.body(text, 200, { "Content-Type": type, "Cache-Control": "no-cache" }));
  }
  return app;
}

const FILES = [
  ["/style.css", "text/css; charset=utf-8", STYLE],
  ["/live.js", "text/javascript; charset=utf-8", SCRIPT],
  ["/icon.svg", "image/svg+xml", ICON],
] as const;

export { PAGES };

async function started(c: Context<Env, "/graphs/:graph_id">, visit: PageContext): Promise<Response> {
  const graph_id = idOf(c, "graph_id");
  const form = await formOf(c);
  const { version = "", key = "", tags = "" } = Object.fromEntries(form);
  const { input: schema } = await graphOf(visit, graph_id, version);
  const read = valueOf(schema, form);
  const again = async (problem: string, issues: readonly { path: string; message: string }[]) =>
    c.html(
      await graphPage(visit, graph_id, version, { filled: { entries: form, issues }, tags, problem }),
      422,
    );
  if ("issues" in read) return await again("The run was not started.", read.issues);
  try {
    const { runId } = await bodyOf(visit.api.v1.graphs[":graph_id"].runs.$post({
      param: { graph_id },
      query: { version },
      // What stands in a form may be no text for a header.
      header: { "idempotency-key": encodeURIComponent(key.toWellFormed()) },
      json: { input: read.value, tags: tags.split(/\s+/).filter((tag) => tag !== "") },
    })) as { readonly runId: string };
    return seeRun(c, visit, runId, "started");
  } catch (error) {
    return await again(`The run was not started: ${refusalOf(error).body.message}.`, refusalOf(error).issues);
  }
}

async function answered(
  c: Context<Env, "/runs/:run_id/waits/:wait_id">,
  visit: PageContext,
): Promise<Response> {
  const [run_id, wait_id] = [idOf(c, "run_id"), idOf(c, "wait_id")];
  const form = await formOf(c);
  const wait = await findWait(visit, run_id, wait_id);
  const again = async (
    problem: string,
    issues: readonly { path: string; message: string }[],
    status: 422 | 409,
  ) => c.html(await waitPage(visit, run_id, wait_id, { filled: { entries: form, issues }, problem }), status);
  if (wait === undefined) return await again("", [], 409);
  const read = valueOf(wait.schema, form);
  if ("issues" in read) return await again("The answer was not accepted.", read.issues, 422);
  try {
    await bodyOf(visit.api.v1.runs[":run_id"].waits[":wait_id"].answer.$post({
      param: { run_id, wait_id },
      json: { value: read.value },
    }));
    return form.get("back") === "waits"
      ? c.redirect(visit.link("waits?done=answered"), 303)
      : seeRun(c, visit, run_id, "answered");
  } catch (error) {
    const { status, issues, body: { message } } = refusalOf(error);
    return await again(`The answer was not accepted: ${message}.`, issues, status === 409 ? 409 : 422);
  }
}

async function cancelled(c: Context<Env, "/runs/:run_id/cancel">, visit: PageContext): Promise<Response> {
  const run_id = idOf(c, "run_id");
  const reason = (await formOf(c)).get("reason") ?? "";
  const json = reason === "" ? {} : { reason };
  const { status } = await bodyOf(visit.api.v1.runs[":run_id"].cancel.$post({ param: { run_id }, json }));
  return seeRun(c, visit, run_id, status === "cancelled" ? "cancelled" : "over");
}

async function resumed(c: Context<Env, "/runs/:run_id/resume">, visit: PageContext): Promise<Response> {
  const run_id = idOf(c, "run_id");
  await bodyOf(visit.api.v1.runs[":run_id"].resume.$post({ param: { run_id }, json: {} }));
  return seeRun(c, visit, run_id, "resumed");
}

async function forked(c: Context<Env, "/runs/:run_id/fork">, visit: PageContext): Promise<Response> {
  const run_id = idOf(c, "run_id");
  const form = await formOf(c);
  const revision = revisionOf(form.get("revision") ?? "");
  const text = form.get("state") ?? "";
  const again = async (problem: string) =>
    c.html(await revisionPage(visit, run_id, revision, { state: text, problem }), 422);
  let state: unknown;
  if (text.trim() !== "") {
    try {
      state = JSON.parse(text);
      fromJson(state, "the state");
    } catch (error) {
      return await again(`The state cannot be read: ${(error as Error).message}`);
    }
  }
  try {
    // The id is that of the form: one that is sent twice makes one run.
    const key = form.get("key") ?? "";
    const json = {
      revision,
      ...(isId(key) ? { runId: key } : {}),
      ...(state === undefined ? {} : { state }),
    };
    const { runId } = await bodyOf(visit.api.v1.runs[":run_id"].fork.$post({ param: { run_id }, json }));
    return seeRun(c, visit, runId, "forked");
  } catch (error) {
    if (error instanceof ResponseError && error.code === "RUN_EXISTS") {
      return await again(
        "This form has made a fork before, with another state: send it again for another fork.",
      );
    }
    const { body: { message }, issues } = refusalOf(error);
    const details = issues.map((i) => i.path === "" ? i.message : `${i.path}: ${i.message}`).join("; ");
    return await again(`There is no fork: ${message}${details === "" ? "" : ` (${details})`}.`);
  }
}

/** An error that is about what was sent, and not about the page that it was sent from. */
function refusalOf(error: unknown): ResponseError {
  if (error instanceof ResponseError && [400, 409, 413, 422].includes(error.status)) return error;
  throw error;
}

function seeRun(c: Context<Env>, { link }: PageContext, runId: string, done: keyof typeof NOTICES): Response {
  return c.redirect(link(`runs/${encodeURIComponent(runId)}?done=${done}`), 303);
}

const NOTICES = {
  answered: "The answer is accepted.",
  cancelled: "The run is cancelled.",
  forked: "This is the new run.",
  over: "The run was over before it could be cancelled.",
  resumed: "The run goes on.",
  started: "The run is stored; whoever serves it works on it.",
} as const;

function noticeOf(done: string | undefined): string | undefined {
  return done !== undefined && Object.hasOwn(NOTICES, done)
    ? NOTICES[done as keyof typeof NOTICES]
    : undefined;
}

async function formOf(c: Context<Env>): Promise<URLSearchParams> {
  return new URLSearchParams(await c.req.text());
}

/** An id in the path. One that cannot be is asked for nowhere. */
function idOf(c: Context<Env>, name: string): string {
  const id = c.req.param(name);
  if (isId(id)) return id;
  throw new HttpFault("NOT_FOUND");
}

function revisionOf(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new HttpFault("NOT_FOUND");
}
