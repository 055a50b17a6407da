import assert from "node:assert/strict";
import { z } from "zod";
import { defineWait } from "../../mod.ts";
import type {
  CompiledGraph,
  InterruptedResult,
  Runner,
  RunResult,
  Store,
  WaitDefinition,
} from "../../mod.ts";
import { INPUT, interrupted, type Lab, openId, recorded, type State } from "../waits/lab.ts";

/** What `b` waits for. */
export const Ok: WaitDefinition<string> = defineWait("ok", z.string());

/** Everything stored of a run, byte for byte. */
export async function stored(store: Store, runId: string): Promise<unknown> {
  const tail = await store.tail(runId);
  return [tail?.position, tail?.owner, tail?.mailbox, await store.range(runId, 0, 10_000)];
}

/** Resumes a run and lets time pass until it is over or interrupted. */
export async function finish(lab: Lab, runner: Runner<State>, runId: string): Promise<RunResult<State>> {
  return await lab.drive(runner.resume(runId));
}

/** The revision of the first record with such an event. */
export async function revisionWith(runner: Runner<State>, runId: string, type: string): Promise<number> {
  return (await recorded(runner, runId)).findIndex((types) => types.includes(type));
}

/** `a`, then `b` that waits, then `c` that fails the first time it ever runs. */
export function story(lab: Lab): CompiledGraph<State> {
  return lab.graph({
    a: { body: () => "a", to: "b" },
    b: { waits: [Ok], body: (ctx) => ctx.waitFor(Ok), select: (s) => s.out.a, to: "c" },
    c: {
      select: (s) => s.out.b,
      body: (_, b) => lab.count("c") === 1 ? Promise.reject(new Error("first")) : `c after ${b}`,
    },
  });
}

/** The story as run `src`, told up to the failure. */
export async function told(
  lab: Lab,
): Promise<{ readonly runner: Runner<State>; readonly failed: InterruptedResult<State> }> {
  const runner = lab.engine(story(lab));
  const paused = await lab.drive(runner.run(INPUT, { runId: "src", tags: ["t"] }));
  await runner.answer("src", openId(paused, "ok"), "yes");
  const failed = interrupted(await lab.drive(runner.resume("src")));
  assert.equal(failed.reason, "errored");
  return { runner, failed };
}
