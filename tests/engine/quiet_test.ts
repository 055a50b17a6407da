// Runs on deno by default: the same code decides on every runtime.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Quiet } from "../../src/engine/quiet.ts";
import { systemRuntime } from "../../src/runtime/system.ts";

/** A process whose timers are all late: what is due fires by hand, and once for each turn of its event loop. */
class SlowProcess {
  readonly delays: number[] = [];
  #due: (() => void)[] = [];

  readonly runtime = {
    ...systemRuntime,
    pause: (delay: number, run: () => void) => {
      this.delays.push(delay);
      this.#due.push(run);
      return { cancel: () => this.#due = this.#due.filter((each) => each !== run) };
    },
    macrotask: (run: () => void) => void this.#due.push(run),
  };

  /** Whether anything was due in this turn. */
  turn(): boolean {
    const due = this.#due;
    this.#due = [];
    for (const run of due) run();
    return due.length > 0;
  }
}

test("a body that gets on by a few turns of a process that hangs is not quiet, however late it is by then (T2, T8)", () => {
  const slow = new SlowProcess();
  let quiet = 0;
  const watch = new Quiet(slow.runtime, undefined, () => quiet++, () => watch.watch(false));
  watch.watch(false);
  for (let i = 0; i < 4; i++) slow.turn();
  watch.moved(); // The body has got on meanwhile, in turns of its own.
  for (let i = 0; i < 4; i++) slow.turn();
  assert.equal(quiet, 0);
  while (slow.turn());
  assert.equal(quiet, 1);
  assert.equal(slow.delays.slice(-5).reduce((sum, ms) => sum + ms, 0), 25);
});
