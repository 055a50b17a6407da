import { digest } from "../checkpoint/digest.ts";
import { type Handout, onlyReading } from "../checkpoint/in_place_edits.ts";
import type { EventOf, Split } from "../checkpoint/records.ts";
import { ContextError } from "../errors.ts";
import { type Checkpoint, executionKey } from "../model/checkpoint.ts";
import type { CompiledVertex } from "../model/definition.ts";
import { standing } from "./step.ts";
import { synchronous } from "./thenable.ts";

const INPUT = "its input";

/** What is left to run of a step, with the inputs selected from its snapshot. Pure. */
export interface StepPlan {
  /** Keys of the executions to run, in ascending vertex id and item. */
  readonly ready: readonly string[];
  readonly executions: ReadonlyMap<string, PlannedExecution>;
  readonly mapped: readonly EventOf<"mapped">[];
  readonly faults: readonly { readonly vertexId: string; readonly error: unknown }[];
}

/** One execution of a step. */
export interface PlannedExecution {
  readonly vertexId: string;
  readonly item?: number;
  /** Selects the input anew and hands it out: every run of a body gets its own. */
  input(handout?: Handout): unknown;
}

/** Selects every input of a step, in ascending vertex id, before anything runs. */
export function planStep<S>(
  vertices: readonly CompiledVertex<S>[],
  checkpoint: Checkpoint,
  state: S,
): StepPlan {
  const ready: string[] = [];
  const executions = new Map<string, PlannedExecution>();
  const mapped: EventOf<"mapped">[] = [];
  const faults: { vertexId: string; error: unknown }[] = [];
  for (const vertex of vertices) {
    const whole = checkpoint.executions.get(vertex.id);
    if (whole?.status === "failed" || standing(checkpoint, vertex).kind !== "unsettled") continue;
    try {
      if (vertex.select !== undefined) {
        const { select } = vertex;
        let first: { readonly input: unknown } | undefined = {
          input: selected(select, state, "select", vertex.id),
        };
        executions.set(vertex.id, {
          vertexId: vertex.id,
          input: (handout) => {
            const input = first === undefined ? selected(select, state, "select", vertex.id) : first.input;
            first = undefined;
            return handout === undefined ? input : handout.give(input, INPUT, state);
          },
        });
        ready.push(vertex.id);
        continue;
      }
      const plan = planMap(vertex, checkpoint, state);
      if (checkpoint.maps.get(vertex.id) === undefined) mapped.push(plan.mapped);
      for (let item = 0; item < plan.mapped.count; item++) {
        const key = executionKey(vertex.id, item);
        const status = checkpoint.executions.get(key)?.status;
        if (status === "done" || status === "failed") continue;
        executions.set(key, {
          vertexId: vertex.id,
          item,
          input: (handout) =>
            handout === undefined ? plan.item(item) : handout.give(plan.item(item), INPUT, state),
        });
        ready.push(key);
      }
    } catch (error) {
      faults.push({ vertexId: vertex.id, error });
    }
  }
  return { ready, executions, mapped, faults };
}

function planMap<S>(
  vertex: CompiledVertex<S>,
  checkpoint: Checkpoint,
  state: S,
): { readonly mapped: EventOf<"mapped">; item(index: number): unknown } {
  const items = itemsOf(vertex, state);
  const taken = new Set<number>();
  const mapped: EventOf<"mapped"> = { type: "mapped", ...splitOf(vertex.id, items) };
  const recorded = checkpoint.maps.get(vertex.id);
  if (recorded !== undefined && (recorded.count !== mapped.count || recorded.digest !== mapped.digest)) {
    throw new ContextError(
      `each of vertex ${vertex.id} gives ${mapped.count} items that differ from the ${recorded.count} recorded when the ` +
        `step began; \`each\` must depend on the state alone`,
    );
  }
  const item = (index: number) => {
    if (taken.has(index)) return itemsOf(vertex, state)[index];
    taken.add(index);
    return items[index];
  };
  return { mapped, item };
}

/** The items that a map vertex selects from a state. */
export function itemsOf<S>(vertex: CompiledVertex<S>, state: S): readonly unknown[] {
  const items = selected(vertex.each!, state, "each", vertex.id);
  if (Array.isArray(items)) return items as readonly unknown[];
  throw new ContextError(`each of vertex ${vertex.id} returned ${typeof items}, not an array of items`);
}

/** What is recorded of the items of a map vertex. */
export function splitOf(vertexId: string, items: readonly unknown[]): Split {
  return { vertexId, count: items.length, digest: digest(items) };
}

function selected<S>(select: (state: S) => unknown, state: S, what: string, vertexId: string): unknown {
  const value = onlyReading(`${what} of vertex ${vertexId}`, "the state", state, select);
  return synchronous(value, `${what} of vertex ${vertexId} returned a promise; it must select synchronously`);
}
