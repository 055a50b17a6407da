// Runs on deno by default: the pages and the browser are the same everywhere.
import assert from "node:assert/strict";
import { test } from "node:test";
import { inStatus } from "../http/support.ts";
import { browserOfFile } from "../support/browser.ts";
import { effort } from "../support/effort.ts";
import { comes, comesInTime, desk, runOn, statusOf, vertexRow, yesTo } from "./desk.ts";

const browser = browserOfFile();

/** Without scripts a page is its forms: two journeys show that they do, the others where the effort is long. */
const MOST = effort([true], [true, false]);

function how(script: boolean): string {
  return script ? "without loading a page again" : "with scripts switched off";
}

for (const script of [true, false]) {
  test(`a run is started, watched, answered and seen to its end, ${how(script)} (W3)`, async () => {
    await using at = await desk();
    await using tab = await browser.newPage({ script });
    const { page } = tab;

    await page.goto(`${at.url}/graphs`);
    await page.getByRole("link", { name: "review", exact: true }).click();
    await page.getByRole("heading", { name: "review", level: 1 }).waitFor();
    await page.getByLabel("question").fill("How much is it?");
    await page.getByRole("button", { name: "Start run" }).click();
    const runId = await runOn(page);
    await page.getByRole("heading", { name: runId, level: 1 }).waitFor();

    await page.evaluate(() => Object.assign(globalThis, { sameDocument: true }));
    const loads = tab.loads();

    await comes(tab, vertexRow(page, "draft").getByText("done"));
    await comes(tab, vertexRow(page, "price").getByText("pending"));
    at.gates.price.open();
    await comes(tab, vertexRow(page, "price").getByText("done"));
    await vertexRow(page, "legal").getByText("pending").waitFor();
    await vertexRow(page, "ask").getByText("not reached").waitFor();
    const drawn = await page.getByRole("img", { name: "Graph review" }).textContent() ?? "";
    assert.match(drawn, /legal is pending .*price is done /, "the drawing shows it too");
    at.gates.legal.open();
    await comes(tab, statusOf(page).getByText("awaiting"));
    await vertexRow(page, "legal").getByText("done").waitFor();
    await vertexRow(page, "ask").getByText("suspended").waitFor();
    if (script) {
      assert.equal(tab.loads(), loads, "the page was never left");
      assert.equal(await page.evaluate("globalThis.sameDocument"), true);
    }

    await yesTo(page, "approve").check();
    await page.getByLabel("note").fill("good as it is");
    await page.getByRole("button", { name: "Answer" }).click();
    await comes(tab, statusOf(page).getByText("completed"));
    await vertexRow(page, "send").getByText("done").waitFor();
    assert.equal(await page.getByRole("button", { name: "Answer" }).count(), 0);
    assert.equal(await page.getByRole("button", { name: "Cancel run" }).count(), 0);

    const { body } = await at.site.get(`/v1/runs/${runId}`);
    const { question, approved, note } = body["state"] as Record<string, unknown>;
    assert.deepEqual({ question, approved, note }, {
      question: "How much is it?",
      approved: true,
      note: "good as it is",
    });
    assert.deepEqual(await tab.problems(), []);
  });

  test(`a refused answer comes back with its issues at the fields and with what was typed, ${how(script)} (W3)`, async () => {
    await using at = await desk();
    await using tab = await browser.newPage({ script });
    const { page } = tab;
    at.gates.work.open();
    const runId = await at.start("pair");
    await inStatus(at.site, runId, "interrupted");
    await page.goto(at.pageOf(runId));
    await page.locator("form").evaluateAll((forms) =>
      forms.forEach((form) => form.setAttribute("novalidate", ""))
    );
    await yesTo(page, "approve").check();
    await page.getByLabel("note").fill("x");
    await page.getByLabel("score").fill("9");
    await page.getByRole("button", { name: "Answer" }).click();

    await page.getByRole("alert").first().waitFor();
    for (const [field, typed] of [["note", "x"], ["score", "9"]] as const) {
      const input = page.getByLabel(field);
      assert.equal(await input.inputValue(), typed);
      assert.equal(await input.getAttribute("aria-invalid"), "true");
      const described = (await input.getAttribute("aria-describedby") ?? "").split(" ");
      const told = await Promise.all(described.map((id) => page.locator(`[id="${id}"]`).innerText()));
      assert.match(told.join(" "), /too (small|big)|at least|at most|expected/i, field);
    }
    assert.equal(await yesTo(page, "approve").isChecked(), true);
    assert.equal(await page.getByRole("radiogroup").getAttribute("aria-invalid"), null);
    assert.match((await tab.problems()).join("\n"), /^422: POST \/ui\/runs\/[^/]+\/waits\/[^/]+$/);

    await page.getByLabel("note").fill("now long enough");
    await page.getByLabel("score").fill("5");
    await page.getByRole("button", { name: "Answer" }).click();
    await inStatus(at.site, runId, "completed");
    await comes(tab, statusOf(page).getByText("completed"));
    assert.deepEqual(await tab.problems(), []);
  });
}

for (const script of MOST) {
  test(`the timeline tells of attempts, a revision of its difference, and a run is forked from there, ${how(script)} (W3)`, async () => {
    await using at = await desk();
    await using tab = await browser.newPage({ script });
    const { page } = tab;
    at.gates.price.open();
    at.gates.legal.open();
    const runId = await at.start("review");
    await inStatus(at.site, runId, "interrupted");

    await page.goto(at.pageOf(runId));
    const draft = vertexRow(page, "draft");
    const cells = await draft.getByRole("cell").allTextContents();
    assert.match(
      cells.join(" | "),
      /done \|.*\| 2 \| .*\d+ ms/,
      "two attempts, and how long the last one took",
    );
    const drafted = page.getByRole("region", { name: "Timeline" }).getByRole("listitem");
    await drafted.filter({
      hasText: /draft attempt 1 failed: Error: the desk is <b>busy<\/b>; again after \d+/,
    })
      .first().waitFor();
    const done = drafted.filter({ hasText: /draft done in \d+ ms, attempt 2/ }).filter({
      has: page.getByRole("link"),
    });
    await done.getByRole("link").first().click();

    await page.waitForURL(/\/revisions\/\d+$/);
    const revision = Number(page.url().split("/").at(-1));
    const change = page.getByRole("table", { name: /changed/ }).getByRole("row").filter({
      has: page.getByRole("rowheader", { name: "draft", exact: true }),
    });
    assert.match(await change.innerText(), /added.*"about How much\?"/s);

    await page.getByRole("button", { name: "Fork from here" }).click();
    const forked = await runOn(page);
    assert.notEqual(forked, runId);
    await comes(tab, statusOf(page).getByText("awaiting"));
    const { body } = await at.site.get(`/v1/runs/${forked}`);
    assert.deepEqual((body["run"] as { parent: unknown }).parent, { runId, revision });
    await page.getByRole("link", { name: runId }).first().click();
    await page.waitForURL(at.pageOf(runId));
    assert.deepEqual(await tab.problems(), []);
  });

  test(`a failure is shown with its cause, and resumed once its reason is gone, ${how(script)} (W3)`, async () => {
    await using at = await desk();
    await using tab = await browser.newPage({ script });
    const { page } = tab;
    at.gates.legal.open();
    at.gates.price.fail(new Error("there is no price list"));
    const runId = await at.start("review");
    await page.goto(at.pageOf(runId));
    await comes(tab, statusOf(page).getByText("errored"));
    await vertexRow(page, "price").getByText("failed").waitFor();
    await page.getByText("Error: there is no price list").first().waitFor();
    at.shut("price");
    at.gates.price.open();
    await page.getByRole("button", { name: "Resume" }).click();
    await comes(tab, statusOf(page).getByText("awaiting"));
    await vertexRow(page, "price").getByText("done").waitFor();
    assert.equal(await page.getByRole("button", { name: "Resume" }).count(), 0);
    assert.deepEqual(await tab.problems(), []);
  });

  test(`a run is cancelled with a reason, ${how(script)} (W3)`, async () => {
    await using at = await desk();
    await using tab = await browser.newPage({ script });
    const { page } = tab;
    const runId = await at.start("review");
    await page.goto(at.pageOf(runId));
    await page.getByText("Cancel this run").click();
    await page.getByLabel("Reason").fill("no longer asked for");
    await page.getByRole("button", { name: "Cancel run" }).click();
    await comes(tab, statusOf(page).getByText("cancelled"));
    await comes(tab, page.getByText("no longer asked for"));
    const { body } = await at.site.get(`/v1/runs/${runId}`);
    assert.deepEqual([body["status"], body["cancelReason"]], ["cancelled", "no longer asked for"]);
    assert.deepEqual(await tab.problems(), []);
  });

  test(`the inbox lists the waits of all runs, and takes an answer, ${how(script)} (W3)`, async () => {
    await using at = await desk();
    await using tab = await browser.newPage({ script });
    const { page } = tab;
    at.gates.work.open();
    const first = await at.start("pair", { question: "First?" });
    await inStatus(at.site, first, "interrupted");
    if (script) await page.clock.install();
    await page.goto(`${at.url}/waits`);
    await page.getByRole("heading", { name: "Inbox" }).waitFor();
    assert.equal(await page.getByRole("button", { name: "Answer" }).count(), 1);

    const second = await at.start("pair", { question: "Second?" });
    await inStatus(at.site, second, "interrupted");
    const ofSecond = page.getByRole("article").filter({ hasText: "Second?" });
    await comesInTime(tab, ofSecond);
    assert.equal(await page.getByRole("button", { name: "Answer" }).count(), 2);
    await yesTo(ofSecond, "approve").check();
    await ofSecond.getByLabel("note").fill("to the second");
    await ofSecond.getByRole("button", { name: "Answer" }).click();

    await inStatus(at.site, second, "completed");
    const { body } = await at.site.get(`/v1/runs/${second}`);
    assert.equal((body["state"] as { note: string }).note, "to the second");
    await page.goto(`${at.url}/waits`);
    await comesInTime(tab, page.getByRole("article").filter({ hasText: "First?" }));
    assert.equal(await page.getByRole("button", { name: "Answer" }).count(), 1);
    assert.deepEqual(await tab.problems(), []);
  });
}
