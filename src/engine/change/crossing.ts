import type { Cursor } from "../../checkpoint/log.ts";
import { evolve } from "../../checkpoint/evolve.ts";
import type { EventOf } from "../../checkpoint/records.ts";
import { reasonOf } from "../../errors.ts";
import { canonicalForm, describeVersionDifference } from "../../graph/mod.ts";
import type { Checkpoint } from "../../model/checkpoint.ts";
import type { CompiledGraph } from "../../model/definition.ts";
import type { StateRules } from "../fold.ts";
import { userVersion } from "../workers.ts";
import { misfit, otherItems } from "./fit.ts";

/** A run as the code of another version goes on with it. */
export interface Crossing<S> {
  /** What records it. */
  readonly event: EventOf<"adopted">;
  readonly checkpoint: Checkpoint;
  readonly state: S;
}

/** The code that a run is to come under. */
export interface Destination<S> {
  readonly graph: CompiledGraph<S>;
  readonly rules: StateRules<S>;
  /** Whether it takes over runs of other versions that fit. */
  readonly adopts: boolean;
}

/** Why a run does not come under the code. */
export interface Refusal {
  /** In words. */
  readonly refusal: string;
}

/**
 * A run of another version as this code would go on with it, or the first thing that keeps it from that. Pure.
 *
 * 1. A run that has begun no body begins anew at the entry, when its input passes the schema.
 * 2. Any other one goes on where it stands, and only where the code says that it takes over what fits.
 * 3. None comes under a lower user version.
 */
export function crossing<S>(to: Destination<S>, cursor: Cursor<S>, form: string): Crossing<S> | Refusal {
  const { graph, rules, adopts } = to;
  const { checkpoint: before, mailbox } = cursor;
  const { graphVersion: from, revision, updatedAt } = before.run;
  const live = canonicalForm(graph);
  const difference = form === ""
    ? "its beginning is no longer stored"
    : describeVersionDifference(form, live);
  if (userVersion(from) > userVersion(graph.version)) return { refusal: difference };
  const begins = isUntouched(before);
  if (!begins && !adopts) return { refusal: difference };
  const event: Crossing<S>["event"] = {
    type: "adopted",
    from,
    to: graph.version,
    form: live,
    ...(begins ? { entry: graph.entry } : {}),
  };
  const checkpoint = evolve(before, [event], revision, updatedAt);
  const refusal = begins ? undefined : misfit(graph, { checkpoint, answers: mailbox.content.answers, form });
  if (refusal !== undefined) return { refusal };
  let state: S;
  try {
    state = begins ? rules.validator.input(cursor.state) : rules.validator.load(cursor.state);
    rules.measure(state);
  } catch (error) {
    return { refusal: reasonOf(error) };
  }
  const items = otherItems(graph, checkpoint, state);
  return items === undefined ? { event, checkpoint, state } : { refusal: items };
}

/** Whether nobody has ever claimed a run: no body of it can have begun. */
export function isUntouched({ run, executions, nextStep }: Checkpoint): boolean {
  return run.status === "running" && run.owner === undefined && run.startedAt === undefined &&
    nextStep === 0 && executions.size === 0;
}
