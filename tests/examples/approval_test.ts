import assert from "node:assert/strict";
import { test } from "node:test";
import { compile, isSuperstepError, type OpenWait, type Runner, type RunResult } from "superstep";
import { memoryStore } from "superstep/store/memory";
import { VirtualClock } from "../../src/testing/virtual_clock.ts";
import { Approval, type Request } from "../../examples/approval.ts";
import type { Desk, Mail, Ticket } from "../../examples/approval/desk.ts";
import { ARTICLES, PRICES, PROMISES } from "../../examples/approval/knowledge.ts";

/** A desk that remembers what it was asked to do. */
class TestDesk implements Desk {
  readonly effects: { readonly key: string; readonly sent: Mail | Ticket }[] = [];
  lookUps = 0;

  constructor(readonly find: (text: string, lookUp: number) => readonly string[]) {}

  // deno-lint-ignore require-await
  async lookUp(text: string): Promise<readonly string[]> {
    return this.find(text, ++this.lookUps);
  }
  prices = () => Promise.resolve(new Map(Object.entries(PRICES)));
  promises = () => Promise.resolve(new Map(Object.entries(PROMISES)));
  mail = (sent: Mail, key: string) => Promise.resolve(`mail ${this.effects.push({ key, sent })}`);
  ticket = (sent: Ticket, key: string) => Promise.resolve(`ticket ${this.effects.push({ key, sent })}`);
}

const [AROMA, , DELIVERY, DISCOUNT] = ARTICLES.map((article) => article.text) as [
  string,
  string,
  string,
  string,
];
const QUESTION = { customer: "kim@example.com", question: "What does it cost?" };

/** The workflow at work on a desk, on a clock that moves by itself whenever nothing happens. */
class Office {
  readonly clock = new VirtualClock();
  readonly runner: Runner<Request>;

  constructor(readonly desk: TestDesk) {
    const logger = { info: () => {}, warn: () => {} };
    this.runner = compile(Approval, {
      store: memoryStore(),
      runtime: this.clock,
      provide: (cls) => new cls(desk),
      logger,
    });
  }

  async ask(): Promise<OpenWait> {
    return openWait(await this.clock.drive(this.runner.run(QUESTION, { runId: "r" })));
  }

  async answer(wait: OpenWait, value: unknown): Promise<RunResult<Request>> {
    await this.runner.answer("r", wait.waitId, value);
    return await this.clock.drive(this.runner.resume("r"));
  }
}

function openWait(result: RunResult<Request>): OpenWait {
  assert.equal(result.status, "interrupted");
  assert.ok(result.status === "interrupted" && result.reason === "awaiting");
  assert.equal(result.waits.length, 1);
  return result.waits[0]!;
}

test("approval: an approved draft is sent once, under the key of the once", async () => {
  const office = new Office(new TestDesk(() => ["Fine."]));
  const wait = await office.ask();
  assert.deepEqual([wait.name, wait.vertexId, wait.info], ["verdict", "review", {
    draft: "Fine.",
    findings: [],
  }]);
  const result = await office.answer(wait, { verdict: "approve" });
  assert.equal(result.status, "completed");
  assert.deepEqual(result.path, ["draft", "legal", "price", "review", "send"]);
  assert.deepEqual(office.desk.effects, [
    {
      key: "graph=approval/run=r/step=3/vertex=send/once=mail",
      sent: { to: "kim@example.com", text: "Fine." },
    },
  ]);
  assert.equal(result.state.mailId, "mail 1");
});

test("approval: both checks report to the review, and a refined draft has what they found put right", async () => {
  const office = new Office(
    new TestDesk((text) => [AROMA, DELIVERY, ...(text.includes("discount") ? [DISCOUNT] : [])]),
  );
  const first = await office.ask();
  assert.deepEqual((first.info as { findings: unknown }).findings, [
    { phrase: "We guarantee delivery within", instead: "Delivery usually takes" },
    { phrase: "Aroma 300 costs 2390 EUR", instead: "Aroma 300 costs 2490 EUR" },
  ]);
  const second = openWait(await office.answer(first, { verdict: "refine", note: "and the discount" }));
  assert.notEqual(second.waitId, first.waitId);
  const { draft, findings } = second.info as { draft: string; findings: unknown };
  assert.deepEqual(findings, []);
  assert.equal(
    draft,
    "The Aroma 300 costs 2490 EUR, for offices of up to thirty people.\n" +
      "Delivery usually takes five working days.\n" + DISCOUNT,
  );
  const result = await office.answer(second, { verdict: "approve" });
  assert.deepEqual(result.path, [
    ...["draft", "legal", "price", "review"],
    ...["draft", "legal", "price", "review"],
    "send",
  ]);
});

test("approval: a ticket names the wait of its answer before it is open, and the expert's text is sent", async () => {
  const office = new Office(new TestDesk(() => ["Hm."]));
  const wait = await office.ask();
  const expert = openWait(await office.answer(wait, { verdict: "ticket", note: "too technical" }));
  const [ticket] = office.desk.effects;
  assert.equal(ticket?.key, "graph=approval/run=r/step=3/vertex=ticket/once=ticket");
  assert.deepEqual(ticket?.sent, {
    question: QUESTION.question,
    problem: "too technical",
    answerTo: expert.waitId,
  });
  const result = await office.answer(expert, { text: "It does." });
  assert.equal(result.status, "completed");
  assert.deepEqual(office.desk.effects.slice(1).map((effect) => effect.sent), [
    { to: "kim@example.com", text: "It does." },
  ]);
});

test("approval: a question that nothing is known about goes to the expert without a retry", async () => {
  const office = new Office(new TestDesk(() => []));
  const expert = await office.ask();
  assert.equal(office.desk.lookUps, 1);
  assert.equal(expert.vertexId, "ticket");
  assert.equal((expert.info as { problem: string }).problem, "the knowledge base has no answer");
  const [routed] = (await office.runner.history("r")).rows.flatMap((entry) => entry.routes);
  assert.deepEqual(routed, { from: "draft", to: "ticket", kind: "error" });
});

for (const failures of [4, 5]) {
  const outcome = failures < 5 ? "is retried until it answers" : "goes to the expert after five attempts";
  test(`approval: a knowledge base that fails ${failures} times ${outcome}`, async () => {
    const office = new Office(
      new TestDesk((_, lookUp) => {
        if (lookUp <= failures) throw new Error(`failure ${lookUp}`);
        return ["Fine."];
      }),
    );
    const wait = await office.ask();
    assert.equal(office.desk.lookUps, 5);
    assert.equal(wait.vertexId, failures < 5 ? "review" : "ticket");
    if (failures === 5) assert.equal((wait.info as { problem: string }).problem, "failure 5");
  });
}

test("approval: a ticket that nobody answers within three days ends in an apology", async () => {
  const office = new Office(new TestDesk(() => []));
  await office.ask();
  await office.clock.advance("3d");
  const result = await office.clock.drive(office.runner.resume("r"));
  assert.equal(result.status, "completed");
  assert.match((office.desk.effects.at(-1)!.sent as Mail).text, /could not answer/);
  assert.deepEqual(result.path, ["draft", "ticket", "send"]);
});

test("approval: a verdict that the schema does not know is refused and changes nothing", async () => {
  const office = new Office(new TestDesk(() => ["Fine."]));
  const wait = await office.ask();
  const before = await office.runner.status("r");
  await assert.rejects(
    office.runner.answer("r", wait.waitId, { verdict: "maybe" }),
    (error) => isSuperstepError(error, "ANSWER"),
  );
  assert.deepEqual(await office.runner.status("r"), before);
});
