import type { Cursor } from "../../checkpoint/log.ts";
import { evolve } from "../../checkpoint/evolve.ts";
import type { EventOf } from "../../checkpoint/records.ts";
import { MigrationError, reasonOf } from "../../errors.ts";
import { canonicalForm, describeVersionDifference, renames } from "../../graph/mod.ts";
import type { Checkpoint } from "../../model/checkpoint.ts";
import type { CompiledGraph, CompiledMigration } from "../../model/definition.ts";
import type { StateRules } from "../fold.ts";
import { userVersion } from "../workers.ts";
import { lostInput, misfit, otherItems, type Refusal } from "./fit.ts";
import { lostByNames, migratedState } from "./migrate.ts";

/** A run as the code of another version goes on with it. */
export interface Crossing<S> {
  /** What records it. */
  readonly event: EventOf<"adopted" | "migrated">;
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

/**
 * A run of another version as this code would go on with it, or the first thing that keeps it from that. Pure.
 *
 * 1. Migrations that lead from its user version to that of the code make its state and name its vertices anew.
 * 2. A run that has begun no body begins anew at the entry, when its state passes the schema as an input.
 * 3. Any other one goes on where it stands when everything fits; versions that no migration leads on from must be left by
 *    code that takes over what fits.
 * 4. None comes under a lower user version.
 *
 * @throws {MigrationError} a migration fails, or makes a state that the schema refuses
 */
export function crossing<S>(to: Destination<S>, cursor: Cursor<S>, form: string): Crossing<S> | Refusal {
  const { graph } = to;
  const { checkpoint: before, mailbox } = cursor;
  const { runId, graphVersion, revision, updatedAt } = before.run;
  const begins = isUntouched(before);
  const steps = stepsTo(to, graphVersion, form, begins);
  if ("refusal" in steps) return steps;
  const names = renames(steps);
  const gone = lostByNames(before, names);
  if (gone !== undefined && !begins) return { refusal: gone };
  const event = moveOf(graph, graphVersion, steps, begins);
  const checkpoint = evolve(before, [event], revision, updatedAt);
  const refusal = begins
    ? undefined
    : misfit(graph, { checkpoint, answers: mailbox.content.answers, form, names });
  if (refusal !== undefined) return { refusal };
  const old = migratedState(runId, steps, cursor.state);
  const last = steps.findLast(({ state }) => state !== undefined);
  let state: S;
  try {
    state = begins ? to.rules.validator.input(old) : to.rules.validator.load(old);
    to.rules.measure(state);
  } catch (cause) {
    if (last !== undefined) throw new MigrationError(runId, last.from, reasonOf(cause), { cause });
    return { refusal: reasonOf(cause) };
  }
  if (begins) return { event, checkpoint, state };
  const items = otherItems(graph, checkpoint, state);
  if (items !== undefined) return { refusal: items };
  return lostInput(graph, checkpoint, state) ?? { event, checkpoint, state };
}

/** The migrations that bring a run to the code, or why it stays. */
function stepsTo<S>(
  { graph, adopts }: Destination<S>,
  graphVersion: string,
  form: string,
  begins: boolean,
): readonly CompiledMigration[] | Refusal {
  const [from, to] = [userVersion(graphVersion), userVersion(graph.version)];
  const steps = graph.migrations.filter((m) => m.from >= from && m.from < to);
  const isWhole = steps.length === to - from && steps.length > 0;
  if (from <= to && (begins || adopts || isWhole)) return steps;
  if (from > to || steps.length === 0) {
    const difference = form === ""
      ? "its beginning is no longer stored"
      : describeVersionDifference(form, canonicalForm(graph));
    return { refusal: difference };
  }
  let missing = from;
  for (const step of steps) if (step.from === missing) missing++;
  return { refusal: `no migration leads from version ${missing} to ${missing + 1}` };
}

function moveOf<S>(
  graph: CompiledGraph<S>,
  from: string,
  steps: readonly CompiledMigration[],
  begins: boolean,
): Crossing<S>["event"] {
  const move = {
    from,
    to: graph.version,
    form: canonicalForm(graph),
    ...(begins ? { entry: graph.entry } : {}),
  };
  return steps.length === 0
    ? { type: "adopted", ...move }
    : { type: "migrated", ...move, vertices: renames(steps) };
}

/** Whether nobody has ever claimed a run: no body of it can have begun. */
export function isUntouched({ run, executions, nextStep }: Checkpoint): boolean {
  return run.status === "running" && run.owner === undefined && run.startedAt === undefined &&
    nextStep === 0 && executions.size === 0;
}
