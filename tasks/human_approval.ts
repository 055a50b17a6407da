import { type Duration, type Task, type TaskContext, type WaitDefinition, WaitExpiredError } from "../mod.ts";

/** A request for an answer, as whoever tells people about it sees it. */
export interface ApprovalRequest {
  /** What the vertex has selected; it stands with the open wait too. */
  readonly info: unknown;
  /** The run that waits. */
  readonly runId: string;
  /** Names the wait: `runner.answer(runId, waitId, value)`. */
  readonly waitId: string;
  /** 0 when it is first asked, then the number of the reminder. */
  readonly reminder: number;
  /** Hand it to whatever sends the message, so that a crash sends none twice. */
  readonly idempotencyKey: string;
  /** The signal of the attempt. */
  readonly signal: AbortSignal;
}

/** How people are asked, and what happens when they are silent. */
export interface HumanApprovalOptions<T> {
  /** How long the wait stays open. @default that of the wait, or for ever */
  readonly deadline?: Duration;
  /** The answer that silence stands for, once the deadline has passed. @default the vertex fails with `WaitExpiredError` */
  readonly silence?: T;
  /**
   * Tells people: once when the wait is open, and again with every reminder. What it throws the first time fails the
   * attempt, to be retried under the policy of the vertex; a reminder that fails is only logged.
   */
  readonly notify?: (request: ApprovalRequest) => unknown;
  /** How long after the request, and after each reminder, the next one is sent. @default no reminders */
  readonly remindEvery?: Duration;
  /** The most reminders. @default 10 */
  readonly reminders?: number;
}

/**
 * Asks a person: shows the input of the vertex with an open wait, and its output is the answer. The wait is listed by
 * `runner.waits()` and answered from any process, for as long as it takes.
 *
 * @example
 * ```ts
 * const Verdict = defineWait("verdict", z.object({ ok: z.boolean(), by: z.string() }));
 * type Answer = { ok: boolean; by: string };
 *
 * @Graph({ id: "order" })
 * class Order extends Workflow(z.object({ items: z.array(z.string()), approvedBy: z.string().default("") })) {}
 *
 * class Approve extends HumanApproval<Answer> {
 *   constructor() {
 *     super(Verdict, { deadline: "7d", silence: { ok: false, by: "nobody" } });
 *   }
 * }
 * Vertex({
 *   graph: Order, id: "approve", entry: true, finish: true, waits: [Verdict],
 *   select: (s) => s.items,
 *   reduce: (s, answer: Answer) => { s.approvedBy = answer.by; },
 * })(Approve);
 *
 * const runner = compile(Order, { store: memoryStore() });
 * const { run } = await runner.run({ items: ["tea"] });
 * const result = await runner.resume(run.runId, { payload: { ok: true, by: "Kim" } });
 * assert.equal(result.state.approvedBy, "Kim");
 * ```
 */
export class HumanApproval<T> implements Task<unknown, T> {
  readonly #wait: WaitDefinition<T>;
  readonly #options: HumanApprovalOptions<T>;

  /** `wait`: what is asked; list it under `waits` of the vertex too. */
  constructor(wait: WaitDefinition<T>, options: HumanApprovalOptions<T> = {}) {
    this.#wait = wait;
    this.#options = options;
  }

  /** Waits for the answer. */
  async execute(info: unknown, ctx: TaskContext): Promise<T> {
    const { deadline, notify } = this.#options;
    const answer = ctx.waitFor(this.#wait, { info, ...(deadline === undefined ? {} : { deadline }) });
    try {
      return notify === undefined ? await answer : await this.#tell(answer, info, ctx, notify);
    } catch (error) {
      if (!(error instanceof WaitExpiredError) || !("silence" in this.#options)) throw error;
      return this.#options.silence as T;
    }
  }

  async #tell(
    answer: Promise<T>,
    info: unknown,
    ctx: TaskContext,
    notify: (request: ApprovalRequest) => unknown,
  ): Promise<T> {
    const { remindEvery, reminders = 10 } = this.#options;
    const { runId } = ctx;
    const waitId = ctx.waitId(this.#wait);
    let answered = false;
    answer.then(() => answered = true, () => {});
    for (let reminder = 0; reminder <= (remindEvery === undefined ? 0 : reminders); reminder++) {
      // Nobody is told of a wait before it is open, and open it is once this timer has fired.
      await Promise.race([answer, ctx.sleep(`notify-${reminder}`, reminder === 0 ? 0 : remindEvery!)]);
      if (answered) break;
      await ctx.once(`notify-${reminder}`, async ({ signal, idempotencyKey }) => {
        try {
          await notify({ info, runId, waitId, reminder, signal, idempotencyKey });
        } catch (error) {
          if (reminder === 0) throw error;
          ctx.log(`reminder ${reminder} was not sent`, { waitId, error });
        }
      });
    }
    return await answer;
  }
}
