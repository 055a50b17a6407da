import { parseWith } from "../../checkpoint/validate.ts";
import type { Mailbox } from "../../checkpoint/mailbox.ts";
import { messageOf, reasonOf } from "../../errors.ts";
import { recordedVertices, renamed, type Renames } from "../../graph/mod.ts";
import type { Checkpoint, Execution } from "../../model/checkpoint.ts";
import type { CompiledGraph, CompiledVertex } from "../../model/definition.ts";
import { END } from "../../model/ids.ts";
import { isOpen, type WaitState } from "../../model/wait.ts";
import { handlerOf } from "../handlers.ts";
import { itemsOf, planStep, splitOf } from "../plan.ts";
import { stepVertices } from "../superstep.ts";

/** A run of another version, as it would be under a graph. */
export interface Newcomer {
  readonly checkpoint: Checkpoint;
  /** Accepted answers that no record holds yet. */
  readonly answers: Mailbox["answers"];
  /** The canonical form of the graph that it comes from; empty where that is no longer stored. */
  readonly form: string;
  /** The ids that vertices have since, by those that they had in that graph. */
  readonly names: Renames;
}

/**
 * The first thing of a run that this graph cannot go on with, in words; `undefined` when everything it names is there and
 * means what it meant. Its state is judged apart, and its items by {@link otherItems}. Pure.
 */
export function misfit<S>(graph: CompiledGraph<S>, newcomer: Newcomer): string | undefined {
  const { checkpoint } = newcomer;
  return firstOf(vertexIds(checkpoint), ([id, place]) => missing(graph, id, place)) ??
    firstOf(checkpoint.frontier, (id) => otherKind(graph.vertices.get(id)!, newcomer)) ??
    firstOf(checkpoint.arrivals, ([join, sources]) => lostJoin(graph.vertices.get(join)!, sources)) ??
    firstOf(checkpoint.executions.values(), (x) => lostHandler(graph.vertices.get(x.vertexId)!, x)) ??
    firstOf(checkpoint.executions.values(), (x) => lostWaits(graph.vertices.get(x.vertexId)!, x, newcomer));
}

/** The first map vertex that selects other items from the state than those recorded. Pure. */
export function otherItems<S>(
  graph: CompiledGraph<S>,
  { maps, folded }: Checkpoint,
  state: S,
): string | undefined {
  return folded ? undefined : firstOf(maps, ([id, recorded]) => {
    try {
      const now = splitOf(id, itemsOf(graph.vertices.get(id)!, state));
      if (now.count === recorded.count && now.digest === recorded.digest) return undefined;
      return `map vertex ${id} has other items now (${now.count}, it began with ${recorded.count})`;
    } catch {
      // What selects none is told with all that select no input.
      return undefined;
    }
  });
}

/** Why a run does not come under the code. */
export interface Refusal {
  /** In words. */
  readonly refusal: string;
  /** What user code threw, which may hold what callers must not see. */
  readonly thrown?: string;
}

/** The first vertex under way whose selector fails on the state: its body would never get an input. Pure. */
export function lostInput<S>(graph: CompiledGraph<S>, checkpoint: Checkpoint, state: S): Refusal | undefined {
  if (checkpoint.folded) return undefined;
  const [fault] = planStep(stepVertices(graph, checkpoint), checkpoint, state).faults;
  return fault && {
    refusal: `vertex ${fault.vertexId} selects no input from the state`,
    thrown: reasonOf(fault.error),
  };
}

/** Every vertex that a checkpoint names, with where. */
function* vertexIds(checkpoint: Checkpoint): Iterable<readonly [id: string, place: string]> {
  const { frontier, executions, maps, arrivals, routes } = checkpoint;
  for (const id of frontier) yield [id, "it is at"];
  for (const { vertexId } of executions.values()) yield [vertexId, "it is at"];
  for (const id of maps.keys()) yield [id, "it is at"];
  for (const [join, sources] of arrivals) {
    yield [join, "waits as a join in it"];
    for (const id of sources) yield [id, `has reached join ${join} in it`];
  }
  for (const { from, to } of routes) {
    yield [from, "it comes from"];
    if (to !== END) yield [to, "it was led to"];
  }
}

function missing<S>(graph: CompiledGraph<S>, id: string, place: string): string | undefined {
  return graph.vertices.has(id) ? undefined : `vertex ${id}, which ${place}, is not in this code`;
}

function otherKind<S>(
  { id, each }: CompiledVertex<S>,
  { checkpoint, form, names }: Newcomer,
): string | undefined {
  const [old] = [...recordedVertices(form)].find(([old]) => renamed(names, old) === id) ?? [];
  const was = recordedVertices(form).get(old ?? id)?.each ?? checkpoint.maps.has(id);
  if (was === (each !== undefined)) return undefined;
  return was
    ? `vertex ${id} was a map vertex and is a single one now`
    : `vertex ${id} is a map vertex now and was a single one`;
}

function lostJoin<S>(
  { id, join, sources }: CompiledVertex<S>,
  arrived: readonly string[],
): string | undefined {
  if (join !== "all") return `vertex ${id} waits as a join in it and is none now`;
  return firstOf(
    arrived,
    (from) =>
      sources.includes(from)
        ? undefined
        : `the edge ${from} -> ${id}, over which it has reached join ${id}, is not in this code`,
  );
}

function lostHandler<S>(vertex: CompiledVertex<S>, { handler }: Execution): string | undefined {
  if (handler === undefined || handlerOf(vertex, handler) !== undefined) return undefined;
  const route = typeof handler === "number"
    ? "by an earlier error route"
    : `on its way to ${handler.split("#")[0]}`;
  return `vertex ${vertex.id} has failed ${route}, and no error route of it leads there now`;
}

/** Only what a body may still ask for counts: open waits, and answers that it would be given again. */
function lostWaits<S>(vertex: CompiledVertex<S>, x: Execution, { answers }: Newcomer): string | undefined {
  if (x.status === "done" || x.handler !== undefined) return undefined;
  return firstOf(x.waits.values(), (wait) => {
    const posted = answers.find(({ waitId }) => waitId === wait.id);
    const answer = wait.result?.kind === "answered" ? wait.result : isOpen(wait) ? posted : undefined;
    if (wait.kind !== "answer" || (answer === undefined && !isOpen(wait))) return undefined;
    const declared = vertex.waits.get(wait.name);
    if (declared === undefined) {
      return `vertex ${vertex.id} waits for ${wait.name}, which it does not declare now`;
    }
    return answer && refusedAnswer(vertex, wait, answer.value);
  });
}

function refusedAnswer<S>(
  { id, waits }: CompiledVertex<S>,
  { name }: WaitState,
  value: unknown,
): string | undefined {
  try {
    parseWith(waits.get(name)!.schema, value, `the answer to wait ${name} of vertex ${id}`);
    return undefined;
  } catch (error) {
    return `an answer that it has got no longer passes: ${messageOf(error).replace(/^superstep: /, "")}`;
  }
}

function firstOf<T>(all: Iterable<T>, judge: (one: T) => string | undefined): string | undefined {
  for (const one of all) {
    const problem = judge(one);
    if (problem !== undefined) return problem;
  }
  return undefined;
}
