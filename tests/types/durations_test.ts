// Runs on deno by default: the compiler is the same everywhere.
/** Which durations the compiler accepts and which it refuses. The lines marked `@ts-expect-error` are the test. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Duration, Retry, RetryLater, type RetryPolicy, type TaskContext, Timeout } from "../../mod.ts";

async function durations(ctx: TaskContext, fromOutside: string, seconds: number): Promise<void> {
  const accepted: Duration[] = [
    250,
    "200ms",
    "30s",
    "1.5 hours",
    "2 days",
    "-1m",
    `${seconds}s`,
    1_000 * seconds,
  ];
  await ctx.sleep("nap", "2 days");
  await ctx.sleep("nap", new Date(0));
  await ctx.sleep("nap", fromOutside as Duration);
  Timeout({ attempt: "30s", total: "2m" });

  // @ts-expect-error no such unit
  await ctx.sleep("nap", "2 dayz");
  // @ts-expect-error no unit
  await ctx.sleep("nap", "30");
  // @ts-expect-error no number
  Timeout("soon");
  // @ts-expect-error no such unit
  Retry({ maxAttempts: 2, backoff: { initial: "200msec." } });
  new RetryLater("5s");
  // @ts-expect-error no number
  new RetryLater("soon");
  // @ts-expect-error nothing is known of the text
  await ctx.sleep("nap", fromOutside);
  // @ts-expect-error no such unit
  const retry: RetryPolicy = { maxAttempts: 2, backoff: () => "1 fortnight" };
  void [accepted, retry];
}

test("a duration with a typing error does not compile (D9)", () => {
  assert.equal(typeof durations, "function");
});
