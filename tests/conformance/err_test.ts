// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as root from "../../mod.ts";
import {
  CheckpointDecodeError,
  ConditionError,
  isSuperstepError,
  RevisionConflictError,
  StoreError,
  SuperstepError,
  VertexError,
} from "../../mod.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { appendBytes } from "../waits/damage.ts";
import { gate, INPUT, Lab } from "../waits/lab.ts";

type Made = readonly [error: SuperstepError, code: string, ...keys: string[]];

/** One of each error, with its code and what its text must name. */
const MADE: Readonly<Record<string, Made>> = {
  ArgumentError: [new root.ArgumentError("start", "maxSteps is 0"), "ARGUMENT", "start", "maxSteps"],
  BuildError: [new root.BuildError("addVertex", "the task is missing"), "BUILD", "addVertex", "missing"],
  DuplicateVertexError: [new root.DuplicateVertexError("v1"), "DUPLICATE_VERTEX", "v1"],
  DuplicateConditionalEdgeError: [
    new root.DuplicateConditionalEdgeError("v1"),
    "DUPLICATE_CONDITIONAL_EDGE",
    "v1",
  ],
  UnknownVertexError: [new root.UnknownVertexError("v1", "an edge", "v2"), "UNKNOWN_VERTEX", "v1", "v2"],
  UnreachableVertexError: [new root.UnreachableVertexError("v1"), "UNREACHABLE_VERTEX", "v1"],
  AmbiguousRoutingError: [new root.AmbiguousRoutingError("v1"), "AMBIGUOUS_ROUTING", "v1"],
  MissingEntryError: [new root.MissingEntryError("finish", "v1"), "MISSING_ENTRY", "finish", "v1"],
  BuildFaultsError: [
    new root.BuildFaultsError([new Error("one"), new Error("two")]),
    "BUILD_FAULTS",
    "one",
    "two",
  ],
  VertexError: [
    new VertexError("v1", "run-7", 3, 2, "reduce", new Error("why")),
    "VERTEX",
    "v1",
    "run-7",
    "3",
    "2",
    "reduce",
    "why",
  ],
  RetryLater: [new root.RetryLater("9s"), "RETRY_LATER", "9s"],
  VertexTimeoutError: [new root.VertexTimeoutError("v1", "total", 77), "VERTEX_TIMEOUT", "v1", "77"],
  WaitExpiredError: [new root.WaitExpiredError("verdict", "w9"), "WAIT_EXPIRED", "verdict", "w9"],
  ContextError: [new root.ContextError("used too late"), "CONTEXT", "too late"],
  ConditionError: [new ConditionError("v1", new Error("why")), "CONDITION", "v1", "why"],
  UndeclaredTargetError: [
    new root.UndeclaredTargetError("v1", "v2", ["v3"]),
    "UNDECLARED_TARGET",
    "v1",
    "v2",
    "v3",
  ],
  DeadEndError: [new root.DeadEndError(5), "DEAD_END", "5"],
  MaxStepsExceededError: [new root.MaxStepsExceededError(44, 44), "MAX_STEPS", "44"],
  RunExistsError: [new root.RunExistsError("r1", "another input"), "RUN_EXISTS", "r1", "another input"],
  RunBusyError: [new root.RunBusyError("r1", "p1"), "RUN_BUSY", "r1", "p1"],
  OwnershipLostError: [new root.OwnershipLostError("r1", "p1"), "OWNERSHIP_LOST", "r1", "p1"],
  RunAbortedError: [new root.RunAbortedError("r1", 12), "RUN_ABORTED", "r1", "12"],
  RunCancelledError: [new root.RunCancelledError("r1", "enough"), "RUN_CANCELLED", "r1", "enough"],
  RunDeadlineError: [new root.RunDeadlineError("r1"), "RUN_DEADLINE", "r1"],
  ResumeTerminalError: [
    new root.ResumeTerminalError("r1", "completed"),
    "RESUME_TERMINAL",
    "r1",
    "completed",
  ],
  GraphMismatchError: [new root.GraphMismatchError("r1", "g1", "g2"), "GRAPH_MISMATCH", "r1", "g1", "g2"],
  GraphVersionMismatchError: [
    new root.GraphVersionMismatchError("r1", "g1", "g2", "vertex v1 is new"),
    "GRAPH_VERSION_MISMATCH",
    "r1",
    "g1",
    "g2",
    "v1",
  ],
  GraphRunMismatchError: [new root.GraphRunMismatchError("r1", "r2"), "GRAPH_RUN_MISMATCH", "r1", "r2"],
  CheckpointNotFoundError: [new root.CheckpointNotFoundError("r1"), "CHECKPOINT_NOT_FOUND", "r1"],
  CheckpointDecodeError: [
    new CheckpointDecodeError("r1", "Phase", "no such phase"),
    "CHECKPOINT_DECODE",
    "r1",
    "Phase",
    "no such phase",
  ],
  IntegrityError: [
    new root.IntegrityError(["record", "r1", 7], "its key is not there"),
    "INTEGRITY",
    "r1",
    "record 7",
    "its key is not there",
  ],
  MigrationError: [
    new root.MigrationError("r1", 3, "no such field"),
    "MIGRATION",
    "r1",
    "3",
    "4",
    "no such field",
  ],
  RevisionConflictError: [new RevisionConflictError("r1", 8, 6), "REVISION_CONFLICT", "r1", "8", "6"],
  MailboxConflictError: [new root.MailboxConflictError("r1"), "MAILBOX_CONFLICT", "r1"],
  CellConflictError: [new root.CellConflictError("marks", "daily", "r1"), "CELL_CONFLICT", "marks", "daily"],
  StoreError: [new StoreError("append", "it is gone"), "STORE", "append", "it is gone"],
  AnswerError: [
    new root.AnswerError("expired", "r1", "w1", "its deadline has passed"),
    "ANSWER",
    "r1",
    "w1",
    "deadline",
  ],
  ValidationError: [
    new root.ValidationError("the input", [{ path: "a.b", message: "too short" }]),
    "VALIDATION",
    "the input",
    "a.b",
    "too short",
  ],
  SerializationError: [
    new root.SerializationError("the output", "a.b", "function", "functions cannot be stored"),
    "SERIALIZATION",
    "the output",
    "a.b",
    "function",
  ],
  ControlPlaneError: [new root.ControlPlaneError("submit", "away"), "CONTROL_PLANE", "submit"],
  ControlPlaneClosedError: [new root.ControlPlaneClosedError("consume"), "CONTROL_PLANE_CLOSED", "consume"],
  DuplicateRegistrationError: [
    new root.DuplicateRegistrationError("g1", "abc:2"),
    "DUPLICATE_REGISTRATION",
    "g1",
    "abc:2",
  ],
  StateSizeError: [new root.StateSizeError("the state", 999, 100, "log"), "STATE_SIZE", "999", "100", "log"],
};

/** Errors whose text is whoever throws them's own, or that have a test of their own. */
const ELSEWHERE = ["FatalError", "HaltError", "ReducerError"];

const exported = Object.entries(root as Record<string, unknown>).filter(([, value]) =>
  typeof value === "function" && value.prototype instanceof SuperstepError
);

test("every exported error is in this table (ERR-01)", () => {
  assert.deepEqual(
    exported.map(([name]) => name).filter((name) => !(name in MADE) && !ELSEWHERE.includes(name)),
    [],
  );
});

for (const [name, [error, code, ...keys]] of Object.entries(MADE)) {
  test(`${name} says what happened to what, carries its code, and is found through wrapping (ERR-01)`, () => {
    assert.match(error.message, /^superstep: /);
    for (const key of keys) assert.ok(error.message.includes(key), `${key} in: ${error.message}`);
    assert.deepEqual([error.name, error.code], [name, code]);
    const wrapped = new Error("outer", { cause: new Error("inner", { cause: error }) });
    const found = (wrapped.cause as Error).cause;
    assert.ok(isSuperstepError(found, code));
    assert.ok(!isSuperstepError(found, "OTHER"));
    assert.ok(!isSuperstepError(wrapped, code));
    assert.equal((found as Error).constructor, (root as Record<string, unknown>)[name]);
    assert.equal(Object.prototype.toString.call(error.fields), "[object Object]");
  });
}

test("errors made of another one give it as their cause, also through one more wrapper (ERR-02)", () => {
  const cause = new RangeError("the cause");
  const made = [
    new ConditionError("v1", cause),
    new VertexError("v1", "x", 0, 1, "execute", cause),
    new CheckpointDecodeError("r1", "State", "damaged", { cause }),
    new StoreError("append", "gone", { cause }),
    new root.RunAbortedError("r1", 1, { cause }),
  ];
  for (const error of made) {
    assert.equal(error.cause, cause);
    const outer = new Error("outer", { cause: error });
    assert.equal((outer.cause as Error).cause, cause);
  }
});

test("a revision conflict tells what the store needed next and what it was offered (ERR-04)", async () => {
  const lab = new Lab(memoryStore());
  const runner = lab.engine(lab.graph({ a: { body: () => gate().promise } }));
  await runner.start(INPUT, { runId: "r" });
  await lab.clock.settle();
  const stale = (await lab.store.tail("r"))!.position;
  await appendBytes(lab.store, "r", new Uint8Array(1));
  const entry = {
    appendId: "mine",
    at: stale,
    record: new Uint8Array(1),
    parts: [],
    snapshot: 0,
    owner: null,
  };
  const error = await lab.fails<RevisionConflictError>(
    lab.store.append("r", stale.revision + 1, entry),
    "RevisionConflictError",
  );
  assert.deepEqual([error.runId, error.expected, error.actual], [
    "r",
    stale.revision + 2,
    stale.revision + 1,
  ]);
});

test("what happens in a run resolves the call; bad arguments, identity and the store reject it (ERR-05)", async () => {
  const lab = new Lab();
  const boom = () => Promise.reject(new Error("boom"));
  const pick = () => {
    throw new Error("no way");
  };
  const outcomes = {
    pause: lab.graph({ a: { body: (ctx) => ctx.interrupt() } }, { id: "pause" }),
    failure: lab.graph({ a: { body: boom } }, { id: "failure" }),
    reducer: lab.graph({ a: { body: () => 0, reduce: pick } }, { id: "reducer" }),
    selector: lab.graph({ a: { body: () => 0, select: pick } }, { id: "selector" }),
    output: lab.graph({ a: { body: () => () => {} } }, { id: "output" }),
    halt: lab.graph({ a: { body: () => 0, route: { targets: ["a"], pick }, finish: true } }, { id: "halt" }),
  };
  for (const [name, graph] of Object.entries(outcomes)) {
    const result = await lab.drive(lab.engine(graph).run(INPUT, { runId: name }));
    assert.equal(result.status, "interrupted", name);
  }
  const runner = lab.engine(outcomes.pause);
  await lab.fails(runner.run((() => {}) as unknown), "SerializationError");
  await lab.fails(runner.run(INPUT, { runId: "no id!" }), "ArgumentError");
  await lab.fails(runner.run({ other: 1 }, { runId: "pause" }), "RunExistsError");
  await lab.fails(runner.resume("nobody"), "CheckpointNotFoundError");
  await lab.fails(runner.resume("halt"), "GraphMismatchError");
  await lab.store.close();
  await lab.fails(runner.run(INPUT), "StoreError");
});
