// Runs on deno by default: the compiler is the same everywhere.
/** Answers are typed by the definition of their wait. The lines marked `@ts-expect-error` are the test. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { type AnswerOf, defineWait, type Runner, type TaskContext, type WaitDefinition } from "../../mod.ts";

const Verdict = defineWait("verdict", z.object({ approve: z.boolean(), note: z.string().default("") }));
const Count = defineWait("count", z.coerce.number());

async function given(runner: Runner<unknown>, json: unknown): Promise<void> {
  await runner.answer("r", Verdict, { approve: true });
  await runner.answer("r", Verdict, { approve: true, note: "fine" });
  await runner.answer("r", Count, "3"); // coerced
  await runner.answer("r", Verdict, { approve: true }, { key: "ada" });
  await runner.answer("r", "w1", json); // by id: checked when it is given
  const open: WaitDefinition = Verdict;
  await runner.answer("r", open, json);
  // @ts-expect-error the verdict is missing
  await runner.answer("r", Verdict, { note: "fine" });
  // @ts-expect-error a verdict has no field `aprove`
  await runner.answer("r", Verdict, { approve: true, aprove: true });
  // @ts-expect-error a text is no verdict
  await runner.answer("r", Verdict, "yes");
  // @ts-expect-error nothing is known of it
  await runner.answer("r", Verdict, json);

  await runner.resume("r", { payload: json });
  await runner.resume("r", { wait: Verdict, payload: { approve: false }, all: true });
  // @ts-expect-error a verdict is no text
  await runner.resume("r", { wait: Verdict, payload: "yes" });
}

async function received(ctx: TaskContext): Promise<void> {
  const verdict = await ctx.waitFor(Verdict);
  verdict satisfies { approve: boolean; note: string };
  const same: AnswerOf<typeof Verdict> = verdict;
  same satisfies z.infer<typeof Verdict.schema>;
  const count: AnswerOf<typeof Count> = await ctx.waitFor(Count);
  count.toFixed();
  // @ts-expect-error the body gets the note too
  const short: AnswerOf<typeof Verdict> = { approve: true };
  // @ts-expect-error a count is a number
  const text: string = await ctx.waitFor(Count);
  void [short, text];
}

test("answers are typed by their definition, as they are given and as they are received (I2)", () => {
  for (const snippet of [given, received]) assert.equal(typeof snippet, "function");
});
