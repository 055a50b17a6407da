import { advance, type Advanced } from "../../checkpoint/delta.ts";
import { digest } from "../../checkpoint/digest.ts";
import { reduceDraft } from "../../checkpoint/draft.ts";
import type { Split } from "../../checkpoint/records.ts";
import { ArgumentError, reasonOf, ValidationError } from "../../errors.ts";
import type { Checkpoint, Execution } from "../../model/checkpoint.ts";
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
 * The map vertices of the current step that have other items under the state `after`.
 *
 * @param keeps Whether something is recorded of an execution, and stays with it, that belongs to its item.
 * @throws {ArgumentError} an outcome of one of them is recorded, or something of an item that is another one or gone
 */
export function changedMaps<S>(
  graph: CompiledGraph<S>,
  checkpoint: Checkpoint,
  { before, after }: { readonly before: S; readonly after: S },
  op: string,
  keeps: (x: Execution) => boolean,
): readonly Split[] {
  return stepVertices(graph, checkpoint).flatMap((vertex) => {
    const recorded = checkpoint.maps.get(vertex.id);
    if (recorded === undefined) return [];
    const items = itemsUnder(vertex, after, op);
    const split = splitOf(vertex.id, items);
    if (split.count === recorded.count && split.digest === recorded.digest) return [];
    const executions = [...checkpoint.executions.values()].filter((x) => x.vertexId === vertex.id);
    const settled = executions.find((x) => x.status === "done" || x.handler !== undefined);
    const old = itemsUnder(vertex, before, op);
    const other = executions.find(({ item, ...x }) =>
      item !== undefined && keeps(x) &&
      (item >= items.length || item >= old.length || digest(items[item]) !== digest(old[item]))
    );
    if (settled === undefined && other === undefined) return [split];
    const what = settled?.item === undefined && settled !== undefined
      ? "its outcome is recorded"
      : settled !== undefined
      ? `the outcome of item ${settled.item} is recorded`
      : `a wait, an answer or a once of item ${other!.item}, which is another one then, is recorded`;
    throw new ArgumentError(
      op,
      `the new state gives the map vertex ${vertex.id} of run ${checkpoint.run.runId} other items ` +
        `(${split.count}, it had ${recorded.count}), but ${what}; leave its items as they are, ` +
        "or fork the run at a revision before that step",
    );
  });
}

function itemsUnder<S>(vertex: CompiledVertex<S>, state: S, op: string): readonly unknown[] {
  try {
    return itemsOf(vertex, state);
  } catch (cause) {
    const error = new ArgumentError(
      op,
      `the map vertex ${vertex.id} has no items under the state: ${reasonOf(cause)}`,
    );
    error.cause = cause;
    throw error;
  }
}
