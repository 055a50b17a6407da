// Runs on deno by default: the app is the same everywhere; listening, streams and clients have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as errors from "../../src/errors.ts";
import {
  AnswerError,
  GraphVersionMismatchError,
  isSuperstepError,
  type SuperstepError,
} from "../../src/errors.ts";
import { answerTo, badRequest, HttpFault, isKnownCode } from "../../src/http/faults.ts";

/** One of every error class, made with arguments that hold a secret wherever they can. */
const SECRET = "hunter2";
const ARGUMENTS: Readonly<Record<string, readonly unknown[]>> = {
  AnswerError: ["closed", SECRET, SECRET, SECRET],
  BuildFaultsError: [[new Error(SECRET)]],
  IntegrityError: [[SECRET, SECRET, SECRET], SECRET],
  ValidationError: [SECRET, []],
  FatalError: [SECRET],
  RetryLater: [SECRET, SECRET],
  UndeclaredTargetError: [SECRET, SECRET, [SECRET]],
};
const every: readonly SuperstepError[] = Object.values(errors).flatMap((exported) => {
  if (typeof exported !== "function" || !Object.hasOwn(exported, "errorName")) return [];
  const Class = exported as unknown as new (...args: readonly unknown[]) => SuperstepError;
  return [new Class(...ARGUMENTS[exported.name] ?? [SECRET, SECRET, SECRET, SECRET, SECRET])];
});

/** Every code with its status, and whether it may be sent again as it is. */
const STATUSES: Readonly<Record<string, readonly [status: number, retryable?: boolean]>> = {
  AMBIGUOUS_ROUTING: [500],
  ANSWER: [409],
  ARGUMENT: [400],
  BUILD: [500],
  BUILD_FAULTS: [500],
  CELL_CONFLICT: [409, true],
  CHECKPOINT_DECODE: [500],
  CHECKPOINT_NOT_FOUND: [404],
  CONDITION: [500],
  CONTEXT: [500],
  CONTROL_PLANE: [503, true],
  CONTROL_PLANE_CLOSED: [503, true],
  DEAD_END: [500],
  DUPLICATE_CONDITIONAL_EDGE: [500],
  DUPLICATE_REGISTRATION: [500],
  DUPLICATE_VERTEX: [500],
  FATAL: [500],
  GRAPH_MISMATCH: [409],
  GRAPH_RUN_MISMATCH: [500],
  GRAPH_VERSION_MISMATCH: [409],
  HALT: [500],
  INTEGRITY: [500],
  MAILBOX_CONFLICT: [409, true],
  MAX_STEPS: [500],
  MIGRATION: [500],
  MISSING_ENTRY: [500],
  OWNERSHIP_LOST: [503, true],
  REDUCER: [422],
  RESUME_TERMINAL: [409],
  RETRY_LATER: [500],
  REVISION_CONFLICT: [409, true],
  RUN_ABORTED: [503, true],
  RUN_BUSY: [409, true],
  RUN_CANCELLED: [409],
  RUN_DEADLINE: [409],
  RUN_EXISTS: [409],
  SERIALIZATION: [422],
  STATE_SIZE: [413],
  STORE: [503, true],
  UNDECLARED_TARGET: [500],
  UNKNOWN_VERTEX: [500],
  UNREACHABLE_VERTEX: [500],
  VALIDATION: [422],
  VERTEX: [500],
  VERTEX_TIMEOUT: [500],
  WAIT_EXPIRED: [500],
};

/** Those whose own text is about nothing but what the caller has sent. */
const EXPLAIN = ["ARGUMENT", "GRAPH_VERSION_MISMATCH", "REDUCER", "SERIALIZATION", "STATE_SIZE"];

test("every error of the engine has a status, and the table names no other (W2)", () => {
  const codes = [...new Set(every.map(({ code }) => code))].sort();
  assert.deepEqual(codes, Object.keys(STATUSES));
  assert.deepEqual(codes.filter((code) => !isKnownCode(code)), []);
});

for (const error of every) {
  test(`${error.name} is answered with its status, and no text of it that may name what the caller must not see (W2)`, () => {
    const [status, retryable = false] = STATUSES[error.code]!;
    const answer = answerTo(error);
    assert.deepEqual(
      [answer.status, answer.body.error.code, answer.body.error.retryable],
      [status, error.code, retryable],
    );
    assert.equal(JSON.stringify(answer.body).includes(SECRET), EXPLAIN.includes(error.code));
  });
}

test("a run that no version served goes on with is refused with the first thing that does not fit, and nothing that user code threw (V2, W2)", () => {
  const { status, body } = answerTo(
    new GraphVersionMismatchError("r", "a:2", "a:1", "vertex x is gone", SECRET),
  );
  assert.deepEqual([status, body.error.issues], [409, [{ path: "", message: "vertex x is gone" }]]);
  assert.ok(!JSON.stringify(body).includes(SECRET));
});

test("a refused answer has the status of the reason, which it names (W2)", () => {
  const statuses = {
    unknown: 404,
    foreign: 404,
    closed: 409,
    answered: 409,
    expired: 409,
    not_open: 409,
    ambiguous: 409,
    invalid: 422,
  } as const;
  for (const [reason, status] of Object.entries(statuses)) {
    const error = new AnswerError(reason as keyof typeof statuses, "r", "w", "because", 7, {
      issues: [{ path: "a.b", message: "no" }],
      waits: ["w1", "w2"],
    });
    const { status: answered, body } = answerTo(error);
    assert.equal(answered, status, reason);
    assert.equal(body.error.reason, reason);
    assert.equal(body.error.revision, 7);
    assert.deepEqual(body.error.issues, [{ path: "a.b", message: "no" }]);
    assert.deepEqual(body.error.waits, ["w1", "w2"]);
  }
});

test("whatever else is thrown is an internal error without any text of it (W2)", () => {
  const liar = Object.defineProperty({}, "code", {
    get() {
      throw new Error(SECRET);
    },
  });
  for (const thrown of [new Error(SECRET), SECRET, undefined, null, 0, liar, { code: "VALIDATION" }]) {
    const { status, body } = answerTo(thrown);
    assert.deepEqual([status, body.error.code], [500, "INTERNAL"]);
    assert.ok(!JSON.stringify(body).includes(SECRET));
  }
});

test("faults of a request name where they are (W2)", () => {
  const { status, body } = answerTo(badRequest([{ path: ["items", 0, "name"], message: "too long" }]));
  assert.equal(status, 400);
  assert.deepEqual(body.error.issues, [{ path: "items.0.name", message: "too long" }]);
  assert.equal(answerTo(new HttpFault("NO_SUCH_CODE")).status, 500);
  assert.ok(every.every((error) => isSuperstepError(error)));
});
