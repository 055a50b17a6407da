import { ConditionError, DeadEndError, recordedMessage, UndeclaredTargetError } from "../errors.ts";
import { onlyReading } from "../checkpoint/in_place_edits.ts";
import { ignorePromises } from "../checkpoint/promises.ts";
import type { Checkpoint } from "../model/checkpoint.ts";
import type { CompiledGraph, CompiledVertex } from "../model/definition.ts";
import { compareIds, END } from "../model/ids.ts";
import { type Halt, hasEnded, type Route } from "../model/run.ts";
import { errorText } from "../model/texts.ts";
import { standing } from "./step.ts";
import { synchronous } from "./thenable.ts";

/**
 * Where a run goes after a step. Pure.
 *
 * 1. Vertices are routed in ascending id; the first halt ends it.
 * 2. A vertex that failed under a route takes only that route; otherwise its static edges or its `pick`.
 * 3. `pick` sees the state after every reducer of the step.
 * 4. A join enters the frontier when nothing holds it up any more, and consumes its arrivals. What is outstanding holds
 *    it up when it is or leads to, but for through the join itself, a source whose edge has not arrived: a vertex of the
 *    next frontier, or another waiting join. Joins that only hold each other up run together.
 * 5. Nothing depends on the order in which joins are judged: whether one vertex leads to another is fixed by the graph,
 *    so a join that enters the frontier holds up the same joins as before.
 */
type RoutingResult =
  | {
    readonly kind: "routed";
    readonly routes: readonly Route[];
    readonly frontier: readonly string[];
    readonly arrivals: ReadonlyMap<string, readonly string[]>;
  }
  | { readonly kind: "halted"; readonly halt: Halt; readonly error: Error };

/** Routes the current step, whose outcomes are part of `state` already. */
export function routeStep<S>(graph: CompiledGraph<S>, checkpoint: Checkpoint, state: S): RoutingResult {
  const step = checkpoint.nextStep;
  const routes: Route[] = [];
  for (const id of checkpoint.frontier) {
    const vertex = graph.vertices.get(id)!;
    const outcome = standing(checkpoint, vertex);
    if (outcome.kind === "failed") {
      routes.push({ from: id, to: outcome.handler.route, kind: "error" });
    } else if (vertex.condition === undefined) {
      for (const to of vertex.edges) routes.push({ from: id, to, kind: "static" });
    } else {
      const picked = pickTargets(vertex, state);
      if (picked instanceof ConditionError) return halted("condition", step, picked, id);
      if (picked instanceof UndeclaredTargetError) {
        return halted("undeclared_target", step, picked, id, picked.target);
      }
      for (const to of picked) routes.push({ from: id, to, kind: "conditional" });
    }
  }
  const { frontier, arrivals } = nextFrontier(graph, routes, checkpoint.arrivals);
  if (frontier.length === 0 && !checkpoint.finishRan && !hasEnded(routes)) {
    return halted("dead_end", step, new DeadEndError(step));
  }
  return { kind: "routed", routes, frontier, arrivals };
}

function halted(
  kind: Halt["kind"],
  step: number,
  error: Error,
  vertexId?: string,
  target?: string,
): RoutingResult {
  return {
    kind: "halted",
    error,
    halt: {
      kind,
      step,
      message: errorText(error instanceof ConditionError ? recordedMessage(error.cause) : error.message),
      ...(vertexId === undefined ? {} : { vertexId }),
      ...(target === undefined ? {} : { target: errorText(target) }),
    },
  };
}

function pickTargets<S>(
  vertex: CompiledVertex<S>,
  state: S,
): readonly string[] | ConditionError | UndeclaredTargetError {
  const { pick, targets } = vertex.condition!;
  try {
    const answer: unknown = synchronous(
      onlyReading(`the pick of vertex ${vertex.id}`, "the state", state, pick),
      "pick returned a promise; it must decide synchronously, do asynchronous work in a vertex",
    );
    const picked = Array.isArray(answer)
      ? (answer as readonly unknown[])
      : answer === undefined
      ? []
      : [answer];
    if (picked.length === 0) return new UndeclaredTargetError(vertex.id, "", targets);
    const stranger = picked.find((t) => typeof t !== "string" || !targets.includes(t));
    ignorePromises(stranger);
    if (stranger !== undefined) return new UndeclaredTargetError(vertex.id, String(stranger), targets);
    return [...new Set(picked as readonly string[])];
  } catch (error) {
    return new ConditionError(vertex.id, error);
  }
}

/** The vertices that run next, sorted, and the arrivals that go on waiting. */
export function nextFrontier<S>(
  graph: CompiledGraph<S>,
  routes: readonly Route[],
  before: ReadonlyMap<string, readonly string[]>,
): { readonly frontier: readonly string[]; readonly arrivals: ReadonlyMap<string, readonly string[]> } {
  const frontier = new Set<string>();
  let waiting: Map<string, Set<string>> | undefined;
  if (before.size > 0) waiting = new Map([...before].map(([join, from]) => [join, new Set(from)]));
  for (const { from, to } of routes) {
    if (to === END) continue;
    if (graph.vertices.get(to)!.join === "any") frontier.add(to);
    else {
      waiting ??= new Map();
      waiting.set(to, (waiting.get(to) ?? new Set()).add(from));
    }
  }
  if (waiting === undefined) return { frontier: sorted(frontier), arrivals: NONE };

  for (const join of readyJoins(graph, frontier, waiting)) {
    waiting.delete(join);
    frontier.add(join);
  }
  const arrivals = sorted(waiting.keys()).map((join) => [join, sorted(waiting.get(join)!)] as const);
  return { frontier: sorted(frontier), arrivals: new Map(arrivals) };
}

const NONE: ReadonlyMap<string, readonly string[]> = new Map();

/** The waiting joins that nothing holds up, and the knots of those that only hold each other up. */
function readyJoins<S>(
  graph: CompiledGraph<S>,
  frontier: ReadonlySet<string>,
  waiting: ReadonlyMap<string, ReadonlySet<string>>,
): readonly string[] {
  const isBlocked = new Set<string>();
  const holders = new Map<string, readonly string[]>();
  for (const [join, arrived] of waiting) {
    const { sources, ancestors } = graph.vertices.get(join)!;
    const outstanding = sources.filter((s) => s !== join && !arrived.has(s)).map(ancestors);
    const isHolder = (id: string) => outstanding.some((leading) => leading.has(id));
    for (const id of frontier) if (isHolder(id)) isBlocked.add(join);
    holders.set(join, [...waiting.keys()].filter(isHolder));
  }
  const knots = new Map([...waiting.keys()].map((join) => [join, closure(join, holders)]));
  return [...waiting.keys()].filter((join) => {
    const knot = knots.get(join)!;
    return [...knot].every((other) => !isBlocked.has(other) && knots.get(other)!.has(join));
  });
}

/** The join and whatever holds it up, directly or through others. */
function closure(join: string, holders: ReadonlyMap<string, readonly string[]>): ReadonlySet<string> {
  const all = new Set([join]);
  // What is added while a set is gone through is gone through, too.
  for (const id of all) for (const holder of holders.get(id)!) all.add(holder);
  return all;
}

function sorted(ids: Iterable<string>): string[] {
  return [...ids].sort(compareIds);
}
