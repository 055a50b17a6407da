// Runs on deno by default: pages are text, the same everywhere.
import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { defineWait } from "../../../mod.ts";
import { GraphBuilder } from "../../../src/graph/mod.ts";
import type { TaskContext } from "../../../src/model/context.ts";
import type { CompiledGraph } from "../../../src/model/definition.ts";
import { inStatus, type Site, site, until } from "../support.ts";
import { Visitor } from "./support.ts";

const SECRET = "hunter2";

const Code = defineWait("code", z.object({ code: z.string() }));

/** The secret is in its state, in what is done once, in answers, outputs and continuations, and in what is thrown. */
function leaky(): CompiledGraph<unknown> {
  const builder = new GraphBuilder<Record<string, unknown>>({
    id: "leaky",
    schema: z.object({ secret: z.string() }).loose(),
  });
  const reduce = (state: Record<string, unknown>, out: unknown) => void (state["out"] = out);
  builder.addVertex<unknown, unknown>({
    id: "ask",
    waits: [Code],
    task: {
      execute: async (_: unknown, ctx: TaskContext) => {
        await ctx.once("fetched", () => ({ token: SECRET }));
        const { code } = await ctx.waitFor(Code, { info: { of: "the door" } });
        return code;
      },
    },
    select: () => null,
    reduce,
  });
  builder.addVertex<unknown, unknown>({
    id: "stop",
    task: {
      execute: (_: unknown, ctx: TaskContext) =>
        ctx.answer() ?? ctx.interrupt("go on?", { continuation: { seen: SECRET } }),
    },
    select: () => null,
    reduce,
  });
  builder.addVertex<unknown, unknown>({
    id: "fail",
    retry: { maxAttempts: 2, backoff: { initial: "1ms" } },
    task: {
      execute: () => {
        throw Object.assign(new TypeError(`no ${SECRET}`), { data: { of: SECRET } });
      },
    },
    select: () => null,
    reduce,
  });
  builder.addConditionalEdge("fail", {
    targets: ["ask"],
    pick: () => {
      throw new Error(`not with ${SECRET}`);
    },
  });
  builder.addEdge("ask", "stop").addEdge("stop", "fail");
  return builder.build({ entry: "ask", finish: "fail" }) as unknown as CompiledGraph<unknown>;
}

/** A run through all of that: it has waited, was answered twice, and has failed. */
async function failed(s: Site, runId: string): Promise<void> {
  await s.post("/v1/graphs/leaky/runs", { runId, input: { secret: SECRET } });
  for (const value of [{ code: SECRET }, { yes: SECRET }]) {
    const { body } = await inStatus(s, runId, "interrupted");
    const [{ waitId }] = body["waits"] as [{ waitId: string }];
    assert.equal((await s.post(`/v1/runs/${runId}/waits/${waitId}/answer`, { value })).status, 202);
    await until(async () => {
      const { waits } = (await s.get<{ waits?: { waitId: string }[] }>(`/v1/runs/${runId}`)).body;
      return waits?.every((wait) => wait.waitId !== waitId);
    });
  }
  await until(async () => (await s.get(`/v1/runs/${runId}`)).body["reason"] === "errored");
}

test("where neither states nor causes are shown, nothing of them is on any page or in any answer (W2, W3)", async () => {
  let sight = { state: true, causes: true };
  await using s = await site([leaky()], { auth: () => ({ id: "me", ...sight }) });
  await failed(s, "r");
  const { revision } = (await s.get<{ run: { revision: number } }>("/v1/runs/r")).body.run;
  const { rows: [...rows] } = await s.runners[0]!.waits();
  assert.deepEqual(rows, []);
  const revisions = Array.from({ length: revision + 1 }, (_, i) => i);
  const pages = [
    "/ui/runs",
    "/ui/runs/r",
    "/ui/waits",
    "/ui/graphs/leaky",
    ...revisions.map((i) => `/ui/runs/r/revisions/${i}`),
  ];
  const answers = [
    "/v1/runs",
    "/v1/runs/r",
    "/v1/runs/r/history",
    "/v1/runs/r/history?include_state=true",
    "/v1/runs/r/history?include_values=true",
    ...revisions.map((i) => `/v1/runs/r?revision=${i}`),
  ];
  const visitor = new Visitor(s.app);
  const told = async () => {
    const found: string[] = [];
    for (const path of [...pages, ...answers]) {
      const { status, text } = await visitor.open(path);
      assert.equal(status, 200, path);
      if (text.includes(SECRET)) found.push(path);
    }
    const events = (await s.app.request("/v1/runs/r/events")).body!.pipeThrough(new TextDecoderStream())
      .getReader();
    for (let text = ""; !text.includes(`id: ${revision}\n`);) {
      text += (await events.read()).value;
      if (text.includes(SECRET)) found.push("/v1/runs/r/events");
    }
    await events.cancel();
    const refused = [
      await visitor.post("/ui/runs/r/fork", [["revision", "1"], ["state", '{"secret":1}']]),
      await visitor.open("/v1/runs/r/state", {
        method: "PATCH",
        headers: { "Content-Type": "application/json" },
        body: '{"set":{"secret":1}}',
      }),
    ];
    for (const { status, text, url } of refused) {
      assert.equal(status, 422);
      if (text.includes(SECRET)) found.push(url.pathname);
    }
    return found;
  };
  assert.ok((await told()).length > 2 * revisions.length, "the secret is where one may see it");
  sight = { state: false, causes: false };
  assert.deepEqual(await told(), []);
});
