import assert from "node:assert/strict";
import { test } from "node:test";
import { compile, defineWait, Graph, GraphBuilder, isSuperstepError, OnError, Vertex } from "superstep";
import { WaitExpiredError, Workflow } from "superstep";
import { memoryStore } from "superstep/store/memory";
import { z } from "zod";
import { crashTest } from "../../src/testing/crash_test.ts";
import { testRunner } from "../../src/testing/test_runner.ts";
import { VirtualClock } from "../../src/testing/virtual_clock.ts";
import { Delay } from "../../tasks/delay.ts";
import {
  type ApprovalRequest,
  HumanApproval,
  type HumanApprovalOptions,
} from "../../tasks/human_approval.ts";

interface Answer {
  by: string;
}

const Approved = defineWait("approved", z.object({ by: z.string() }), { deadline: "7d" });
const Order = z.object({ items: z.array(z.string()), approvedBy: z.string().optional() });

@Graph({ id: "waiting" })
class Waiting extends Workflow(Order) {}

@Vertex({
  graph: Waiting,
  id: "cool_down",
  entry: true,
  select: () => ({ for: "2h" as const }),
  reduce: () => {},
  to: "approve",
})
export class CoolDown extends Delay {}

@Vertex({
  graph: Waiting,
  id: "approve",
  waits: [Approved],
  select: (s) => ({ items: s.items }),
  reduce: (s, answer: Answer) => {
    s.approvedBy = answer.by;
  },
  to: "last_call",
})
@OnError({ graph: Waiting, match: WaitExpiredError, route: "last_call" })
export class Approve extends HumanApproval<Answer> {
  constructor() {
    super(Approved);
  }
}

@Vertex({
  graph: Waiting,
  id: "last_call",
  finish: true,
  select: () => ({ until: new Date(0) }),
  reduce: () => {},
})
export class LastCall extends Delay {}

function office() {
  const clock = new VirtualClock();
  const runner = compile(Waiting, { store: memoryStore(), runtime: clock });
  return { clock, runner };
}

test("Delay lets the run go until its time, not earlier, and a time in the past is now", async () => {
  const { clock, runner } = office();
  const begun = clock.now();
  const asleep = await clock.drive(runner.run({ items: [] }, { runId: "w" }));
  assert.ok(asleep.status === "interrupted" && asleep.reason === "sleeping");
  assert.deepEqual(asleep.waits.map((wait) => wait.due), [begun + 2 * 3_600_000]);
  await clock.advance(2 * 3_600_000 - 30_001); // a timer that is due within 30 s is awaited
  assert.equal((await runner.resume("w")).run.reason, "sleeping");
  await clock.advance(30_001);
  assert.equal((await clock.drive(runner.resume("w"))).run.reason, "awaiting");
});

test("HumanApproval shows its input with the wait, and its output is the answer", async () => {
  const { clock, runner } = office();
  await clock.drive(runner.run({ items: ["tea"] }, { runId: "w" }));
  await clock.advance("2h");
  await clock.drive(runner.resume("w"));
  const [wait] = (await runner.waits()).rows;
  assert.deepEqual([wait?.name, wait?.info], ["approved", { items: ["tea"] }]);
  await runner.answer("w", wait!.waitId, { by: "kim" });
  const result = await clock.drive(runner.resume("w"));
  assert.equal(result.status, "completed");
  assert.equal(result.state.approvedBy, "kim");
});

test("HumanApproval fails with WaitExpiredError when the deadline of its wait passes", async () => {
  const { clock, runner } = office();
  await clock.drive(runner.run({ items: [] }, { runId: "w" }));
  await clock.advance("2h");
  await clock.drive(runner.resume("w"));
  await clock.advance("7d");
  const result = await clock.drive(runner.resume("w"));
  assert.equal(result.status, "completed");
  assert.equal(result.state.approvedBy, undefined);
});

const Ask = defineWait("ask", z.object({ by: z.string() }));

/** A workflow of one question. */
function question(options: HumanApprovalOptions<Answer>) {
  return new GraphBuilder({
    id: "question",
    schema: z.object({ text: z.string(), answeredBy: z.string().default("") }),
  })
    .addVertex({
      id: "ask",
      waits: [Ask],
      task: new HumanApproval<Answer>(Ask, options),
      select: (s) => s.text,
      reduce: (s, answer: Answer) => {
        s.answeredBy = answer.by;
      },
      retry: { maxAttempts: 2 },
    })
    .build({ entry: "ask", finish: "ask" });
}

test("HumanApproval takes silence for an answer where one is given, at its own deadline", async () => {
  const { clock, ...lab } = testRunner(question({ deadline: "3d", silence: { by: "nobody" } }));
  const begun = clock.now();
  const result = await lab.run({ text: "may I?" });
  assert.deepEqual([result.status, result.state.answeredBy], ["completed", "nobody"]);
  assert.equal(clock.now(), begun + 3 * 86_400_000);
});

test("HumanApproval tells people once the wait can be answered, and again until somebody answers", async () => {
  const clock = new VirtualClock();
  const store = memoryStore();
  const told: [number, unknown, number, string][] = [];
  const open: string[] = [];
  const notify = async ({ reminder, info, idempotencyKey, waitId, runId }: ApprovalRequest) => {
    told.push([reminder, info, clock.now() - begun, idempotencyKey]);
    if (reminder > 0) return;
    const { rows } = await store.waits({ runId });
    open.push(waitId, ...rows.map((row) => row.waitId));
  };
  const begun = clock.now();
  const lab = testRunner(question({ notify, remindEvery: "1d", reminders: 2 }), { clock, store });
  const waiting = await lab.run({ text: "may I?" }, { runId: "q" });
  assert.equal(waiting.run.reason, "awaiting");
  const key = (n: number) => `graph=question/run=q/step=0/vertex=ask/once=notify-${n}`;
  assert.deepEqual(told, [0, 1, 2].map((n) => [n, "may I?", n * 86_400_000, key(n)]));
  assert.equal(open.length, 2);
  assert.equal(open[0], open[1]);
  const done = await lab.resume("q", { payload: { by: "kim" } });
  assert.deepEqual([done.status, done.state.answeredBy, told.length], ["completed", "kim", 3]);
});

test("HumanApproval: an answer between two reminders ends them", async () => {
  let told = 0;
  const lab = testRunner(question({ notify: () => void told++, remindEvery: "1d" }));
  const handle = await lab.start({ text: "may I?" }, { runId: "q" });
  await lab.clock.drive(handle.result());
  const { rows: [wait] } = await lab.runner.waits();
  await lab.runner.answer("q", wait!.waitId, { by: "kim" });
  const done = await lab.resume("q");
  assert.deepEqual([done.status, done.state.answeredBy, told], ["completed", "kim", 1]);
});

test("HumanApproval: a first message that fails is the policy's affair, a reminder that fails is logged", async () => {
  const log: string[] = [];
  let tries = 0;
  const notify = ({ reminder }: ApprovalRequest) => {
    tries++;
    if (tries === 1 || reminder === 1) throw new Error("no mail");
  };
  const logger = { info: (message: string) => void log.push(message), warn: () => {} };
  const lab = testRunner(question({ notify, remindEvery: "1d", reminders: 2 }), { logger });
  const waiting = await lab.run({ text: "may I?" }, { runId: "q" });
  assert.equal(waiting.run.reason, "awaiting");
  assert.equal(tries, 4);
  assert.deepEqual(log, ["reminder 1 was not sent"]);
});

test("HumanApproval under a crash at every write: one answer, and every message under its own key", async () => {
  const report = await crashTest(question({}), {
    input: { text: "may I?" },
    answers: { ask: { by: "kim" } },
    tasks: (effects) => ({
      ask: (info: unknown, ctx) =>
        new HumanApproval<Answer>(Ask, {
          remindEvery: "1d",
          notify: ({ idempotencyKey }) => effects.happen(idempotencyKey),
        }).execute(info, ctx),
    }),
  });
  assert.ok(report.crashes.length >= 2 * report.writes);
});

test("HumanApproval needs its wait among those of the vertex", async () => {
  const graph = new GraphBuilder({ id: "forgetful", schema: z.object({ answer: z.unknown() }) })
    .addVertex({
      id: "ask",
      task: new HumanApproval<Answer>(Ask),
      select: () => "",
      reduce: () => {},
    })
    .build({ entry: "ask", finish: "ask" });
  const result = await testRunner(graph).run({ answer: null });
  assert.ok(result.status === "interrupted");
  assert.match(result.failures[0]!.failure.message, /does not declare|do not declare/);
  assert.ok(isSuperstepError(result.failures[0]!.error, "VERTEX"));
});
