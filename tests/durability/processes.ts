/** Processes that are not: engines on one store and one clock that are killed when a test says so. */
import { compile } from "../../src/compile.ts";
import type { RunnerOptions } from "../../src/engine/options.ts";
import type { Runner } from "../../src/engine/runner.ts";
import type { CompiledGraph } from "../../src/model/definition.ts";
import type { Store } from "../../src/store/store.ts";
import { type AroundStore, aroundStore } from "../../src/testing/around_store.ts";
import type { VirtualClock } from "../../src/testing/virtual_clock.ts";

/** One engine as if in a process of its own. */
export interface VirtualProcess<S> {
  readonly runner: Runner<S>;
  readonly alive: boolean;
  /** Waits for work of this process, moving time; `undefined` when it is killed meanwhile. */
  drive<T>(work: Promise<T>): Promise<T | undefined>;
  /** From now on its store answers nothing and its timers do not fire. */
  kill(): void;
}

/** Starts an engine; `around` sees every call on its way to the store. */
export function startProcess<S>(
  graph: CompiledGraph<S>,
  world: { readonly store: Store; readonly clock: VirtualClock },
  options: RunnerOptions & { readonly around?: AroundStore } = {},
): VirtualProcess<S> {
  const { clock } = world;
  const { around = (call) => call.apply(), ...more } = options;
  const runtime = clock.fork();
  let kill!: () => void;
  let alive = true;
  const killed = new Promise<undefined>((resolve) => {
    kill = () => {
      alive = false;
      runtime.stop();
      resolve(undefined);
    };
  });
  const NEVER = new Promise<never>(() => {});
  const store = aroundStore(world.store, async (call) => {
    if (!alive) return await NEVER;
    const answer = await around({ ...call, apply: () => clock.hold(call.apply()) });
    return alive ? answer : await NEVER;
  });
  return {
    runner: compile(graph, { logger: { info: () => {}, warn: () => {} }, ...more, store, runtime }),
    get alive() {
      return alive;
    },
    drive: (work) => clock.drive(Promise.race([work, killed])),
    kill,
  };
}
