import { advance, type Advanced } from "../../checkpoint/delta.ts";
import { reduceDraft } from "../../checkpoint/draft.ts";
import type { Split } from "../../checkpoint/records.ts";
import { ArgumentError, reasonOf, ValidationError } from "../../errors.ts";
import type { Checkpoint } from "../../model/checkpoint.ts";
import type { CompiledGraph, CompiledVertex } from "../../model/definition.ts";
import type { StateRules } from "../fold.ts";
import { itemsOf, splitOf } from "../plan.ts";
import { stepVertices } from "../superstep.ts";

/**
 * A state in place of another: a whole one, to which defaults apply as to an input, or a function that edits a draft of the old one or returns another. The
 * function is synchronous and pure, and may be called more than once.
 */
export type StateEdit<S> = S | ((draft: S) => S | void);

/** The state that an edit makes, judged as any other. */
export function edited<S>(state: S, edit: StateEdit<S>, rules: StateRules<S>, op: string): Advanced<S> {
  const recipe = edit as (draft: S) => S | void;
  const next = typeof edit === "function"
    ? reduceDraft(state, recipe, `the function given to ${op}`)
    : whole(edit, rules);
  const advanced = advance(state, next, "the state");
  if (advanced.patch === undefined) return advanced;
  const issues = rules.validator.check(state, advanced.value);
  if (issues !== undefined) throw new ValidationError("the state", issues);
  rules.measure(advanced.value);
  return advanced;
}

function whole<S>(state: S, rules: StateRules<S>): S {
  try {
    return rules.validator.input(state);
  } catch (error) {
    throw error instanceof ValidationError ? new ValidationError("the state", error.issues) : error;
  }
}

/**
 * The map vertices of the current step that have other items under this state.
 *
 * @throws {ArgumentError} an outcome of one of them is recorded, which belongs to the items that it had
 */
export function changedMaps<S>(
  graph: CompiledGraph<S>,
  checkpoint: Checkpoint,
  state: S,
  op: string,
): readonly Split[] {
  return stepVertices(graph, checkpoint).flatMap((vertex) => {
    const recorded = checkpoint.maps.get(vertex.id);
    if (recorded === undefined) return [];
    const split = splitUnder(vertex, state, op);
    if (split.count === recorded.count && split.digest === recorded.digest) return [];
    const settled = [...checkpoint.executions.values()].find((x) =>
      x.vertexId === vertex.id && (x.status === "done" || x.handler !== undefined)
    );
    if (settled === undefined) return [split];
    throw new ArgumentError(
      op,
      `the new state gives the map vertex ${vertex.id} of run ${checkpoint.run.runId} other items ` +
        `(${split.count}, it had ${recorded.count}), but ` +
        (settled.item === undefined ? "its outcome" : `the outcome of item ${settled.item}`) +
        ` is recorded; leave its items as they are, or fork the run at a revision before that step`,
    );
  });
}

function splitUnder<S>(vertex: CompiledVertex<S>, state: S, op: string): Split {
  try {
    return splitOf(vertex.id, itemsOf(vertex, state));
  } catch (cause) {
    const error = new ArgumentError(
      op,
      `the map vertex ${vertex.id} has no items under the new state: ${reasonOf(cause)}`,
    );
    error.cause = cause;
    throw error;
  }
}
