import { evolve } from "../../checkpoint/evolve.ts";
import type { Cursor } from "../../checkpoint/log.ts";
import type { RecordEvent } from "../../checkpoint/records.ts";
import { reasonOf } from "../../errors.ts";
import type { CellChange } from "../../store/store.ts";
import type { RunnerDeps } from "../runner_deps.ts";
import type { Transition } from "../superstep.ts";
import type { Admission, Flow, LimitedRun } from "./flow.ts";

/** A record of a run with limits. */
export interface Gated<S> {
  readonly decided: Transition<S>;
  readonly cells: readonly CellChange[] | undefined;
  /** Permits that others may get once the record is there. */
  readonly passOn: readonly string[];
  /** To be called once the record is there, or is not to be. */
  readonly end?: () => void;
}

/** A record of a run without limits. */
export function ungated<S>(decided: Transition<S>): Gated<S> {
  return { decided, cells: undefined, passOn: NOTHING };
}

const NOTHING: readonly string[] = [];

/**
 * Decides a record of a run with limits: a claim that may not work yet is a place in a queue instead, and one that releases
 * or ends the run returns its permits.
 */
export async function gated<S>(
  deps: RunnerDeps<S>,
  cursor: Cursor<S>,
  facts: readonly RecordEvent[],
  claims: boolean,
  now: number,
  decide: (facts: readonly RecordEvent[]) => Transition<S>,
): Promise<Gated<S>> {
  const { flow } = deps;
  const { checkpoint: { run }, mailbox: { content } } = cursor;
  if (claims && !facts.some((e) => e.type === "cancelled")) {
    return await inTurn(flow, run, async () => {
      const admission = await flow.admit(run, content, now, "claimed");
      if (admission.queued !== undefined) {
        return gate(decide([...facts.filter((e) => e.type !== "claimed"), ...admission.events]), admission);
      }
      const decided = decide(facts);
      const change = decided.checkpoint.run.owner === undefined
        ? await flow.leave(run, content, statusOf(decided), now)
        : admission;
      return gate(withEvents(decided, change.events, now), change);
    });
  }
  const decided = decide(facts);
  if (decided.events.length === 0 || decided.checkpoint.run.owner !== undefined) return ungated(decided);
  return await inTurn(flow, run, async () => {
    const change = await flow.leave(run, content, statusOf(decided), now);
    return gate(withEvents(decided, change.events, now), change);
  });
}

async function inTurn<S>(flow: Flow, run: LimitedRun, work: () => Promise<Gated<S>>): Promise<Gated<S>> {
  const end = await flow.turn(run);
  try {
    return { ...await work(), end };
  } catch (error) {
    end();
    throw error;
  }
}

function gate<S>(decided: Transition<S>, { cells, passOn }: Admission): Gated<S> {
  return { decided, cells, passOn };
}

function withEvents<S>(decided: Transition<S>, events: readonly RecordEvent[], now: number): Transition<S> {
  if (events.length === 0) return decided;
  return {
    ...decided,
    events: [...decided.events, ...events],
    checkpoint: evolve(decided.checkpoint, events, decided.checkpoint.run.revision, now),
  };
}

function statusOf<S>({ checkpoint: { run: { status } } }: Transition<S>): "over" | "waiting" | "running" {
  if (status === "running") return status;
  return status === "interrupted" ? "waiting" : "over";
}

/** Gives permits on, and never rejects: what is not done here is done by the sweeper. */
export async function passOn<S>(
  { flow, logger }: RunnerDeps<S>,
  permits: readonly string[],
  after?: Promise<void>,
): Promise<void> {
  await after;
  if (permits.length === 0) return;
  try {
    await flow.passOn(permits);
  } catch (error) {
    logger.warn(`superstep: a permit was not given on, the next sweep does it: ${reasonOf(error)}`, {
      permits,
    });
  }
}
