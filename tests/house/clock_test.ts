// Runs on deno by default: no runtime decides what the source looks like.
import assert from "node:assert/strict";
import { test } from "node:test";
import ts from "typescript";
import { sourceFiles, walk } from "./source_tree.ts";

/**
 * One kind of clock for each purpose: spans inside a process are measured (`elapsed`, `wakeIn`), times that are stored are
 * times of the run (`runTime`), and only what is listed here reads the wall clock or waits for a time of it, for a reason.
 */
const WALL: Readonly<Record<string, string>> = {
  "src/engine/run_time.ts": "the time of a run: the wall clock, which never goes back for it",
  "src/engine/coordinator.ts":
    "sleeps until a stored time is due; what is due is told by the time of the run",
  "src/engine/prepare_run.ts": "a deadline that is given as a span",
  "src/engine/operations/fork.ts": "when a new run was created",
  "src/engine/operations/fork_called.ts": "when a new run was created",
  "src/engine/operations/purge.ts": "how old runs are, as their records say",
  "src/engine/operations/cancel.ts": "when somebody asked for it, for the record",
  "src/engine/answering.ts": "when an answer was accepted, and the deadlines before which it must be",
  "src/engine/released_bodies.ts": "the order of wakes that are due at once",
  "src/engine/attempt.ts": "when a body was at work, for the record",
  "src/engine/outcomes.ts": "when a body was at work, for the record",
  "src/engine/claims.ts": "asks for wakes that are due",
  "src/engine/starts.ts": "when a new run came, and when it is to begin",
  "src/engine/flow/flow.ts": "since when runs wait, and when they may begin",
  "src/engine/flow/pools.ts": "when bodies began under a rate, and since when others wait",
  "src/engine/flow/displace.ts": "the numbers of a permit that is not counted yet",
  "src/engine/flow/sweep.ts": "how old a count that nobody uses is",
  "src/engine/flow/waiting.ts": "asks for wakes that are due",
  "src/engine/ownership.ts":
    "its own lease: the longer of what two clocks say, for one stands still while the machine sleeps",
  "src/checkpoint/log.ts": "when a record was made",
  "src/store/deno_kv/mod.ts": "how old what a writer left behind is",
  "src/store/deno_kv/owners.ts": "how old what a writer left behind is",
  "src/store/deno_kv/purge.ts": "how old what a writer left behind is",
  "src/store/deno_kv/stage.ts": "how old what a writer left behind is",
  "src/engine/change/take_over.ts": "how long ago workers were seen last",
  "src/engine/runner.ts": "how long ago workers were seen last, and which wakes are due, for people",
  "src/worker/adoptions.ts": "asks for wakes that are due",
  "src/worker/presence.ts": "when the worker was seen last, for people",
  "src/worker/scheduler.ts": "ticks are times of the calendar",
  "src/worker/dispatching.ts": "submits a run when its wake is due",
  "src/worker/store_plane.ts": "asks for wakes that are due, and puts one off",
  "src/http/gate.ts": "the time of an audit line",
  "src/http/routes/graphs.ts": "how long ago workers were seen last, for people",
  "src/http/routes/runs.ts": "how long ago workers were seen last, for people",
  "src/http/routes/waits.ts": "how long ago workers were seen last, for people",
  "src/cli/reading.ts": "how long ago workers were seen last, for people",
  "src/cli/commands/get.ts": "how long ago workers were seen last, for people",
  "src/cli/commands/list.ts": "how long ago workers were seen last, for people",
  "src/cli/commands/migrate.ts": "which workers live, for the activity of runs",
  "src/cli/commands/versions.ts": "which workers live",
  "src/cli/commands/workers.ts": "how long ago workers were seen last, for people",
  "src/http/start.ts": "a deadline that is given as a span",
};

/** Who measures spans, and of what. */
const SPANS: Readonly<Record<string, string>> = {
  "src/engine/attempt.ts": "timeouts, and what bodies used of them",
  "src/engine/answering.ts": "pauses between tries to post",
  "src/engine/flow/pools.ts": "pauses between two looks at a pool, and how old what is known of owners is",
  "src/engine/flow/sweep.ts": "how long a permit that others wait for has been as it is",
  "src/engine/quiet.ts": "how long a body has been quiet",
  "src/engine/emit_writer.ts": "how long emits are gathered and kept",
  "src/engine/stream.ts": "for how long readers share what one has read",
  "src/engine/operations/cancel.ts": "patience with an owner",
  "src/engine/owner_watch.ts": "the silence of owners",
  "src/engine/ownership.ts": "beats and polls",
  "src/worker/backoff.ts": "pauses after failures",
  "src/worker/presence.ts": "the silence of other workers, and the hour between two reports",
  "src/worker/nats/consumption.ts": "signs of life, and pauses while a server is away",
  "src/worker/store_plane.ts": "polls",
  "src/worker/worker.ts": "the grace of a worker that stops",
  "src/store/deno_kv/session.ts": "patience with a locked file",
  "src/store/postgres/hints.ts": "pauses before it listens anew",
  "src/store/postgres/session.ts": "patience with a database that is away",
  "src/http/auth.ts": "patience with whoever authenticates",
  "src/http/body.ts": "patience with a request",
  "src/http/listen.ts": "the grace of a server that closes",
  "src/http/start.ts": "how long a request waits for a run",
  "src/http/stream.ts": "heartbeats and polls of a stream",
};

const CLOCKS = { now: WALL, wakeAt: WALL, elapsed: SPANS, wakeIn: SPANS } as const;

/** The calls of a runtime's clock by the table that they belong to, as paths of files. */
function callers(): ReadonlyMap<object, ReadonlySet<string>> {
  const found = new Map<object, Set<string>>([[WALL, new Set()], [SPANS, new Set()]]);
  for (const file of sourceFiles("src", "tasks")) {
    if (["src/runtime/", "src/testing/"].some((folder) => file.path.startsWith(folder))) continue;
    walk(file.ast, (node) => {
      if (!ts.isCallExpression(node) || !ts.isPropertyAccessExpression(node.expression)) return;
      const { name, expression } = node.expression;
      const table = CLOCKS[name.text as keyof typeof CLOCKS];
      if (table !== undefined && /runtime$/i.test(expression.getText())) found.get(table)!.add(file.path);
    });
  }
  return found;
}

for (const [name, table] of Object.entries({ "the wall clock": WALL, "spans of time": SPANS })) {
  test(`who reads ${name} does so for a reason that is listed (O4, FT-B2)`, () => {
    const found = callers().get(table)!;
    assert.deepEqual([...found].filter((path) => !(path in table)), [], "say why, or use another clock");
    assert.deepEqual(Object.keys(table).filter((path) => !found.has(path)), [], "it reads none any more");
  });
}
