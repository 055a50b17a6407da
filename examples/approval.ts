/**
 * A sales question becomes an answer: drafted, checked for prices and promises in parallel, reviewed by a consultant,
 * refined as often as they ask for, or turned into a ticket that waits for an expert.
 *
 *               ┌─▶ price ─┐
 *     draft ────┤          ├─▶ review ──────▶ send
 *     ▲   │     └─▶ legal ─┘   │    │          ▲
 *     │   │                    │    │          │
 *     └───┼───── refine ───────┘    ▼          │
 *         └───── no answer known ─▶ ticket ────┘
 *
 * By hand, `bun examples/approval.ts …` or:
 *
 *     deno run -A examples/approval.ts start examples/data/question.json
 *     deno run -A examples/approval.ts waits
 *     deno run -A examples/approval.ts answer <wait> '{"verdict":"refine","note":"mention the volume discount"}'
 *     deno run -A examples/approval.ts resume <run>
 *     deno run -A examples/approval.ts history <run>
 *
 * @module
 */
import process from "node:process";
import {
  compile,
  defineWait,
  FatalError,
  Graph,
  OnError,
  Retry,
  type Runner,
  type Store,
  type Task,
  type TaskContext,
  Timeout,
  Vertex,
  WaitExpiredError,
  Workflow,
} from "superstep";
import { z } from "zod";
import { type Desk, localDesk } from "./approval/desk.ts";
import { commandLine } from "./support/command_line.ts";
import { isMain } from "./support/host.ts";
import type { Ledger } from "./support/ledger.ts";

/** A phrase of the draft that must not go out, and what to write instead. */
const Finding = z.object({ phrase: z.string(), instead: z.string() });
type Finding = z.infer<typeof Finding>;

/** What the consultant says to a draft. */
const Verdict = z.object({ verdict: z.enum(["approve", "refine", "ticket"]), note: z.string().optional() });
type Verdict = z.infer<typeof Verdict>;
export const ReviewVerdict = defineWait("verdict", Verdict);

/** What the expert says to a ticket, who has three days. */
const Expertise = z.object({ text: z.string().min(1) });
type Expertise = z.infer<typeof Expertise>;
export const ExpertAnswer = defineWait("expertise", Expertise, { deadline: "3d" });

/** The state of a run; its input is whatever has no default. */
export const Request = z.object({
  customer: z.string(),
  question: z.string().min(1),
  draft: z.string().default(""),
  findings: z.array(Finding).default([]),
  verdict: Verdict.shape.verdict.optional(),
  notes: z.array(z.string()).default([]),
  problem: z.string().optional(),
  mailId: z.string().optional(),
});
export type Request = z.infer<typeof Request>;

/** What the tasks take. */
type Brief = { text: string; findings: readonly Finding[] };
type Reviewable = { draft: string; findings: readonly Finding[] };
type Problem = { question: string; problem: string };
type Mail = { to: string; text: string };

@Graph({ id: "approval", version: 1 })
export class Approval extends Workflow(Request) {}

@Vertex({
  graph: Approval,
  id: "draft",
  entry: true,
  select: (s) => ({ text: [s.question, ...s.notes].join(" "), findings: s.findings }),
  reduce: (s, draft: string) => {
    s.draft = draft;
  },
  to: ["price", "legal"],
})
@Retry({ maxAttempts: 5, backoff: { initial: "200ms", factor: 2, max: "10s", jitter: true } })
@Timeout({ attempt: "30s", total: "2m" })
@OnError({
  graph: Approval,
  route: "ticket",
  record: (s, failure) => {
    s.problem = failure.message;
  },
})
export class Draft implements Task<Brief, string> {
  constructor(private readonly desk: Desk) {}

  async execute({ text, findings }: Brief, ctx: TaskContext): Promise<string> {
    const paragraphs = await this.desk.lookUp(text, ctx.signal);
    if (paragraphs.length === 0) throw new FatalError("the knowledge base has no answer"); // never retried
    const draft = paragraphs.join("\n");
    return findings.reduce((text, { phrase, instead }) => text.replaceAll(phrase, instead), draft);
  }
}

@Vertex({
  graph: Approval,
  id: "price",
  select: (s) => s.draft,
  reduce: (s, found: Finding[]) => {
    s.findings.push(...found);
  },
  to: "review",
})
@Retry({ maxAttempts: 5, backoff: { initial: "1s" } })
export class PriceCheck implements Task<string, Finding[]> {
  constructor(private readonly desk: Desk) {}

  async execute(draft: string): Promise<Finding[]> {
    return [...await this.desk.prices()].flatMap(([product, price]) => {
      const quoted = draft.match(new RegExp(`${product} costs (\\d+) EUR`));
      if (quoted === null || Number(quoted[1]) === price) return [];
      return [{ phrase: quoted[0], instead: `${product} costs ${price} EUR` }];
    });
  }
}

@Vertex({
  graph: Approval,
  id: "legal",
  select: (s) => s.draft,
  reduce: (s, found: Finding[]) => {
    s.findings.push(...found);
  },
  to: "review",
})
@Retry({ maxAttempts: 5, backoff: { initial: "1s" } })
export class LegalCheck implements Task<string, Finding[]> {
  constructor(private readonly desk: Desk) {}

  async execute(draft: string): Promise<Finding[]> {
    const promises = [...await this.desk.promises()].map(([phrase, instead]) => ({ phrase, instead }));
    return promises.filter(({ phrase }) => draft.includes(phrase));
  }
}

@Vertex({
  graph: Approval,
  id: "review",
  join: "all", // once both checks are in
  waits: [ReviewVerdict],
  select: (s) => ({ draft: s.draft, findings: s.findings.filter((f) => s.draft.includes(f.phrase)) }),
  reduce: (s, review: Verdict) => {
    s.verdict = review.verdict;
    if (review.note !== undefined) s.notes.push(review.note);
  },
  route: {
    targets: ["send", "draft", "ticket"],
    pick: (s) => s.verdict === "approve" ? "send" : s.verdict === "refine" ? "draft" : "ticket",
  },
})
export class Review implements Task<Reviewable, Verdict> {
  execute(input: Reviewable, ctx: TaskContext): Promise<Verdict> {
    return ctx.waitFor(ReviewVerdict, { info: input });
  }
}

@Vertex({
  graph: Approval,
  id: "ticket",
  label: "ask an expert",
  waits: [ExpertAnswer],
  select: (s) => ({
    question: s.question,
    problem: s.problem ?? s.notes.at(-1) ?? "the consultant asks for an expert",
  }),
  reduce: (s, answer: Expertise) => {
    s.draft = answer.text;
  },
  to: "send",
})
@OnError({
  graph: Approval,
  match: WaitExpiredError,
  route: "send",
  record: (s) => {
    s.draft = "We could not answer your question yet. Please call us.";
  },
})
export class AskExpert implements Task<Problem, Expertise> {
  constructor(private readonly desk: Desk) {}

  async execute(input: Problem, ctx: TaskContext): Promise<Expertise> {
    const ticket = { ...input, answerTo: ctx.waitId(ExpertAnswer) }; // known before the wait is open
    const id = await ctx.once("ticket", ({ idempotencyKey }) => this.desk.ticket(ticket, idempotencyKey));
    return await ctx.waitFor(ExpertAnswer, { info: { ticket: id, ...input } });
  }
}

@Vertex({
  graph: Approval,
  id: "send",
  finish: true,
  select: (s) => ({ to: s.customer, text: s.draft }),
  reduce: (s, mailId: string) => {
    s.mailId = mailId;
  },
})
@Retry({ maxAttempts: 5, backoff: { initial: "1s", jitter: true } })
export class Send implements Task<Mail, string> {
  constructor(private readonly desk: Desk) {}

  execute(mail: Mail, ctx: TaskContext): Promise<string> {
    return ctx.once("mail", ({ idempotencyKey }) => this.desk.mail(mail, idempotencyKey));
  }
}

/** The workflow on a store; every body, outcome and effect goes to the ledger. */
export function approvalRunner(store: Store, ledger: Ledger, desk: Desk): Runner<Request> {
  return compile(Approval, {
    store,
    provide: (cls) => ledger.watch(new cls(desk)),
    hooks: ledger.hooks,
  });
}

if (isMain(import.meta.url)) {
  // Drafting takes a moment, so that there is something to watch, and to kill.
  process.exitCode = await commandLine(
    "approval",
    (store, ledger) => approvalRunner(store, ledger, localDesk(ledger, { thinkMs: 1_000 })),
  );
}
