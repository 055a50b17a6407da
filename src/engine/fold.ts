import { advance, type Patch } from "../checkpoint/delta.ts";
import { reduceDraft } from "../checkpoint/draft.ts";
import { onlyReading } from "../checkpoint/in_place_edits.ts";
import { sealArray } from "../checkpoint/seal.ts";
import type { StateValidator } from "../checkpoint/validate.ts";
import { isSuperstepError, ValidationError } from "../errors.ts";
import type { Checkpoint } from "../model/checkpoint.ts";
import type { CompiledVertex } from "../model/definition.ts";
import type { FaultPhase } from "../model/failure.ts";
import { standing, type VertexStanding } from "./step.ts";

/**
 * The reduction of a step's outcomes into its state. Pure, and the only place where user reducers run.
 *
 * 1. Outcomes are applied in ascending vertex id, whoever was first, slow or paused.
 * 2. A reducer works on a draft that is kept only on success, so a fault leaves the state as it was.
 * 3. A fault of a reducer, of `record`, of the schema or of serialization belongs to the vertex whose output it was.
 */
type FoldResult<S> =
  | {
    readonly kind: "folded";
    readonly state: S;
    readonly patch: Patch | undefined;
    readonly finish: boolean;
  }
  | {
    readonly kind: "fault";
    readonly vertex: CompiledVertex<S>;
    readonly phase: FaultPhase;
    readonly error: unknown;
  };

/** What a state must satisfy. */
export interface StateRules<S> {
  readonly validator: StateValidator<S>;
  /** Throws when the state is above its ceiling. */
  measure(state: S): void;
}

/** Folds every outcome of a settled step, or stops at the first fault. */
export function foldStep<S>(
  vertices: readonly CompiledVertex<S>[],
  checkpoint: Checkpoint,
  state: S,
  rules: StateRules<S>,
): FoldResult<S> {
  let value = state;
  let patch: Patch | undefined;
  let changes = 0;
  let finish = false;
  for (const vertex of vertices) {
    const outcome = standing(checkpoint, vertex);
    if (outcome.kind === "done") finish ||= vertex.finish;
    try {
      const next = reduceOne(vertex, outcome, value, rules);
      if (next.patch !== undefined) changes += 1;
      patch = next.patch ?? patch;
      value = next.value;
    } catch (error) {
      return { kind: "fault", vertex, phase: phaseOf(error, outcome), error };
    }
  }
  if (changes > 1) ({ value, patch } = advance(state, value, "the state"));
  return { kind: "folded", state: value, patch, finish };
}

/** The fold of the outcomes so far: what a result shows while its step is under way. */
export function foldSoFar<S>(
  vertices: readonly CompiledVertex<S>[],
  checkpoint: Checkpoint,
  state: S,
  rules: StateRules<S>,
): S {
  return vertices.reduce((value, vertex) => {
    try {
      return reduceOne(vertex, standing(checkpoint, vertex), value, rules).value;
    } catch {
      return value;
    }
  }, state);
}

function reduceOne<S>(
  vertex: CompiledVertex<S>,
  outcome: VertexStanding<S>,
  state: S,
  rules: StateRules<S>,
): { readonly value: S; readonly patch: Patch | undefined } {
  const recipe = recipeOf(vertex, outcome);
  if (recipe === undefined) return { value: state, patch: undefined };
  const what = `the state after vertex ${vertex.id}`;
  const of = outcome.kind === "done" ? "reducer" : "record";
  const next = advance(state, reduceDraft(state, recipe, `the ${of} of vertex ${vertex.id}`), what);
  if (next.patch === undefined) return next;
  const issues = rules.validator.check(state, next.value);
  if (issues !== undefined) throw new ValidationError(what, issues);
  rules.measure(next.value);
  return next;
}

function recipeOf<S>(
  vertex: CompiledVertex<S>,
  outcome: VertexStanding<S>,
): ((draft: S) => S | void) | undefined {
  const { id } = vertex;
  if (outcome.kind === "done") {
    const output = vertex.each === undefined ? outcome.output : sealArray([...outcome.output as unknown[]]);
    const who = `the reducer of vertex ${id}`;
    return (draft) => onlyReading(who, "its output", output, (output) => vertex.reduce(draft, output));
  }
  if (outcome.kind === "unsettled") return undefined;
  const { failure, handler: { record } } = outcome;
  const who = `the record of vertex ${id}`;
  return record &&
    ((draft) => onlyReading(who, "the failure's data", failure.data, () => record(draft, failure)));
}

function phaseOf<S>(error: unknown, outcome: VertexStanding<S>): FaultPhase {
  if (outcome.kind === "failed") return "record";
  return isSuperstepError(error, "SERIALIZATION", "STATE_SIZE") ? "serialize" : "reduce";
}
