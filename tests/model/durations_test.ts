// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Duration, timeOf, toMs } from "../../src/model/durations.ts";

test("a duration is milliseconds, or a number and a unit (D9)", () => {
  const known: readonly (readonly [Duration, number])[] = [
    [250, 250],
    ["200ms", 200],
    ["1 millisecond", 1],
    ["30s", 30_000],
    ["1.5 seconds", 1_500],
    ["2m", 120_000],
    ["2 min", 120_000],
    ["1h", 3_600_000],
    ["7d", 7 * 86_400_000],
    ["2 days", 2 * 86_400_000],
    ["1 week", 7 * 86_400_000],
    ["1y", 365.25 * 86_400_000],
    ["-1s", -1_000],
    ["0s", 0],
    ["0.0 h", 0],
  ];
  for (const [duration, ms] of known) assert.equal(toMs(duration), ms, String(duration));
  for (const text of [" 30s ", "30S", "5 Minutes", ".5s"]) assert.ok(toMs(text)! > 0, text);
});

test("NaN, infinities and texts without a known unit are no durations (D9)", () => {
  for (
    const wrong of [NaN, Infinity, "", "5", "0", "s", "0 parsecs", "5 parsecs", "1e3s", "1 s s", null, {}]
  ) {
    assert.equal(toMs(wrong), undefined, String(wrong));
  }
});

test("spans beyond what a Date can hold, and times that a span leads beyond it, are none (FT-B5, O4)", () => {
  for (const wrong of ["300000y", "-300000y", 1e300, -1e300, 8.64e15 + 2, Number.MAX_VALUE]) {
    assert.equal(toMs(wrong), undefined, String(wrong));
  }
  assert.equal(toMs(8.64e15), 8.64e15);
  assert.equal(timeOf(8.64e15, 1), undefined);
  assert.equal(timeOf("1s", 8.64e15), undefined);
  assert.equal(timeOf(new Date(NaN), 0), undefined);
  assert.deepEqual([timeOf("1s", 5), timeOf(new Date(7), 5), timeOf(-9, 5)], [1_005, 7, -4]);
});
