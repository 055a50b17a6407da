// Runs on deno by default: its processes show the same on all runtimes, and tests of a few start them on all three.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { commandFor, HOST } from "../support/runtimes.ts";
import { temporaryFolder } from "../support/stores.ts";
import { type SpanOf, treeOf } from "./otel.ts";

interface Report {
  readonly status: string;
  readonly state: unknown;
  readonly spans: readonly SpanOf[];
}

async function work(db: string, ...answer: readonly string[]): Promise<Report> {
  const { command, args } = commandFor(HOST, "tests/telemetry/process.ts", [db, ...answer]);
  const { stdout } = await promisify(execFile)(command, [...args]);
  return JSON.parse(stdout) as Report;
}

test("a run over two pauses and three processes is one trace, with a segment of each process under one parent", async (t) => {
  const folder = await temporaryFolder();
  t.after(() => folder.remove());
  const db = join(folder.path, "runs.db");
  const reports = [await work(db), await work(db, "Ada"), await work(db, "36")];
  assert.deepEqual(reports.map((r) => r.status), ["interrupted", "interrupted", "completed"]);
  assert.deepEqual(reports[2]!.state, { name: "Ada", age: "36" });

  const spans = reports.flatMap((r) => r.spans);
  assert.equal(new Set(spans.map((span) => span.traceId)).size, 1);
  assert.equal(new Set(spans.map((span) => span.spanId)).size, spans.length);
  const segments = spans.filter((span) => span.name === "run questionnaire");
  assert.equal(segments.length, 3);
  assert.equal(new Set(segments.map((span) => span.parentId)).size, 1);
  const body = (id: string) => ["  step", `    vertex ${id}`, "      look up"];
  assert.deepEqual(treeOf(spans), [
    "run questionnaire",
    ...body("name"),
    "run questionnaire",
    ...body("name"),
    ...body("age"),
    "run questionnaire",
    ...body("age"),
  ]);
});
