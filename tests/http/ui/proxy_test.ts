// Runs on deno by default: pages are text, the same everywhere.
import assert from "node:assert/strict";
import { test } from "node:test";
import { approval, site } from "../support.ts";

test("a proxy that puts its own host in the place of the browser's keeps forms from nobody but other origins (W3)", async () => {
  await using s = await site([approval()], { work: false, insecure: true });
  let sent = 0;
  const send = async (headers: Readonly<Record<string, string>>, path = "/ui/graphs/approval") => {
    const api = path.startsWith("/v1");
    const form = new URLSearchParams({
      "key": `k${sent++}`,
      "version": s.runners[0]!.graph.version,
      "value/question": "why",
    });
    const { status } = await s.app.request(`http://10.0.0.5:8000${path}`, {
      method: "POST",
      headers: {
        "Host": "10.0.0.5:8000",
        "Content-Type": api ? "application/json" : "application/x-www-form-urlencoded",
        ...headers,
      },
      body: api ? '{"input":{"question":"why"}}' : String(form),
    });
    return status;
  };
  const own = { "Origin": "https://app.example", "Sec-Fetch-Site": "same-origin" };
  assert.equal(await send(own), 303);
  assert.equal(await send(own, "/v1/graphs/approval/runs"), 202);
  const foreign: readonly Readonly<Record<string, string>>[] = [
    { "Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site" },
    { "Origin": "https://other.app.example", "Sec-Fetch-Site": "same-site" },
    { "Origin": "https://evil.example" },
    { "Origin": "null", "Sec-Fetch-Site": "same-origin" },
  ];
  for (const headers of foreign) {
    assert.equal(await send(headers), 403, JSON.stringify(headers));
    assert.equal(await send(headers, "/v1/graphs/approval/runs"), 403, JSON.stringify(headers));
  }
});
