// Runs on deno by default: the app is the same everywhere; listening, streams and clients have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import { listen } from "../../src/http/listen.ts";
import { load } from "./load.ts";
import { approval, site } from "./support.ts";

test("while many runs are started, followed, answered and finished over HTTP, no record is lost or told twice (FC-35)", async () => {
  const stop = new AbortController();
  const s = await site([approval()], { signal: stop.signal });
  const server = await listen(s.app, { port: 0, signal: stop.signal });
  const { events, resumed, ...faults } = await load(server.url, { runs: 60, clients: 25 });
  assert.deepEqual(faults, { runs: 60, lost: 0, doubled: 0, unfinished: 0 });
  assert.equal(resumed, 15);
  assert.ok(events >= 60 * 4);
  stop.abort();
  await server.closed;
  await s.close();
});
