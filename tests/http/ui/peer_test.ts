// Runs on deno by default: pages are text, the same everywhere.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Hono } from "hono";
import { listen } from "../../../src/http/listen.ts";
import { approval, site } from "../support.ts";

/** The statuses of a page, of the API, and of a form that is sent. */
async function asked(url: string, version: string): Promise<readonly number[]> {
  const sent = await fetch(`${url}/ui/graphs/approval`, {
    method: "POST",
    redirect: "manual",
    headers: { "Content-Type": "application/x-www-form-urlencoded", "Origin": new URL(url).origin },
    body: new URLSearchParams({ "key": "k", version, "value/question": "why" }),
  });
  const [page, api] = await Promise.all(["/ui/runs", "/v1/runs"].map((path) => fetch(url + path)));
  for (const answer of [sent, page!, api!]) await answer.body?.cancel();
  return [page!.status, api!.status, sent.status];
}

test("without auth pages and forms work for this machine, on every server (OBS-32, W3)", async () => {
  await using s = await site([approval()], { work: false });
  const { version } = s.runners[0]!.graph;
  for (const [app, path] of [[s.app, ""], [new Hono().route("/sub", s.app), "/sub"]] as const) {
    await using server = await listen(app, { port: 0, grace: 0 });
    assert.deepEqual(await asked(server.url + path, version), [200, 200, 303]);
  }
});

test("where the server knows where its requests come from, one that it does not know comes from elsewhere (OBS-32)", async () => {
  await using s = await site([approval()], { work: false });
  const peers: readonly (readonly [status: number, env: object])[] = [
    [200, { requestIP: () => ({ address: "127.0.0.1" }) }],
    [403, { requestIP: () => ({ address: "10.0.0.9" }) }],
    [403, { requestIP: () => null }],
    [200, { remoteAddr: { hostname: "::1" } }],
    [403, { remoteAddr: { hostname: "10.0.0.9" } }],
    [200, { incoming: { socket: { remoteAddress: "::ffff:127.0.0.1" } } }],
    [403, { incoming: { socket: { remoteAddress: "10.0.0.9" } } }],
  ];
  for (const [status, env] of peers) {
    for (const path of ["/ui/runs", "/v1/runs"]) {
      const answer = await s.app.fetch(new Request(`http://localhost${path}`), env);
      assert.equal(answer.status, status, `${path} ${JSON.stringify(env)}`);
    }
  }
});
