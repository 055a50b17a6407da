import { evolve } from "../../checkpoint/evolve.ts";
import type { EventOf, RecordEvent, Split } from "../../checkpoint/records.ts";
import { type Checkpoint, type Execution, executionKey, refOf } from "../../model/checkpoint.ts";
import type { RunCaller, RunParent } from "../../model/run.ts";
import { openingKey, type WaitState } from "../../model/wait.ts";
import { keyIn, waitIdOf } from "../ids.ts";
import { pausedFailures } from "../step.ts";

/** What a fork is given beside its source. */
interface ForkTarget {
  readonly runId: string;
  readonly parent: RunParent;
  readonly now: number;
  readonly tags: readonly string[];
  readonly inputDigest: string;
  /** @default ids of waits are made of the run id alone */
  readonly waitSalt?: string;
  /** The map vertices that have other items than in the source. */
  readonly maps: readonly Split[];
  /** Results of open waits that the source has not recorded yet. */
  readonly results: readonly EventOf<"resolved">[];
  /** The execution that the fork works for, if it does. */
  readonly caller?: RunCaller;
}

/**
 * Revision 0 of a fork. Pure.
 *
 * 1. Settled executions keep their outcomes. The others run again: they keep the results of their `once` and of their
 *    waits and their failed attempts, and open again what had no result.
 * 2. What failed for good gets fresh attempts, and a halt is lifted, as by a resume.
 * 3. The fork is nobody's, has no deadline, and every id in it is made of its own run id.
 */
export function forkOf(source: Checkpoint, target: ForkTarget): Checkpoint {
  const { runId, parent, now, tags, inputDigest, waitSalt, caller } = target;
  const ready = readied(source, target);
  const completed = ready.frontier.length === 0;
  const { graphId, graphVersion, step, maxSteps } = source.run;
  const { singleton: _, ...flow } = source.run.flow ?? {};
  const executions = [...ready.executions.values()].map((x) => rekeyed(x, ready, target));
  return {
    ...ready,
    run: {
      runId,
      graphId,
      graphVersion,
      status: completed ? "completed" : "running",
      step,
      revision: 0,
      recoveries: 0,
      createdAt: now,
      updatedAt: now,
      ...(completed ? { completedAt: now } : {}),
      maxSteps,
      tags,
      inputDigest,
      ...(waitSalt === undefined ? {} : { waitSalt }),
      parent,
      ...(caller === undefined ? {} : { caller }),
      ...(Object.keys(flow).length === 0 ? {} : { flow }),
    },
    phase: ready.phase === "routed" ? "routed" : "running",
    executions: new Map(executions.map((x) => [executionKey(x.vertexId, x.item), x])),
  };
}

/** The source as a resume would find it ready to go on. */
function readied(source: Checkpoint, { maps, results, now }: ForkTarget): Checkpoint {
  const { revision } = source.run;
  const failed = pausedFailures(source);
  const events: RecordEvent[] = [...results];
  if (maps.length > 0) events.push({ type: "updated", maps });
  if (failed.length > 0 || source.halt !== undefined) {
    events.push({ type: "retried", executions: failed.map(refOf) });
  }
  return evolve(source, events, revision, now);
}

function rekeyed(x: Execution, ready: Checkpoint, fork: ForkTarget): Execution {
  if (x.status === "done" || x.status === "failed") return { ...x, waits: new Map(), refusals: new Map() };
  const key = keyIn(ready, x, fork.runId);
  const { nextAt: _, ...rest } = x;
  const waits = [...x.waits.values()].filter((wait, i, all) => keeps(wait, all.slice(i + 1)));
  return {
    ...rest,
    status: "pending",
    refusals: new Map(),
    waits: new Map(waits.map((wait) => {
      const id = waitIdOf(fork, key, wait, 0);
      return [id, { ...wait, id }];
    })),
  };
}

/** Whether a wait is over for the body: it has a result, or a later opening of its name that has one took its place. */
function keeps(wait: WaitState, later: readonly WaitState[]): boolean {
  if (wait.result !== undefined) return true;
  return wait.closed === "superseded" &&
    later.some((w) => openingKey({ ...w, n: 0 }) === openingKey({ ...wait, n: 0 }) && w.result !== undefined);
}
