// Runs on deno by default: the pages and the browser are the same everywhere.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Locator, Page } from "playwright-core";
import { listen } from "../../src/http/listen.ts";
import { inStatus } from "../http/support.ts";
import { browserOfFile } from "../support/browser.ts";
import { accessibility } from "../support/browser_axe.ts";
import { comesInTime, desk, runOn, statusOf, vertexRow, yesTo } from "./desk.ts";

const browser = browserOfFile();

/** Presses Tab until something has the focus. */
async function tabTo(page: Page, wanted: Locator): Promise<void> {
  for (let i = 0; i < 60; i++) {
    if (await wanted.evaluate((element) => element === document.activeElement)) return;
    await page.keyboard.press("Tab");
  }
  assert.fail(`${wanted} cannot be reached with Tab`);
}

test("half an answer stays in its form, and the cursor in its field, while the page follows the run (W3)", async () => {
  await using at = await desk();
  await using tab = await browser.newPage();
  const { page } = tab;
  const runId = await at.start("pair");
  await page.goto(at.pageOf(runId));
  await vertexRow(page, "ask").getByText("suspended").waitFor();
  await yesTo(page, "approve").check();
  const note = page.getByLabel("note");
  await note.pressSequentially("half of");
  at.gates.work.open();
  await vertexRow(page, "work").getByText("done").waitFor();
  await statusOf(page).getByText("awaiting").waitFor();
  await page.keyboard.type(" a note");
  assert.equal(await note.inputValue(), "half of a note");
  assert.equal(await yesTo(page, "approve").isChecked(), true);
  await page.getByRole("button", { name: "Answer" }).click();
  await statusOf(page).getByText("completed").waitFor();
  const { body } = await at.site.get(`/v1/runs/${runId}`);
  assert.equal((body["state"] as { note: string }).note, "half of a note");
  assert.deepEqual(await tab.problems(), []);
});

test("half an answer stays in the inbox while other waits come (W3)", async () => {
  await using at = await desk();
  await using tab = await browser.newPage();
  const { page } = tab;
  at.gates.work.open();
  await inStatus(at.site, await at.start("pair", { question: "First?" }), "interrupted");
  await page.clock.install();
  await page.goto(`${at.url}/waits`);
  const note = page.getByRole("article").filter({ hasText: "First?" }).getByLabel("note");
  await note.pressSequentially("half of");
  await inStatus(at.site, await at.start("pair", { question: "Second?" }), "interrupted");
  await comesInTime(tab, page.getByRole("article").filter({ hasText: "Second?" }));
  await page.keyboard.type(" a note");
  assert.equal(await note.inputValue(), "half of a note");
  assert.deepEqual(await tab.problems(), []);
});

test("what somebody fills in stays when others answer it, says so, and cannot be sent (W3)", async () => {
  await using at = await desk();
  await using tab = await browser.newPage();
  const { page } = tab;
  at.gates.work.open();
  const [mine, next] = [
    await at.start("pair", { question: "First?" }),
    await at.start("pair", { question: "Second?" }),
  ];
  for (const runId of [mine, next]) await inStatus(at.site, runId, "interrupted");
  await page.clock.install();
  await page.goto(`${at.url}/waits`);
  const card = page.getByRole("article").filter({ hasText: "First?" });
  const other = page.getByRole("article").filter({ hasText: "Second?" });
  await card.getByLabel("note").pressSequentially("half of an answer");
  for (const runId of [mine, next]) {
    const { body } = await at.site.get(`/v1/runs/${runId}`);
    const [{ waitId }] = body["waits"] as [{ waitId: string }];
    await at.site.post(`/v1/runs/${runId}/waits/${waitId}/answer`, {
      value: { approve: true, note: "quick" },
    });
    await inStatus(at.site, runId, "completed");
  }
  await comesInTime(tab, card.getByText("It was answered, or it is open no longer."));
  assert.equal(await card.getByLabel("note").inputValue(), "half of an answer");
  assert.equal(await card.getByRole("button", { name: "Answer" }).isDisabled(), true);
  assert.equal(await other.count(), 0, "nobody was at the other one");
  assert.deepEqual(await accessibility(page), []);
  assert.deepEqual(await tab.problems(), []);
});

test("a page whose server is away says that it may be out of date, until it is back (W3)", async () => {
  await using at = await desk();
  await using tab = await browser.newPage();
  const { page } = tab;
  await page.clock.install();
  await page.goto(`${at.url}/runs`);
  const away = page.getByText("The server does not answer");
  assert.equal(await away.isVisible(), false);
  await page.context().setOffline(true);
  await comesInTime(tab, away);
  await page.context().setOffline(false);
  const runId = await at.start("pair");
  await comesInTime(tab, page.getByRole("link", { name: runId }));
  assert.equal(await away.isVisible(), false);
});

test("the list of runs follows them by itself (W3)", async () => {
  await using at = await desk();
  await using tab = await browser.newPage();
  const { page } = tab;
  await page.clock.install();
  await page.goto(`${at.url}/runs`);
  await page.getByRole("heading", { name: "Runs", level: 1 }).waitFor();
  const loads = tab.loads();
  const runId = await at.start("pair");
  const row = page.getByRole("row").filter({ has: page.getByRole("link", { name: runId }) });
  await comesInTime(tab, row.getByText("running"));
  at.gates.work.open();
  await comesInTime(tab, row.getByText("awaiting"));
  assert.equal(tab.loads(), loads);
  assert.deepEqual(await tab.problems(), []);
});

test("runs are found by graph, status and tag (W3)", async () => {
  await using at = await desk();
  await using tab = await browser.newPage();
  const { page } = tab;
  at.gates.work.open();
  const [paused, other, tagged] = [
    await at.start("pair"),
    await at.start("review"),
    await at.start("pair", {}, ["vip"]),
  ];
  await inStatus(at.site, paused, "interrupted");
  await inStatus(at.site, tagged, "interrupted");
  const found = async (choose: () => Promise<unknown>) => {
    await page.goto(`${at.url}/runs`);
    await choose();
    await page.getByRole("button", { name: "Filter" }).click();
    await page.waitForURL(/\?/);
    const links = await page.getByRole("row").getByRole("link").allInnerTexts();
    return [paused, other, tagged].filter((runId) => links.includes(runId));
  };
  assert.deepEqual(await found(() => page.getByLabel("Graph").selectOption("review")), [other]);
  assert.deepEqual(await found(() => page.getByLabel("Status").selectOption("awaiting")), [paused, tagged]);
  assert.deepEqual(await found(() => page.getByLabel("Tag").fill("vip")), [tagged]);
  assert.deepEqual(await tab.problems(), []);
});

test("a wait is found and answered with the keyboard alone (W3)", async () => {
  await using at = await desk();
  await using tab = await browser.newPage();
  const { page } = tab;
  at.gates.work.open();
  const runId = await at.start("pair");
  await inStatus(at.site, runId, "interrupted");
  await page.goto(`${at.url}/runs`);
  await tabTo(page, page.getByRole("link", { name: runId }));
  await page.keyboard.press("Enter");
  await page.waitForURL(at.pageOf(runId));
  await tabTo(page, yesTo(page, "approve"));
  await page.keyboard.press("Space");
  await tabTo(page, page.getByLabel("note"));
  await page.keyboard.type("from the keyboard");
  await tabTo(page, page.getByRole("button", { name: "Answer" }));
  await page.keyboard.press("Enter");
  await statusOf(page).getByText("completed").waitFor();
  const { body } = await at.site.get(`/v1/runs/${runId}`);
  assert.equal((body["state"] as { note: string }).note, "from the keyboard");
  assert.deepEqual(await tab.problems(), []);
});

test("mounted in another app and behind a password, pages, forms and news find each other (W3)", async () => {
  const login = { username: "Kim", password: "open, sesame" };
  const known = `Basic ${btoa(`${login.username}:${login.password}`)}`;
  await using at = await desk({
    mount: "/ops/flows",
    auth: ({ request }) => request.headers.get("authorization") === known ? { id: "Kim" } : undefined,
  });
  await using tab = await browser.newPage({ login });
  const { page } = tab;
  await page.goto(at.url);
  await page.getByRole("link", { name: "Graphs" }).click();
  await page.getByRole("link", { name: "pair", exact: true }).click();
  await page.getByLabel("question").fill("Who are you?");
  await page.getByRole("button", { name: "Start run" }).click();
  const runId = await runOn(page);
  const loads = tab.loads();
  await vertexRow(page, "work").getByText("pending").waitFor();
  at.gates.work.open();
  await statusOf(page).getByText("awaiting").waitFor();
  assert.equal(tab.loads(), loads);
  await yesTo(page, "approve").check();
  await page.getByLabel("note").fill("it is me");
  await page.getByRole("button", { name: "Answer" }).click();
  await statusOf(page).getByText("completed").waitFor();
  await page.getByRole("link", { name: /^Revision 3/ }).click();
  await page.getByRole("heading", { name: "Revision 3", level: 1 }).waitFor();
  await page.getByRole("link", { name: "Runs" }).click();
  await page.getByRole("link", { name: runId }).click();
  assert.equal(await runOn(page), runId);
  // The browser asks without a password once, and is told that there is one.
  assert.deepEqual((await tab.problems()).filter((problem) => !problem.startsWith("401: GET ")), []);
});

test("a page whose server was away catches up when it is back (W3)", async () => {
  await using at = await desk();
  await using tab = await browser.newPage();
  const { page } = tab;
  const runId = await at.start("pair");
  await using first = await listen(at.site.app, { port: 0, grace: 0 });
  await page.goto(`${first.url}/ui/runs/${runId}`);
  await vertexRow(page, "work").getByText("pending").waitFor();
  const loads = tab.loads();
  await first.close();
  at.gates.work.open();
  await inStatus(at.site, runId, "interrupted");
  await using _second = await listen(at.site.app, { port: first.port, grace: 0 });
  await statusOf(page).getByText("awaiting").waitFor();
  assert.equal(tab.loads(), loads);
});

test("a page that does not exist says so, and leads on (W3)", async () => {
  await using at = await desk();
  await using tab = await browser.newPage();
  const { page } = tab;
  for (
    const path of [
      "/runs/nobody",
      "/runs/nobody/revisions/1",
      "/graphs/none",
      "/runs/x/y/z",
      "/runs/%2e%2e%2f",
    ]
  ) {
    await page.goto(at.url + path);
    await page.getByRole("heading", { level: 1 }).waitFor();
    assert.deepEqual(await tab.problems(), [`404: GET /ui${path}`]);
  }
  assert.deepEqual(await accessibility(page), []);
  await page.getByRole("link", { name: "Runs", exact: true }).click();
  await page.getByRole("heading", { name: "Runs", level: 1 }).waitFor();
});
