// Runs on deno and bun by default: Deno and Node have the same engine of JavaScript; stores, timers and processes have tests on all three.
import assert from "node:assert/strict";
import { setTimeout as realSleep } from "node:timers/promises";
import { test } from "node:test";
import { VirtualClock } from "../../src/testing/mod.ts";

test("timers fire in the order of their times, then of their making, each at its own time", async () => {
  const clock = new VirtualClock({ start: 0 });
  const fired: string[] = [];
  const note = (name: string) => () => void fired.push(`${name}@${clock.now()}`);
  clock.wakeAt(20, note("late"));
  clock.wakeAt(10, note("first"));
  clock.wakeAt(10, note("second"));
  clock.wakeAt(-5, note("due"));
  clock.wakeAt(10, note("dropped")).cancel();
  await clock.advance(19);
  assert.deepEqual(fired, ["due@0", "first@10", "second@10"]);
  assert.equal(clock.pending, 1);
  assert.equal(clock.next, 20);
  await clock.advance(1);
  assert.deepEqual(fired.slice(3), ["late@20"]);
});

test("what a timer wakes settles before the next timer fires", async () => {
  const clock = new VirtualClock({ start: 0 });
  const seen: string[] = [];
  clock.wakeAt(1, async () => {
    for (let i = 0; i < 50; i++) await new Promise<void>((resolve) => clock.macrotask(resolve));
    seen.push("settled");
  });
  clock.wakeAt(2, () => seen.push("next"));
  await clock.advance(2);
  assert.deepEqual(seen, ["settled", "next"]);
});

test("setting the clock moves neither intervals nor the time that has passed (O6)", async () => {
  const clock = new VirtualClock({ start: 0 });
  const fired: string[] = [];
  const begun = clock.elapsed();
  clock.wakeIn(10, () => void fired.push("interval"));
  clock.wakeAt(10, () => void fired.push("time"));
  clock.step("1h");
  await clock.advance(9);
  assert.deepEqual(fired, ["time"], "what was due by the clock is due at once");
  assert.equal(clock.elapsed() - begun, 9);
  clock.step("-3h");
  await clock.advance(1);
  assert.deepEqual(fired, ["time", "interval"]);
  const fork = clock.fork();
  fork.wakeIn(5, () => void fired.push("of a fork that was stopped"));
  fork.stop();
  await clock.advance(5);
  assert.equal(fork.elapsed() - begun, 15);
  assert.equal(fired.length, 2);
});

test("ids and randomness come from the seed", () => {
  const draw = (seed: number) => {
    const clock = new VirtualClock({ seed });
    return [clock.uuid(), clock.uuid(), clock.random()];
  };
  assert.deepEqual(draw(3), draw(3));
  assert.notDeepEqual(draw(3), draw(4));
  const [id] = draw(3);
  assert.match(String(id), /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/);
});

test("a clock that is set back fires nothing early", async () => {
  const clock = new VirtualClock({ start: 1_000 });
  let fired = 0;
  clock.wakeAt(1_500, () => fired++);
  clock.step(-500);
  await clock.advance(500);
  assert.equal(fired, 0);
  await clock.advance(500);
  assert.equal(fired, 1);
});

test("time does not move while held work is pending", async () => {
  const clock = new VirtualClock({ start: 0 });
  const seen: string[] = [];
  clock.wakeAt(5, () => seen.push(`timer@${clock.now()}`));
  const work = clock.hold(realSleep(20)).then(() => seen.push(`work@${clock.now()}`));
  await clock.advance(5);
  await work;
  assert.deepEqual(seen, ["work@0", "timer@5"]);
});

test("drive moves time as far as the work needs, and lets working bodies finish first", async () => {
  const clock = new VirtualClock({ start: 0 });
  assert.equal(await clock.drive(clock.sleep("1h").then(() => clock.now())), 3_600_000);
  const timeout = new Promise((resolve) => clock.wakeAt(clock.now() + 1_000, () => resolve("timeout")));
  const body = clock.observe(() => realSleep(5).then(() => "body"));
  assert.equal(await clock.drive(Promise.race([timeout, body])), "body");
});

test("a body that hangs does not stop time, and one that was aborted is not waited for", async () => {
  const clock = new VirtualClock({ start: 0 });
  const hang = new AbortController();
  void clock.observe(() => new Promise<void>(() => {}), hang.signal);
  assert.equal(await clock.drive(clock.sleep(10).then(() => clock.now())), 10);
  hang.abort();
  assert.equal(await clock.drive(clock.sleep(10).then(() => clock.now())), 20);
});

test("drive says that nothing can end the work", async () => {
  const clock = new VirtualClock();
  await assert.rejects(clock.drive(new Promise(() => {})), /no timer brings/);
});

test("drive asks before it moves time", async () => {
  const clock = new VirtualClock({ start: 0 });
  let resolve!: (value: number) => void;
  const work = new Promise<number>((r) => resolve = r);
  clock.wakeAt(10, () => resolve(10));
  let asked = 0;
  const idle = () => {
    if (++asked === 2) resolve(clock.now());
    return asked <= 2;
  };
  assert.equal(await clock.drive(work, { idle }), 0);
  assert.equal(asked, 2);
});

test("a fork shares time and ids; once stopped, nothing of it fires and everything else does", async () => {
  const clock = new VirtualClock({ start: 0 });
  const fork = clock.fork();
  const seen: string[] = [];
  assert.equal(fork.now(), 0);
  assert.notEqual(fork.uuid(), clock.uuid());
  fork.wakeAt(1, () => seen.push("early"));
  fork.wakeAt(5, () => seen.push("never"));
  fork.wakeAt(1, () => seen.push("dropped")).cancel();
  void fork.sleep(5).then(() => seen.push("never"));
  clock.wakeAt(5, () => seen.push("clock"));
  await clock.advance(1);
  fork.macrotask(() => seen.push("never"));
  fork.stop();
  fork.wakeAt(6, () => seen.push("never"));
  await clock.advance(10);
  assert.deepEqual(seen, ["early", "clock"]);
  assert.equal(clock.pending, 0);
});

test("a span that is none is refused", async () => {
  const clock = new VirtualClock();
  await assert.rejects(clock.advance("soon" as never), /cannot advance a clock by soon/);
  assert.throws(() => clock.step(NaN), /cannot step a clock by NaN/);
});
