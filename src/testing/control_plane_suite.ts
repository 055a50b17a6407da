/**
 * The suite that every control plane passes. It needs nothing but `node:test`, so the author of a plane runs it as is:
 *
 * ```ts ignore
 * controlPlaneSuite("my plane", { open: async () => ({ plane, keys, due, claim, pass, timers, cleanup }) });
 * ```
 *
 * @module
 */
import assert from "node:assert/strict";
import type { ControlPlane, Delivery, Dispatch, GraphKey } from "../worker/mod.ts";
import { casesOf, testEach } from "./suite.ts";

/** A plane under test, and the world around it. */
export interface OpenedPlane {
  /** A plane that holds nothing. */
  readonly plane: ControlPlane;
  /** Two versions of graphs. */
  readonly keys: readonly [GraphKey, GraphKey];
  /** Makes a new run of that version due, and submits it. */
  due(key: GraphKey): Promise<Dispatch>;
  /** What a worker does with a run that it was pointed to: claims it and completes it. */
  claim(dispatch: Dispatch): Promise<void>;
  /** Lets so many milliseconds pass for the plane, real or virtual ones. */
  pass(ms: number): Promise<void>;
  /** How many timers of the plane are pending, where that can be told. */
  timers?(): number;
  /** Closes the plane and removes what it was made on. */
  cleanup(): Promise<void>;
}

/** How the suite gets at a plane. */
export interface ControlPlaneHarness {
  /** Opens a plane that no other test uses; it polls at least every second. */
  open(): Promise<OpenedPlane>;
}

/** One case of the suite. */
export interface ControlPlaneCase {
  /** What it shows, and the obligations. */
  readonly title: string;
  /** Rejects when the plane does otherwise. */
  run(opened: OpenedPlane): Promise<void>;
}

/** More than a polling period. */
const LONG = 2_000;

/** A consumer that takes whatever it is given. */
class Tap {
  readonly got: Delivery[] = [];
  readonly ended: Promise<void>;
  #leave = new AbortController();

  constructor(plane: ControlPlane, keys: readonly GraphKey[]) {
    this.ended = (async () => {
      for await (const delivery of plane.consume(keys, this.#leave.signal)) this.got.push(delivery);
    })();
  }

  get runs(): readonly string[] {
    return this.got.map(({ dispatch }) => dispatch.runId);
  }

  leave(): Promise<void> {
    this.#leave.abort();
    return this.ended;
  }
}

const closedError = { code: "CONTROL_PLANE_CLOSED" };

/** Every case of the suite, for other test runners. */
export const controlPlaneCases: readonly ControlPlaneCase[] = casesOf({
  "CONTROL-1, CONTROL-3, CPL-01: what is submitted is delivered once, with every field, and is gone when it was claimed and acknowledged":
    async ({ plane, keys, due, claim, pass }) => {
      const tap = new Tap(plane, [keys[0]]);
      const dispatch = await due(keys[0]);
      await pass(LONG);
      assert.deepEqual(tap.got.map((d) => d.dispatch), [{ runId: dispatch.runId, ...keys[0] }]);
      await claim(dispatch);
      await tap.got[0]!.ack();
      await pass(10 * LONG);
      assert.equal(tap.got.length, 1);
      await tap.leave();
    },
  "CONTROL-1, CPL-02: a consumer of other versions, or of none, gets nothing, and one that does not receive hinders nobody":
    async ({ plane, keys, due, pass }) => {
      const other = new Tap(plane, [keys[1]]);
      const none = new Tap(plane, []);
      const { runId } = await due(keys[0]);
      await pass(LONG);
      const tap = new Tap(plane, [keys[0], keys[1]]);
      await pass(LONG);
      assert.deepEqual([other.runs, none.runs, tap.runs], [[], [], [runId]]);
      await Promise.all([other.leave(), none.leave(), tap.leave()]);
    },
  "CONTROL-1, CPL-17: what is submitted without any consumer waits for one": async (
    { plane, keys, due, pass },
  ) => {
    const sent = [await due(keys[0]), await due(keys[0]), await due(keys[0])].map((d) => d.runId);
    await pass(5 * LONG);
    const tap = new Tap(plane, [keys[0]]);
    await pass(LONG);
    assert.deepEqual([...tap.runs].sort(), sent.sort());
    await tap.leave();
  },
  "CONTROL-2, CPL-03: a run is in one hand at a time, however often it is submitted and however many consume":
    async ({ plane, keys, due, pass }) => {
      const first = new Tap(plane, [keys[0]]);
      const second = new Tap(plane, [keys[0]]);
      const dispatch = await due(keys[0]);
      await plane.submit(dispatch);
      await plane.submit(dispatch);
      await pass(5 * LONG);
      const got = [...first.got, ...second.got];
      assert.equal(got.length, 1);
      await got[0]!.ack();
      await pass(2 * LONG);
      assert.equal(first.got.length + second.got.length, 2, "it is still due, so it is delivered again");
      await Promise.all([first.leave(), second.leave()]);
    },
  "CONTROL-2, CPL-04: deliveries of any number of different runs are in hand at the same time": async (
    { plane, keys, due, pass },
  ) => {
    const tap = new Tap(plane, keys);
    const sent: string[] = [];
    for (let i = 0; i < 40; i++) sent.push((await due(keys[i % 2]!)).runId);
    await pass(LONG);
    assert.deepEqual([...tap.runs].sort(), sent.sort());
    await tap.leave();
  },
  "CONTROL-4, CPL-05, CPL-06: what is not acknowledged comes again, each time after a longer pause, and is never lost":
    async ({ plane, keys, due, claim, pass }) => {
      const tap = new Tap(plane, [keys[0]]);
      const dispatch = await due(keys[0]);
      const pauses: number[] = [];
      for (let round = 1; round <= 5; round++) {
        let passed = 0;
        while (tap.got.length < round) {
          await pass(LONG / 8);
          passed += LONG / 8;
          assert.ok(passed < 60 * LONG, `round ${round}: it does not come again`);
        }
        pauses.push(passed);
        await tap.got.at(-1)!.nack();
      }
      assert.ok(pauses[4]! > 2 * pauses[1]!, `the pauses are ${pauses.slice(1)} ms`);
      while (tap.got.length < 6) await pass(LONG);
      await claim(dispatch);
      await tap.got[5]!.ack();
      await pass(30 * LONG);
      assert.equal(tap.got.length, 6);
      await tap.leave();
    },
  "CONTROL-2, CPL-08: a run that was not acknowledged holds up no other one": async (
    { plane, keys, due, pass },
  ) => {
    const tap = new Tap(plane, [keys[0]]);
    const refused = await due(keys[0]);
    await pass(LONG);
    for (let i = 0; i < 3; i++) {
      await tap.got.at(-1)!.nack();
      while (tap.runs.filter((id) => id === refused.runId).length < i + 2) await pass(LONG / 4);
    }
    await tap.got.at(-1)!.nack();
    const other = await due(keys[0]);
    await pass(LONG);
    assert.equal(tap.runs.at(-1), other.runId);
    await tap.leave();
  },
  "CONTROL-4, CPL-09: the first of ack and nack counts, and calling them again is harmless": async (
    { plane, keys, due, claim, pass },
  ) => {
    const tap = new Tap(plane, [keys[0]]);
    const done = await due(keys[0]);
    await pass(LONG);
    await claim(done);
    await tap.got[0]!.ack();
    await tap.got[0]!.nack();
    await tap.got[0]!.ack();
    await pass(30 * LONG);
    assert.equal(tap.got.length, 1, "the nack came too late");
    await due(keys[0]);
    await pass(LONG);
    await tap.got[1]!.nack();
    await tap.got[1]!.ack();
    await pass(30 * LONG);
    assert.ok(tap.got.length > 2, "the ack came too late");
    await tap.leave();
  },
  "CONTROL-5, CONTROL-6, CPL-10, CPL-11: a consumer that ends hands back what it holds to the next one":
    async ({ plane, keys, due, claim, pass }) => {
      const gone = new Tap(plane, [keys[0]]);
      const dispatch = await due(keys[0]);
      await pass(LONG);
      assert.deepEqual(gone.runs, [dispatch.runId]);
      await gone.leave();
      const heir = new Tap(plane, [keys[0]]);
      await pass(2 * LONG);
      assert.deepEqual(heir.runs, [dispatch.runId]);
      await gone.got[0]!.nack();
      await pass(LONG);
      assert.deepEqual(
        heir.runs,
        [dispatch.runId],
        "what the first one says now takes nothing from the second",
      );
      await claim(dispatch);
      await heir.got[0]!.ack();
      await heir.leave();
    },
  "CONTROL-6, CPL-12: submit and consume reject with the reason of a signal that is aborted already": async (
    { plane, keys, due },
  ) => {
    const dispatch = await due(keys[0]);
    const reason = new Error("not today");
    const signal = AbortSignal.abort(reason);
    await assert.rejects(plane.submit(dispatch, { signal }), (error) => error === reason);
    await assert.rejects(plane.consume([keys[0]], signal).next(), (error) => error === reason);
  },
  "CONTROL-5, CPL-16: a consumer that does not receive yet blocks neither submit nor another consumer":
    async ({ plane, keys, due, claim, pass }) => {
      const idle = plane.consume([keys[0]]);
      const first = await due(keys[0]);
      const tap = new Tap(plane, [keys[0]]);
      await pass(LONG);
      assert.deepEqual(tap.runs, [first.runId]);
      await claim(first);
      await tap.got[0]!.ack();
      await tap.leave();
      const second = await due(keys[0]);
      const next = idle.next();
      await pass(2 * LONG);
      assert.equal((await next).value?.dispatch.runId, second.runId);
      await idle.return?.();
    },
  "CONTROL-7, ERR-03, CPL-13, CPL-14, CPL-15, CPL-19: after close calls reject, consumers have ended, no timer is left, and settling is harmless":
    async ({ plane, keys, due, pass, timers }) => {
      const taps = [new Tap(plane, [keys[0]]), new Tap(plane, [keys[0]]), new Tap(plane, [keys[1]])];
      const dispatch = await due(keys[0]);
      await pass(LONG);
      const [delivery] = taps.flatMap((tap) => tap.got);
      await plane.close();
      await plane.close();
      await pass(LONG);
      await Promise.all(taps.map((tap) => tap.ended));
      await assert.rejects(plane.submit(dispatch), closedError);
      await assert.rejects(plane.consume([keys[0]]).next(), closedError);
      await delivery!.nack();
      await delivery!.ack();
      if (timers !== undefined) assert.equal(timers(), 0);
    },
});

/** Registers one test for each case, under the name of the plane. */
export function controlPlaneSuite(name: string, harness: ControlPlaneHarness): void {
  testEach(name, controlPlaneCases, () => harness.open());
}
