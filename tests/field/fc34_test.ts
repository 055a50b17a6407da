// Runs on deno by default: its processes show the same on all runtimes, and tests of a few start them on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Hono } from "hono";
import { createApp } from "../../src/http/app.ts";
import type { ApiCall, Authenticate } from "../../src/http/auth.ts";
import { listen } from "../../src/http/listen.ts";
import type { AppOptions } from "../../src/http/options.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { aroundStore } from "../../src/testing/around_store.ts";
import { VirtualClock } from "../../src/testing/virtual_clock.ts";
import { approval, site } from "../http/support.ts";
import { head, raw } from "../http/wire.ts";

/** Every route that the app describes, with an id in the place of each parameter. */
async function everyRoute(): Promise<readonly (readonly [method: string, path: string])[]> {
  await using s = await site([approval()], { work: false });
  const { body } = await s.get<{ paths: Record<string, Record<string, unknown>> }>("/v1/openapi.json");
  const routes = Object.entries(body.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => [method.toUpperCase(), path.replaceAll(/\{\w+\}/g, "r")] as const)
  );
  assert.equal(routes.length, 16);
  return routes;
}

/** An app on a store that counts whatever is asked of it, with a run `r`. */
async function guarded(options: Omit<AppOptions, "runners" | "store">) {
  const inner = memoryStore();
  const s = await site([approval()], { store: inner, work: false });
  const asked = { count: 0 };
  const store = aroundStore(inner, async ({ apply }) => {
    asked.count++;
    return await apply();
  });
  await s.post("/v1/graphs/approval/runs", { runId: "r", input: { question: "?" } });
  const app = createApp({
    workflows: [],
    store,
    runners: (await site([approval()], { store, work: false })).runners,
    logger: { info: () => {}, warn: () => {} },
    ...options,
  });
  asked.count = 0;
  return { app, asked };
}

const DENYING: Readonly<Record<string, Authenticate>> = {
  "throws": () => {
    throw new Error("down");
  },
  "rejects": () => Promise.reject(new Error("down")),
  "returns undefined": () => undefined,
  "returns null": () => Promise.resolve(null),
  "returns true": (() => true) as unknown as Authenticate,
  "returns a text": (() => "joe") as unknown as Authenticate,
  "returns an object without id": (() => ({ user: "joe" })) as unknown as Authenticate,
  "returns what throws when it is looked at": (() =>
    new Proxy({}, {
      get: (_, key) => {
        if (key === "then") return undefined;
        throw new Error("down");
      },
    })) as unknown as Authenticate,
};

for (const [name, auth] of Object.entries(DENYING)) {
  test(`an authenticator that ${name} denies every route, before anything of the store is read (FC-34)`, async () => {
    const { app, asked } = await guarded({ auth });
    for (const mounted of [app, new Hono().route("/sub/path", app)]) {
      const base = mounted === app ? "" : "/sub/path";
      for (const [method, path] of await everyRoute()) {
        for (const verb of [method, "HEAD", "OPTIONS", "QUERY"]) {
          const { status } = await mounted.request(base + path, { method: verb });
          assert.equal(status, 401, `${verb} ${base}${path}`);
        }
      }
    }
    assert.equal(asked.count, 0);
  });
}

test("an authenticator that hangs denies when its time is over, and what it says later counts no more (FC-34)", async () => {
  const clock = new VirtualClock();
  const calls: ApiCall[] = [];
  let answer!: (caller: { id: string }) => void;
  const auth: Authenticate = (call) => {
    calls.push(call);
    return new Promise((resolve) => answer = resolve);
  };
  const { app, asked } = await guarded({ auth, authTimeout: "2s", runtime: clock });
  const answered = Promise.resolve(app.request("/v1/runs/r"));
  await clock.advance("1999ms");
  assert.equal(calls[0]!.signal.aborted, false);
  await clock.advance("1ms");
  assert.equal((await answered).status, 401);
  assert.equal(calls[0]!.signal.aborted, true);
  answer({ id: "joe" });
  await clock.settle();
  assert.deepEqual([asked.count, clock.pending], [0, 0]);
});

test("an authenticator that has answered leaves no timer behind, whatever it said (FC-34)", async () => {
  for (const [answer, status] of [[{ id: "joe" }, 200], ["forbidden", 403], [undefined, 401]] as const) {
    const clock = new VirtualClock();
    const { app } = await guarded({ auth: () => answer, runtime: clock });
    assert.equal((await app.request("/v1/graphs")).status, status);
    assert.equal(clock.pending, 0);
  }
});

test("another tenant is forbidden on every route, before anything of the store is read (FC-34)", async () => {
  const { app, asked } = await guarded({ auth: () => "forbidden" });
  for (const [method, path] of await everyRoute()) {
    assert.equal((await app.request(path, { method })).status, 403, `${method} ${path}`);
  }
  assert.equal(asked.count, 0);
});

test("whether a run exists, and whether a request is well formed, makes no difference to who is not let in (FC-34)", async () => {
  const { app } = await guarded({ auth: () => undefined });
  const answers = await Promise.all(
    ["/v1/runs/r", "/v1/runs/nobody", "/v1/runs/-", "/v1/runs/r?revision=x", "/v1/nothing"].map(
      async (path) => {
        const response = await app.request(path);
        return [response.status, JSON.stringify([...response.headers]), await response.text()];
      },
    ),
  );
  for (const answer of answers) assert.deepEqual(answer, answers[0]);
  const bodies = await Promise.all(
    ["{", "{}", "x".repeat(2 * 1024 * 1024)].map(async (body) => {
      const response = await app.request("/v1/runs/r/cancel", {
        method: "POST",
        body,
        headers: { "Content-Type": "application/json" },
      });
      return [response.status, await response.text()];
    }),
  );
  for (const answer of bodies) assert.deepEqual(answer, bodies[0]);
});

test("over a socket, no spelling of a path passes by (FC-34)", async () => {
  const { app, asked } = await guarded({ auth: () => undefined });
  for (const [served, base] of [[app, ""], [new Hono().route("/sub", app), "/sub"]] as const) {
    await using server = await listen(served, { port: 0 });
    for (
      const path of [
        "/v1/runs/r",
        "/v1/runs/r/",
        "//v1/runs/r",
        "/v1//runs/r",
        "/V1/RUNS/r",
        "/v1/runs/r%2Fhistory",
        "/v1/graphs/%2e%2e/runs/r",
        "/v1/graphs/../runs/r",
        "/v1/./runs/r",
        "/v1/runs/r;x=1",
        "/v1/runs/r?x=1",
        "/v1/runs/%00",
        "/v1/runs/%ff",
        "/%76%31/runs/r",
      ]
    ) {
      for (const method of ["GET", "HEAD", "POST", "OPTIONS", "PATCH"]) {
        const { status } = await raw(
          server.port,
          head(method, base + path, { "X-HTTP-Method-Override": "GET", "Content-Length": 0 }),
        );
        assert.equal(status, 401, `${method} ${base}${path}`);
      }
    }
  }
  assert.equal(asked.count, 0);
});

test("the authenticator is told what is asked for, as the path says, and gets the caller in (FC-34)", async () => {
  const calls: Omit<ApiCall, "request" | "signal">[] = [];
  const auth: Authenticate = ({ request: _, signal: __, ...call }) => {
    calls.push(call);
    return { id: "joe" };
  };
  const { app } = await guarded({ auth });
  const mounted = new Hono().route("/sub/:tenant", app);
  for (
    const [method, path] of [
      ["GET", "/v1/runs/r"],
      ["HEAD", "/v1/runs/r/history"],
      ["POST", "/v1/graphs/approval/runs"],
      ["POST", "/v1/runs/r%2Fx/cancel"],
      ["PUT", "/v1/runs/r"],
      ["GET", "/v1/runs/v1/runs"],
    ] as const
  ) {
    await app.request(path, { method });
    await mounted.request(`/sub/t1${path}`, { method });
  }
  const expected = [
    { operation: "getRun", reads: true, runId: "r" },
    { operation: "getHistory", reads: true, runId: "r" },
    { operation: "startRun", reads: false, graphId: "approval" },
    { operation: "cancelRun", reads: false },
    { reads: false },
    { reads: true },
  ];
  assert.deepEqual(calls, expected.flatMap((call) => [call, call]));
});

test("without an authenticator only this machine is served, under a name of this machine (FC-34)", async () => {
  const { app } = await guarded({});
  const { app: open } = await guarded({ insecure: true });
  const peers: readonly [unknown, boolean][] = [
    [undefined, true],
    [{ remoteAddr: { hostname: "127.0.0.1" } }, true],
    [{ remoteAddr: { hostname: "::1" } }, true],
    [{ remoteAddr: { hostname: "192.168.0.7" } }, false],
    [{ requestIP: () => ({ address: "::ffff:127.0.0.1" }) }, true],
    [{ requestIP: () => ({ address: "::ffff:10.0.0.1" }) }, false],
    [{ incoming: { socket: { remoteAddress: "127.0.0.1" } } }, true],
    [{ incoming: { socket: { remoteAddress: "2001:db8::1" } } }, false],
  ];
  for (const [env, allowed] of peers) {
    assert.equal(
      (await app.fetch(new Request("http://localhost/v1/graphs"), env as never)).status,
      allowed ? 200 : 403,
    );
    assert.equal((await open.fetch(new Request("http://localhost/v1/graphs"), env as never)).status, 200);
  }
  for (
    const [host, allowed] of [["127.0.0.1:8000", true], ["[::1]:8000", true], ["app.localhost", true], [
      "evil.example",
      false,
    ], ["127.0.0.1.evil.example", false]] as const
  ) {
    assert.equal(
      (await app.fetch(new Request(`http://${host}/v1/graphs`))).status,
      allowed ? 200 : 403,
      host,
    );
  }
});

test("a page of another origin changes nothing, unless its origin is allowed; reading is for the browser to refuse (FC-34)", async () => {
  const { app } = await guarded({});
  const { app: shared } = await guarded({ origins: ["https://admin.example"] });
  const cancel = (to: typeof app, headers: Record<string, string>) =>
    to.request("http://localhost/v1/runs/r/cancel", {
      method: "POST",
      headers: { Host: "localhost", ...headers },
    });
  assert.equal((await cancel(app, { Origin: "https://evil.example" })).status, 403);
  assert.equal((await cancel(app, { Origin: "null" })).status, 403);
  assert.equal((await cancel(app, { "Sec-Fetch-Site": "cross-site" })).status, 403);
  assert.equal((await cancel(shared, { Origin: "https://evil.example" })).status, 403);
  assert.equal((await cancel(shared, { Origin: "https://admin.example" })).status, 200);
  assert.equal((await cancel(app, { Origin: "http://localhost" })).status, 200);
  const preflight = {
    method: "OPTIONS",
    headers: { Origin: "https://admin.example", "Access-Control-Request-Method": "POST" },
  };
  assert.equal((await app.request("/v1/runs", preflight)).headers.get("Access-Control-Allow-Origin"), null);
  const allowed = await shared.request("/v1/runs", preflight);
  assert.equal(allowed.headers.get("Access-Control-Allow-Origin"), "https://admin.example");
  for (const method of ["GET", "HEAD"]) {
    const read = await app.request("/v1/runs", { method, headers: { Origin: "https://evil.example" } });
    assert.deepEqual([read.status, read.headers.get("Access-Control-Allow-Origin")], [200, null]);
  }
});

test("every answer says how it may be used: no page, no frame, no guessing of types, no storing (W2)", async () => {
  const { app } = await guarded({});
  for (const path of ["/v1/graphs", "/v1/nothing", "/v1/runs/nobody"]) {
    const { headers } = await app.request(path);
    assert.equal(headers.get("X-Content-Type-Options"), "nosniff");
    assert.equal(headers.get("X-Frame-Options"), "DENY");
    assert.equal(headers.get("Content-Security-Policy"), "default-src 'none'; frame-ancestors 'none'");
    assert.equal(headers.get("Referrer-Policy"), "no-referrer");
    assert.equal(headers.get("Cache-Control"), "no-store");
    assert.equal(headers.get("Strict-Transport-Security"), null);
  }
});
