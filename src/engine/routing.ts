import { ConditionError, ContextError, DeadEndError, messageOf, UndeclaredTargetError } from "../errors.ts";
import type { Checkpoint } from "../model/checkpoint.ts";
import type { CompiledGraph, CompiledVertex } from "../model/definition.ts";
import { compareIds } from "../model/ids.ts";
import type { Halt, Route } from "../model/run.ts";
import { standing } from "./step.ts";
import { ignore, isThenable } from "./thenable.ts";

/**
 * Where a run goes after a step. Pure.
 *
 * 1. Vertices are routed in ascending id; the first halt ends it.
 * 2. A vertex that failed under a route takes only that route; otherwise its static edges or its `pick`.
 * 3. `pick` sees the state after every reducer of the step.
 * 4. A join enters the frontier when no edge that has not arrived can arrive any more, and consumes its arrivals.
 */
export type RoutingResult =
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
      routes.push({ from: id, to: vertex.handlers[outcome.handler]!.route, kind: "error" });
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
  if (frontier.length === 0 && !checkpoint.finishRan) return halted("dead_end", step, new DeadEndError(step));
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
      message: error instanceof ConditionError ? messageOf(error.cause) : error.message,
      ...(vertexId === undefined ? {} : { vertexId }),
      ...(target === undefined ? {} : { target }),
    },
  };
}

function pickTargets<S>(
  vertex: CompiledVertex<S>,
  state: S,
): readonly string[] | ConditionError | UndeclaredTargetError {
  const { pick, targets } = vertex.condition!;
  try {
    const answer: unknown = pick(state);
    if (isThenable(answer)) {
      ignore(answer);
      throw new ContextError(
        "pick returned a promise; it must decide synchronously, do asynchronous work in a vertex",
      );
    }
    const picked = Array.isArray(answer)
      ? (answer as readonly unknown[])
      : answer === undefined
      ? []
      : [answer];
    if (picked.length === 0) return new UndeclaredTargetError(vertex.id, "", targets);
    const stranger = picked.find((t) => typeof t !== "string" || !targets.includes(t));
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
    if (graph.vertices.get(to)!.join === "any") frontier.add(to);
    else {
      waiting ??= new Map();
      waiting.set(to, (waiting.get(to) ?? new Set()).add(from));
    }
  }
  if (waiting === undefined) return { frontier: sorted(frontier), arrivals: NONE };

  for (
    let ready = readyJoins(graph, frontier, waiting);
    ready.length > 0;
    ready = readyJoins(graph, frontier, waiting)
  ) {
    for (const join of ready) {
      waiting.delete(join);
      frontier.add(join);
    }
  }
  const arrivals = sorted(waiting.keys()).map((join) => [join, sorted(waiting.get(join)!)] as const);
  return { frontier: sorted(frontier), arrivals: new Map(arrivals) };
}

const NONE: ReadonlyMap<string, readonly string[]> = new Map();

/**
 * The waiting joins that nothing outstanding can reach. Of several, those that lie behind another one wait for it;
 * joins that lie behind each other are resolved by the smallest id.
 */
function readyJoins<S>(
  graph: CompiledGraph<S>,
  frontier: ReadonlySet<string>,
  waiting: ReadonlyMap<string, ReadonlySet<string>>,
): readonly string[] {
  const reachable = reach(graph, frontier, waiting);
  const candidates = sorted(waiting.keys()).filter((join) => {
    const arrived = waiting.get(join)!;
    return graph.vertices.get(join)!.sources.every((s) => s === join || arrived.has(s) || !reachable.has(s));
  });
  // A join that is about to run holds nothing up: what lies behind it is behind all that it is behind.
  const waitingOn = new Map([...waiting].filter(([join]) => !candidates.includes(join)));
  const after = new Map(candidates.map((join) => [join, reach(graph, new Set([join]), waitingOn)]));
  const isBehind = (join: string, other: string) =>
    join !== other && graph.vertices.get(join)!.sources.some((s) => after.get(other)!.has(s));
  const free = candidates.filter((join) => !candidates.some((other) => isBehind(join, other)));
  if (free.length > 0) return free;
  const knotted = candidates.filter((join) =>
    candidates.every((other) => !isBehind(join, other) || isBehind(other, join))
  );
  return (knotted.length > 0 ? knotted : candidates).slice(0, 1);
}

/** Everything that may still run: the start and all that edges lead to from it, not going on behind a waiting join. */
function reach<S>(
  graph: CompiledGraph<S>,
  start: ReadonlySet<string>,
  waiting: ReadonlyMap<string, unknown>,
): ReadonlySet<string> {
  const seen = new Set(start);
  const queue = [...start];
  for (let id = queue.pop(); id !== undefined; id = queue.pop()) {
    for (const to of graph.vertices.get(id)!.targets) {
      if (seen.has(to)) continue;
      seen.add(to);
      if (!waiting.has(to)) queue.push(to);
    }
  }
  return seen;
}

function sorted(ids: Iterable<string>): string[] {
  return [...ids].sort(compareIds);
}
