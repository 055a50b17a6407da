import { FatalError } from "../../mod.ts";
import type { CompiledGraph, TaskContext } from "../../mod.ts";
import { GraphBuilder } from "../../src/graph/mod.ts";
import type { VertexFailure } from "../../src/model/failure.ts";
import { Decisions, type ErrorName, note, type Plan, type Tally, type VertexPlan } from "./plans.ts";

/** Errors that handlers tell apart by class. */
class Amiss extends Error {
  override readonly name = "Amiss";
}
class Broken extends Error {
  override readonly name = "Broken";
}
const ERRORS = { Amiss, Broken, FatalError };

/** What surrounds the bodies of a plan. */
export interface Surroundings {
  /** How often the code has been mended. */
  mends(): number;
  /** Called when a body begins; it goes on when the promise resolves. */
  begun(ctx: TaskContext): Promise<void> | undefined;
  ended(): void;
}

/** The graph of a plan, made with the public builder. */
export function build(plan: Plan, around: Surroundings): CompiledGraph<Tally> {
  const decide = new Decisions(plan.seed, around.mends);
  const builder = new GraphBuilder<Tally>({ id: `fuzz-${plan.seed}` });
  for (const vertex of plan.vertices.values()) {
    addVertex(builder, vertex, decide, around);
    if (!vertex.conditional) { for (const to of vertex.targets) builder.addEdge(vertex.id, to); }
    else {
      builder.addConditionalEdge(vertex.id, {
        targets: vertex.targets,
        pick: (state) => {
          const picked = decide.pick(vertex, state);
          if (picked === "throw") throw new Broken("pick");
          return picked.length === 1 && picked[0] !== "nowhere" ? picked[0]! : picked;
        },
      });
    }
  }
  return builder.build({ entry: plan.entry, finish: plan.finish });
}

function addVertex(
  builder: GraphBuilder<Tally>,
  vertex: VertexPlan,
  decide: Decisions,
  around: Surroundings,
): void {
  const { id, retryOnly } = vertex;
  const task = {
    execute: async (_input: unknown, ctx: TaskContext): Promise<unknown> => {
      try {
        await around.begun(ctx);
        const body = decide.body(id, ctx.step, ctx.item ?? -1, ctx.attempt);
        if (body.kind === "error") throw new ERRORS[body.name](body.name);
        return body.kind === "output" ? body.value : { unstorable: () => {} };
      } finally {
        around.ended();
      }
    },
  };
  const common = {
    id,
    task,
    join: vertex.join,
    retry: {
      maxAttempts: vertex.maxAttempts,
      ...(vertex.backoffMs === 0 ? {} : { backoff: { initial: vertex.backoffMs, factor: 1 } }),
      ...(retryOnly === undefined ? {} : { retryIf: (error: unknown) => error instanceof ERRORS[retryOnly] }),
    },
    onError: vertex.handlers.map(({ route, match, byClass, record }) => ({
      route,
      ...(match === undefined ? {} : { match: byClass ? ERRORS[match] : isNamed(match) }),
      ...(record
        ? { record: (state: Tally, failure: VertexFailure) => recordOf(decide, id, state, failure) }
        : {}),
    })),
    reduce: (state: Tally, output: unknown): Tally | void => {
      const told = Array.isArray(output) ? `[${output}]` : String(output);
      if (decide.reduceFails(id, told)) {
        note(state, id, "never kept");
        throw new Amiss("reduce");
      }
      if (state.digest % 3 > 0) return note(state, id, told);
      const next = structuredClone({ ...state, counts: { ...state.counts }, log: [...state.log] });
      note(next, id, told);
      return next;
    },
  };
  const select = (state: Readonly<Tally>) => {
    if (decide.selectFails(id, state)) throw new Broken("select");
    return decide.itemsOf(id, state);
  };
  if (vertex.map) builder.addVertex<unknown, unknown>({ ...common, each: select });
  else builder.addVertex<unknown, unknown>({ ...common, select });
}

function isNamed(name: ErrorName): (error: unknown) => boolean {
  return (error) => (error as Error).name === name;
}

function recordOf(decide: Decisions, id: string, state: Tally, failure: VertexFailure): void {
  const { name, attempt, phase, failures } = failure;
  const items = failures === undefined ? "" : `[${failures.map((f) => `${f.item}-${f.name}`).join()}]`;
  const told = `${name}:${attempt}:${phase}${items}`;
  if (decide.recordFails(id, told)) throw new Amiss("record");
  note(state, id, told);
}
