// Runs on deno by default: the pages and the browser are the same everywhere.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Hono } from "hono";
import { listen } from "../../src/http/listen.ts";
import { inStatus } from "../http/support.ts";
import { browserOfFile } from "../support/browser.ts";
import { accessibility } from "../support/browser_axe.ts";
import { desk, HOSTILE, statusOf, yesTo } from "./desk.ts";

const browser = browserOfFile();

test("markup, quotes, right-to-left text and emoji of users are text on every page (W3)", async () => {
  await using at = await desk();
  await using tab = await browser.newPage();
  const { page } = tab;
  at.gates.price.open();
  at.gates.legal.open();
  const runId = await at.start("review", { question: HOSTILE });
  await inStatus(at.site, runId, "interrupted");
  const { body } = await at.site.get("/v1/waits");
  const [{ waitId }] = body["waits"] as [{ waitId: string }];
  const filters = `?${new URLSearchParams({ tag: HOSTILE, status: "completed" })}`;
  for (
    const path of [
      `/runs/${runId}`,
      `/runs/${runId}/waits/${waitId}`,
      `/runs/${runId}/revisions/3`,
      "/waits",
      "/graphs/review",
      `/runs${filters}`,
    ]
  ) {
    await page.goto(at.url + path);
    assert.equal(await page.evaluate("globalThis.owned"), undefined, path);
    assert.equal(await page.locator("main :is(script, img[onerror])").count(), 0, path);
    if (!path.startsWith("/runs?")) assert.match(await page.locator("main").innerText(), /<script>/, path);
  }
  await page.goto(at.pageOf(runId));
  await yesTo(page, "approve").check();
  await page.getByLabel("note").fill(HOSTILE);
  await page.getByRole("button", { name: "Answer" }).click();
  await statusOf(page).getByText("completed").waitFor();
  const after = await at.site.get(`/v1/runs/${runId}`);
  assert.equal((after.body["state"] as { note: string }).note, HOSTILE);
  assert.equal(await page.evaluate("globalThis.owned"), undefined);
  assert.deepEqual(await tab.problems(), []);
});

test("a form on a page of another origin changes nothing (W3)", async () => {
  await using at = await desk();
  at.gates.work.open();
  const runId = await at.start("pair");
  await inStatus(at.site, runId, "interrupted");
  const before = await at.site.get(`/v1/runs/${runId}`);
  const { body } = await at.site.get("/v1/waits");
  const [{ waitId }] = body["waits"] as [{ waitId: string }];
  const targets = [`/runs/${runId}/waits/${waitId}`, `/runs/${runId}/cancel`, `/graphs/pair`];
  const elsewhere = new Hono().get(
    "/",
    (c) =>
      c.html(
        targets.map((path) =>
          `<form method="post" action="${at.url}${path}"><input name="input.question" value="bought"><input name="note" value="bought">` +
          `<button>${path}</button></form>`
        ).join(""),
      ),
  );
  await using server = await listen(elsewhere, { port: 0, hostname: "127.0.0.1" });
  await using tab = await browser.newPage();
  for (const path of targets) {
    await tab.page.goto(`http://localhost:${server.port}/`);
    const answered = tab.page.waitForResponse((response) => response.url() === at.url + path);
    await tab.page.getByRole("button", { name: path }).click();
    assert.equal((await answered).status(), 403, path);
  }
  const after = await at.site.get(`/v1/runs/${runId}`);
  assert.deepEqual(after.body, before.body);
  const { body: runs } = await at.site.get("/v1/runs");
  assert.equal((runs["runs"] as unknown[]).length, 1);
});

test("every page is accessible in its light and its dark look, and none is wider than a narrow screen (W3)", async () => {
  await using at = await desk();
  await using tab = await browser.newPage();
  const { page } = tab;
  at.gates.price.open();
  at.gates.legal.open();
  const runId = await at.start("review", { question: "a".repeat(400) }, ["vip"]);
  await inStatus(at.site, runId, "interrupted");
  const { body } = await at.site.get("/v1/waits");
  const [{ waitId }] = body["waits"] as [{ waitId: string }];
  for (
    const path of [
      "/runs",
      "/graphs",
      "/graphs/review",
      `/runs/${runId}`,
      `/runs/${runId}/revisions/3`,
      `/runs/${runId}/waits/${waitId}`,
      "/waits",
    ]
  ) {
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.goto(at.url + path);
    assert.deepEqual(await accessibility(page), [], path);
    await page.setViewportSize({ width: 360, height: 740 });
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 360, path);
    assert.deepEqual(await tab.problems(), [], path);
  }
});
