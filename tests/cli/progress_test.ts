// Runs on deno by default: the commands are the same everywhere; they run as processes on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import pc from "picocolors";
import { LiveView } from "../../src/cli/progress/live.ts";
import { ProgressModel } from "../../src/cli/progress/model.ts";
import { drawn } from "../../src/cli/progress/rows.ts";
import type { RunEvent } from "../../src/engine/events.ts";
import { DESK, Shell, Sink } from "./shell.ts";

const NOW = 1_000_000;
const colours = pc.createColors(false);
const SPINNER = /^[⠀-⣿]/;
const STYLE = { colours, columns: 80, lines: 20 };

type Of<T extends RunEvent["type"]> = Partial<Extract<RunEvent, { type: T }>>;

const vertex = { runId: "r", vertexId: "a", vertexRunId: "x", step: 0, attempt: 1 };
const start = (more: Of<"vertexStart"> = {}): RunEvent => ({
  type: "vertexStart",
  ...vertex,
  startedAt: NOW,
  ...more,
});
const finish = (status: "done" | "failed" | "suspended", more: Of<"vertexFinish"> = {}): RunEvent => ({
  type: "vertexFinish",
  ...vertex,
  status,
  startedAt: NOW,
  endedAt: NOW + 250,
  ...more,
});
const failure = { name: "Error", message: "no\nink\u001b[2J", attempt: 2, phase: "execute" } as const;

/** The rows after some events, without the spinner's picture. */
function rowsAt(now: number, ...events: readonly RunEvent[]): readonly string[] {
  const model = new ProgressModel();
  for (const event of events) model.apply(event);
  return drawn(model.rows.values(), now, STYLE).map((row) => row.replace(SPINNER, "~"));
}

test("a row tells what its vertex is up to: running, done, failed, to be tried again, waiting, sleeping (W4)", () => {
  assert.deepEqual(rowsAt(NOW + 1_500, start()), ["~ a                 1.50 s"]);
  assert.deepEqual(rowsAt(NOW, start(), finish("done")), ["✔ a                 250 ms"]);
  assert.deepEqual(rowsAt(NOW, start(), finish("done", { attempt: 3 })), [
    "✔ a                 250 ms, attempt 3",
  ]);
  assert.deepEqual(rowsAt(NOW, start(), finish("failed", { attempt: 2, failure })), [
    "✘ a                 failed after attempt 2: no ink",
  ]);
  const failed: RunEvent = { type: "attemptFailed", ...vertex, failure, nextAt: NOW + 3_000 };
  assert.deepEqual(rowsAt(NOW + 1_000, start(), failed), [
    "↻ a                 attempt 1 failed: no ink; again in 2.00 s",
  ]);
  assert.deepEqual(rowsAt(NOW + 4_000, start(), failed), ["~ a                 4.00 s, attempt 2"]);
  const wait: RunEvent = {
    type: "wait",
    runId: "r",
    vertexId: "a",
    waitId: "w",
    kind: "answer",
    name: "verdict",
  };
  const paused = [start(), finish("suspended"), wait];
  assert.deepEqual(rowsAt(NOW, ...paused), ["⏸ a                 waits for verdict"]);
  const answer: RunEvent = { type: "answer", runId: "r", vertexId: "a", waitId: "w" };
  assert.match(rowsAt(NOW, ...paused, answer)[0]!, /^~ a/);
  const timer: RunEvent = { ...wait, kind: "timer", name: "dry", due: NOW + 90_000 };
  assert.deepEqual(rowsAt(NOW, start(), finish("suspended"), timer), [
    "⏸ a                 sleeps 1 m 30 s (dry)",
  ]);
  const fired: RunEvent = { type: "waitClosed", runId: "r", vertexId: "a", waitId: "w", reason: "fired" };
  assert.match(rowsAt(NOW, start(), finish("suspended"), timer, fired)[0]!, /^~ a/);
});

test("a map vertex is one row that counts its items; it is done when all of them are (W4)", () => {
  const item = (n: number) => start({ item: n, items: 3 });
  const done = (n: number) => finish("done", { item: n });
  assert.deepEqual(rowsAt(NOW, item(0), item(1), done(0)), ["~ a                 1/3 items, 1 running"]);
  assert.deepEqual(rowsAt(NOW, item(0), done(0)), ["~ a                 1/3 items"]);
  assert.deepEqual(
    rowsAt(NOW, item(0), item(1), item(2), done(0), done(1), finish("failed", { item: 2, failure })),
    [
      "✘ a                 2/3 items, 1 failed",
    ],
  );
  assert.deepEqual(rowsAt(NOW, ...[0, 1, 2].flatMap((n) => [item(n), done(n)])), [
    "✔ a                 3/3 items",
  ]);
});

test("a vertex that runs again in a later step keeps its row, with how often it ran and what it said last (W4)", () => {
  const said: RunEvent = { type: "emit", runId: "r", vertexId: "a", name: "at", data: { page: 3 } };
  assert.deepEqual(rowsAt(NOW, start(), finish("done"), start({ step: 4 }), said), [
    '~ a (2×)            0 ms  at {"page":3}',
  ]);
});

test("rows fit the terminal in width and number; what is done gives way (W4)", () => {
  const model = new ProgressModel();
  for (let i = 0; i < 30; i++) {
    model.apply(start({ vertexId: `v${i}` }));
    if (i < 25) model.apply(finish("done", { vertexId: `v${i}` }));
  }
  model.apply(finish("failed", { vertexId: "v29", failure: { ...failure, message: "界".repeat(200) } }));
  const rows = drawn(model.rows.values(), NOW, { colours, columns: 40, lines: 10 });
  assert.equal(rows.length, 10);
  assert.match(rows[0]!, /and 21 more/);
  assert.ok(rows.some((row) => row.includes("v28")), "whoever runs is shown");
  for (const row of rows) assert.ok([...row].reduce((w, c) => w + (c === "界" ? 2 : 1), 0) < 40, row);
});

test("live rows are redrawn in place, and what is printed meanwhile stands above them (W4)", () => {
  const sink = new Sink(true);
  const view = new LiveView(sink, colours);
  try {
    view.apply(start());
    view.print("hello");
    view.apply(start({ vertexId: "b" }));
    view.print("world");
  } finally {
    view.close();
  }
  const shown = onScreen(sink.text).map((row) => row.replace(SPINNER, "~").slice(0, 5));
  assert.deepEqual(shown, ["hello", "world", "~ a  ", "~ b  "]);
});

/** What a terminal shows: the only sequences that are used move up and erase below. */
function onScreen(text: string): readonly string[] {
  const rows: string[] = [""];
  for (const part of text.split(/(\n|\p{Cc}\[\d+[AJ])/u)) {
    const up = /^\p{Cc}\[(\d+)A$/u.exec(part);
    if (up !== null) rows.splice(rows.length - 1 - Number(up[1]), Infinity, "");
    else if (part === "\n") rows.push("");
    else if (!part.endsWith("[0J")) rows[rows.length - 1] += part;
  }
  return rows.filter((row) => row !== "");
}

test("a run on a terminal shows a row per vertex, and resume shows them too (W4)", () =>
  Shell.with(async (shell) => {
    const input = JSON.stringify({ title: "T", pages: ["a", "b"], flaky: 1 });
    const ran = await shell.runIn({ typed: [] }, "run", DESK, "-i", input, "--run-id", "r1");
    assert.equal(ran.code, 2);
    const rows = onScreen(ran.err);
    assert.match(rows[0]!, /^✔ draft +\d+ ms, attempt 2$/);
    assert.deepEqual(rows.slice(1).map((row) => row.slice(0, 7)), ["✔ check", "✔ pages", "⏸ revie"]);
    assert.match(rows[2]!, /2\/2 items$/);
    assert.match(rows[3]!, /waits for verdict$/);
    const value = '{"verdict":"approve","score":1}';
    const resumed = await shell.runIn({ typed: [] }, "resume", "r1", DESK, "--value", value);
    assert.deepEqual(onScreen(resumed.err).map((row) => row.slice(0, 8)), ["✔ review", "✔ send  "]);
    const quiet = await shell.runIn({ typed: [] }, "run", DESK, "-i", input, "--quiet");
    assert.equal(quiet.err, "");
  }));
