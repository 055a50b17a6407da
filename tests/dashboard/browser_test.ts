// Runs on deno by default: the pages and the browser are the same everywhere.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Hono } from "hono";
import { listen } from "../../src/http/listen.ts";
import { browserOfFile, chromiumPath, type Tab } from "../support/browser.ts";
import { accessibility } from "../support/browser_axe.ts";

const browser = browserOfFile();

const POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'";
const GOOD = `<main><h1>Runs</h1><form><label>Name <input name="name"></label></form></main>`;
const BAD = `<main><h1>Runs</h1><form><input name="name"></form><p class="pale">hardly seen</p></main>`;

/** Pages of one body each, under a strict policy. */
function pages(bodies: Readonly<Record<string, string>>) {
  const app = new Hono();
  app.use(async (c, next) => {
    await next();
    c.header("Content-Security-Policy", POLICY);
  });
  app.get(
    "/script.js",
    (c) => c.body("document.title = 'scripted'", 200, { "Content-Type": "text/javascript" }),
  );
  app.get("/broken.js", (c) => c.body("nothing.at.all", 200, { "Content-Type": "text/javascript" }));
  app.get(
    "/style.css",
    (c) =>
      c.body(
        "body { color: #222; background: #fff } .pale { color: #ddd } .dim { color: #555 }" +
          "@media (prefers-color-scheme: dark) { body { color: #eee; background: #111 } }",
        200,
        { "Content-Type": "text/css" },
      ),
  );
  app.get("/favicon.ico", (c) => c.body(null, 204));
  for (const [path, body] of Object.entries(bodies)) {
    app.get(path, (c) =>
      c.html(
        `<!doctype html><html lang="en"><head><title>Page</title><link rel="stylesheet" href="/style.css"></head>` +
          `<body>${body}</body></html>`,
      ));
  }
  return listen(app, { port: 0 });
}

/** Asks again until a page has told of so many problems. */
async function problemsOf(tab: Tab, count: number): Promise<readonly string[]> {
  const seen: string[] = [];
  while (seen.length < count) seen.push(...await tab.problems());
  return seen;
}

test("the browser finds nothing wrong with a page that is in order, under a strict policy (W3)", async () => {
  await using server = await pages({ "/": `${GOOD}<script src="/script.js"></script>` });
  await using tab = await browser.newPage();
  await tab.page.goto(server.url);
  assert.equal(await tab.page.title(), "scripted");
  assert.deepEqual(await accessibility(tab.page), []);
  assert.deepEqual(await tab.problems(), []);
  assert.equal(tab.loads(), 1);
});

test("a field without a label and pale text are found, in the look that has them (W3)", async () => {
  await using server = await pages({ "/": BAD, "/dim": `<main><h1>Runs</h1><p class="dim">dim</p></main>` });
  await using tab = await browser.newPage();
  await tab.page.goto(server.url);
  const found = await accessibility(tab.page);
  assert.deepEqual(found.map((text) => text.split(":").slice(0, 2).join(":").replace(/ at .*/, "")), [
    "serious, light: color-contrast",
    "critical, light: label",
  ]);
  assert.match(found.join("\n"), /label at input: <input name="name">/);
  await tab.page.goto(`${server.url}/dim`);
  const dim = await accessibility(tab.page);
  assert.deepEqual(dim.map((text) => text.replace(/ at .*/s, "")), ["serious, dark: color-contrast"]);
});

test("an inline script and an inline style that the policy refuses are noticed (W3)", async () => {
  await using server = await pages({
    "/": `${GOOD}<script>document.title = "in"</script><p style="color: red">x</p>`,
  });
  await using tab = await browser.newPage();
  await tab.page.goto(server.url);
  const seen = (await problemsOf(tab, 4)).join("\n");
  assert.match(seen, /policy: script-src-elem refuses inline/);
  assert.match(seen, /policy: style-src-attr refuses inline/);
  assert.match(seen, /console: .*Content Security Policy/);
  assert.equal(await tab.page.title(), "Page");
});

test("uncaught errors, missing files and servers that are gone are noticed (W3)", async () => {
  await using server = await pages({
    "/": `${GOOD}<script src="/broken.js"></script><script src="/missing.js"></script>`,
  });
  await using tab = await browser.newPage();
  await tab.page.goto(server.url);
  assert.deepEqual([...await problemsOf(tab, 2)].sort(), [
    "404: GET /missing.js",
    "uncaught: nothing is not defined",
  ]);
  await server.close();
  await assert.rejects(tab.page.goto(server.url), /ERR_CONNECTION_REFUSED/);
  // The console may say so first.
  let seen: readonly string[] = [];
  while (!seen.some((problem) => problem.startsWith("net::"))) seen = await problemsOf(tab, 1);
  assert.match(seen.find((problem) => problem.startsWith("net::"))!, /ERR_CONNECTION_REFUSED: GET http/);
});

test("with scripts switched off none runs, and what the policy refuses is noticed all the same (W3)", async () => {
  await using server = await pages({
    "/": `${GOOD}<script src="/script.js"></script><img alt="" src="http://127.0.0.1:9/x.png">`,
  });
  await using tab = await browser.newPage({ script: false });
  await tab.page.goto(server.url);
  assert.equal(await tab.page.title(), "Page");
  assert.match((await problemsOf(tab, 1)).join("\n"), /Content Security Policy/);
});

test("without Chromium the tests fail, saying what to install (W3)", () => {
  assert.throws(
    () => chromiumPath({ PATH: "/nowhere" }),
    /need Chromium, and none of chromium, .* is on PATH: install it \(.*apt-get install chromium\)/,
  );
  assert.throws(
    () => chromiumPath({ PATH: "/nowhere", SUPERSTEP_CHROMIUM: "/nowhere/chromium" }),
    /nothing at \/nowhere\/chromium, which SUPERSTEP_CHROMIUM names/,
  );
});
