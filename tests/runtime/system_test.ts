import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mock, test } from "node:test";
import { promisify } from "node:util";
import { systemRuntime } from "../../src/runtime/system.ts";
import { commandFor, HOST } from "../support/runtimes.ts";

const DAY = 24 * 3_600_000;

/** Runs a test on mocked platform timers and a mocked wall clock. */
function onMockedTime(run: (tick: (ms: number) => void, setClock: (now: number) => void) => void): void {
  const real = { setTimeout: globalThis.setTimeout, clearTimeout: globalThis.clearTimeout, now: Date.now };
  const pending = new Map<number, { due: number; run: () => void }>();
  const longest: number[] = [];
  let elapsed = 0;
  let wall = 1_000_000;
  let ids = 0;
  Object.assign(globalThis, {
    setTimeout: (callback: () => void, delay: number) => {
      longest.push(delay);
      // What every platform does with a delay that is too long.
      const kept = delay > 2 ** 31 - 1 ? 1 : delay;
      pending.set(++ids, { due: elapsed + Math.max(0, kept), run: callback });
      return ids;
    },
    clearTimeout: (id: number) => void pending.delete(id),
  });
  Date.now = () => wall;
  try {
    run((ms) => {
      const until = elapsed + ms;
      for (;;) {
        const next = [...pending].filter(([, t]) => t.due <= until).sort((a, b) => a[1].due - b[1].due)[0];
        if (next === undefined) break;
        wall += next[1].due - elapsed;
        elapsed = next[1].due;
        pending.delete(next[0]);
        next[1].run();
      }
      wall += until - elapsed;
      elapsed = until;
    }, (now) => wall = now);
    assert.ok(
      longest.every((delay) => delay <= 2 ** 31 - 1),
      `a platform timer of ${Math.max(...longest)} ms`,
    );
  } finally {
    Object.assign(globalThis, { setTimeout: real.setTimeout, clearTimeout: real.clearTimeout });
    Date.now = real.now;
  }
}

test("a timer of a year fires once, at its time, and never overflows the platform's (O4)", () => {
  onMockedTime((tick) => {
    const fired = mock.fn();
    systemRuntime.wakeAt(systemRuntime.now() + 365 * DAY, fired);
    tick(365 * DAY - 1);
    assert.equal(fired.mock.callCount(), 0);
    tick(1);
    assert.equal(fired.mock.callCount(), 1);
    tick(1_000 * DAY);
    assert.equal(fired.mock.callCount(), 1);
  });
});

test("a timer never fires early when the wall clock is set back (O4)", () => {
  onMockedTime((tick, setClock) => {
    const fired = mock.fn();
    const begun = systemRuntime.now();
    systemRuntime.wakeAt(begun + 1_000, fired);
    tick(500);
    setClock(begun - 3_600_000);
    tick(500);
    assert.equal(fired.mock.callCount(), 0, "its delay is over, its time has not come");
    tick(3_600_000 + 500);
    assert.equal(fired.mock.callCount(), 1);
  });
});

test("an interval ends when it is over, whichever way the wall clock is set meanwhile, also one of a year (O6)", () => {
  onMockedTime((tick, setClock) => {
    const fired = mock.fn();
    systemRuntime.wakeIn(1_000, fired);
    tick(500);
    setClock(systemRuntime.now() - 3_600_000);
    tick(499);
    setClock(systemRuntime.now() + 7_200_000);
    assert.equal(fired.mock.callCount(), 0);
    tick(1);
    assert.equal(fired.mock.callCount(), 1);

    const long = mock.fn();
    systemRuntime.wakeIn(365 * DAY, long);
    tick(365 * DAY - 1);
    assert.equal(long.mock.callCount(), 0);
    tick(1);
    assert.equal(long.mock.callCount(), 1);
    systemRuntime.wakeIn(10, long).cancel();
    tick(DAY);
    assert.equal(long.mock.callCount(), 1);
  });
});

test("a time that has passed is due now, and a cancelled timer never fires (O4)", () => {
  onMockedTime((tick) => {
    const due = mock.fn();
    const dropped = mock.fn();
    systemRuntime.wakeAt(systemRuntime.now() - DAY, due);
    systemRuntime.wakeAt(systemRuntime.now() + 10, dropped).cancel();
    const late = systemRuntime.wakeAt(systemRuntime.now() + 100 * DAY, dropped);
    tick(30 * DAY);
    late.cancel();
    tick(100 * DAY);
    assert.equal(due.mock.callCount(), 1);
    assert.equal(dropped.mock.callCount(), 0);
  });
});

test("ids are UUIDv7: of version and variant, distinct, in the order of their milliseconds", () => {
  const ids = Array.from({ length: 1_000 }, () => systemRuntime.uuid());
  for (const id of ids) {
    assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  }
  assert.equal(new Set(ids).size, ids.length);
  const times = ids.map((id) => parseInt(id.replace("-", "").slice(0, 12), 16));
  assert.deepEqual(times, [...times].sort((a, b) => a - b));
  assert.ok(Math.abs(times.at(-1)! - Date.now()) < 60_000);
});

test("a macrotask runs after every microtask that was queued before it and those that follow", async () => {
  const seen: string[] = [];
  await new Promise<void>((resolve) => {
    systemRuntime.macrotask(() => {
      seen.push("macrotask");
      resolve();
    });
    void (async () => {
      for (let i = 0; i < 100; i++) await undefined;
      seen.push("microtasks");
    })();
  });
  assert.deepEqual(seen, ["microtasks", "macrotask"]);
});

for (const keepAlive of [true, false]) {
  test(`a timer ${keepAlive ? "keeps" : "that is detached does not keep"} its process alive`, async () => {
    const { command, args } = commandFor(HOST, "tests/runtime/timer.ts", [String(keepAlive)]);
    const { stdout } = await promisify(execFile)(command, [...args]);
    assert.equal(stdout.trim(), keepAlive ? "begun fired" : "begun");
  });
}
