import { leafEdits } from "../checkpoint/in_place_edits.ts";
import type { EventOf } from "../checkpoint/records.ts";
import { ContextError } from "../errors.ts";
import { type Execution, executionKey, refOf } from "../model/checkpoint.ts";
import { defined } from "../model/defined.ts";
import type { Settlement } from "./attempt.ts";
import type { BodyHost } from "./body_host.ts";
import type { RunnerDeps } from "./runner_deps.ts";
import { type Fault, giveUp, judge } from "./policy.ts";
import { runTime } from "./run_time.ts";

/** What becomes of an execution whose body has settled: an outcome, another attempt, or a pause, as a fact. */
export class Outcomes<S> {
  readonly #deps: RunnerDeps<S>;
  readonly #host: BodyHost<S>;

  constructor(deps: RunnerDeps<S>, host: BodyHost<S>) {
    this.#deps = deps;
    this.#host = host;
  }

  /** Notes what a body came to; whether it is to run again once that is recorded. */
  settled(x: Execution, settlement: Settlement): boolean {
    const of = refOf(x);
    const { startedAt, endedAt: at, attempt, ranMs } = settlement;
    const fault = this.#faultOf(x, settlement);
    if (fault !== undefined) return this.#judge(x, fault, startedAt, x.spentMs + ranMs);
    if (settlement.kind === "interrupted") this.#host.note(this.suspended(x, settlement));
    else if (settlement.kind === "done") {
      this.#host.note({ type: "done", ...of, attempt, startedAt, at, output: settlement.output });
    }
    return false;
  }

  /** The fact that a body waits for nothing but open waits. */
  suspended(
    x: Execution,
    { startedAt, ranMs }: Pick<Settlement, "startedAt" | "ranMs">,
  ): EventOf<"suspended"> {
    const at = this.#deps.runtime.now();
    return { type: "suspended", ...refOf(x), startedAt, at, spentMs: x.spentMs + ranMs };
  }

  #faultOf(x: Execution, settlement: Settlement): Fault | undefined {
    const { attempt } = settlement;
    const edited = leafEdits(this.#host.cursor().state);
    if (edited !== undefined) {
      const error = new ContextError(
        `vertex ${x.vertexId} edited ${edited} of the state in place; the state is a snapshot, return a new value instead`,
        { vertexId: x.vertexId, path: edited },
      );
      return { error, phase: "execute", attempt };
    }
    if (settlement.kind === "failed") return { error: settlement.error, phase: settlement.phase, attempt };
    if (settlement.kind !== "done") return undefined;
    try {
      this.#deps.measureOutput(settlement.output, `the output of vertex ${x.vertexId}`);
      return undefined;
    } catch (error) {
      return { error, phase: "serialize", attempt };
    }
  }

  /** Whether there is another attempt. */
  #judge(x: Execution, fault: Fault, startedAt: number, spentMs: number): boolean {
    const { runtime, graph } = this.#deps;
    const vertex = graph.vertices.get(x.vertexId)!;
    const now = runTime(runtime, this.#host.cursor().checkpoint.run);
    const verdict = judge(vertex, fault, { now, random: runtime.random(), spentMs });
    if (verdict.kind === "failed") {
      this.giveUp(x, fault, startedAt, verdict);
      return false;
    }
    const of = refOf(x);
    const { kind: _, ...failed } = verdict;
    this.#host.note({ type: "attempt_failed", ...of, at: now, ...failed });
    return true;
  }

  /** Notes that an execution has failed for good. */
  giveUp(
    x: Execution,
    fault: Fault,
    startedAt = this.#deps.runtime.now(),
    verdict = giveUp(this.#deps.graph.vertices.get(x.vertexId)!, fault),
  ): void {
    const of = refOf(x);
    this.#host.keepError(executionKey(x.vertexId, x.item), verdict.error);
    this.#host.note({
      type: "failed",
      ...of,
      startedAt,
      at: this.#deps.runtime.now(),
      ...defined({ failure: verdict.failure, handler: verdict.handler, stack: verdict.stack }),
    });
  }
}
