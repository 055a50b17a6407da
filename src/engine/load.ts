import { CheckpointDecodeError, UnknownVertexError } from "../errors.ts";
import { type Checkpoint, type Execution, executionKey } from "../model/checkpoint.ts";
import type { CompiledGraph } from "../model/definition.ts";
import { END } from "../model/ids.ts";
import { handlerOf } from "./handlers.ts";
import { standing } from "./step.ts";
import { stepVertices } from "./superstep.ts";

/**
 * Judges a checkpoint that was read from a store: whatever passes can be run by this graph. Nothing in it is trusted, so
 * a damaged or foreign one is refused before any task runs and before anything is written.
 */
export function validateCheckpoint<S>(graph: CompiledGraph<S>, checkpoint: Checkpoint): void {
  knownVertices(graph, checkpoint);
  const damaged = (field: string, problem: string) =>
    new CheckpointDecodeError(checkpoint.run.runId, field, problem);
  const phase = (problem: string) => damaged("Phase", problem);
  const { run, executions, maps, halt, frontier, folded } = checkpoint;

  const members = new Set(frontier);
  if (members.size !== frontier.length) throw damaged("Frontier", "a vertex is in it twice");
  for (const [vertexId] of maps) {
    if (!members.has(vertexId) || graph.vertices.get(vertexId)!.each === undefined) {
      throw damaged("Maps", `vertex ${vertexId} has items but is no map vertex of the step`);
    }
  }
  for (const [key, x] of executions) {
    const problem = members.has(x.vertexId)
      ? executionProblem(graph, checkpoint, key, x)
      : "it is not of the step";
    if (problem !== undefined) throw damaged("Executions", `execution ${key}: ${problem}`);
  }

  if ((checkpoint.phase === "halted") !== (halt !== undefined)) {
    throw phase(`${checkpoint.phase} ${halt === undefined ? "without" : "with"} a halt`);
  }
  if (halt !== undefined && halt.kind !== "max_recoveries" && halt.kind !== "load_fault") {
    const waits = [...executions.values()].find((x) => x.status === "suspended" || x.status === "backoff");
    if (waits !== undefined) throw phase(`halted by ${halt.kind} while vertex ${waits.vertexId} waits`);
  }
  if ((checkpoint.phase === "halted" || checkpoint.phase === "paused") && run.status === "running") {
    throw phase(`${checkpoint.phase} while the run is running`);
  }
  if (checkpoint.phase === "routed" && (executions.size > 0 || maps.size > 0 || folded)) {
    throw phase("routed with executions of a step");
  }
  if (run.status === "completed" && (checkpoint.phase !== "routed" || frontier.length > 0)) {
    throw phase(`completed in the middle of a step`);
  }
  if (run.status !== "completed" && run.status !== "cancelled" && frontier.length === 0) {
    throw damaged("Frontier", "it is empty although the run is not over");
  }
  // A cancellation may have recorded results of which no body was told.
  if (checkpoint.phase === "paused" && run.status !== "cancelled") {
    const stuck = stepVertices(graph, checkpoint).filter((v) => standing(checkpoint, v).kind === "unsettled");
    if (stuck.length === 0) throw phase("paused although nothing waits, has failed or is to be retried");
    for (const { id } of stuck) {
      // A map vertex that failed as a whole keeps its items as they were.
      if (executions.get(id)?.status === "failed") continue;
      const ofVertex = [...executions.values()].filter((x) => x.vertexId === id);
      if (ofVertex.some((x) => x.status === "pending") || !ofVertex.some((x) => x.status !== "done")) {
        throw damaged("Executions", `the run is paused but vertex ${id} neither waits nor has failed`);
      }
    }
  }
}

function executionProblem<S>(
  graph: CompiledGraph<S>,
  checkpoint: Checkpoint,
  key: string,
  x: Execution,
): string | undefined {
  const vertex = graph.vertices.get(x.vertexId)!;
  if (executionKey(x.vertexId, x.item) !== key) return "it is stored under another key";
  if (x.item !== undefined && x.item >= (checkpoint.maps.get(x.vertexId)?.count ?? 0)) {
    return "it has no such item";
  }
  if (vertex.each !== undefined && x.item === undefined && !mayBeWhole(checkpoint, x)) {
    return "it is of a map vertex and names no item";
  }
  if (x.status === "failed" && x.failure === undefined) return "it has failed without a failure";
  if (x.status === "backoff" && x.nextAt === undefined) return "it waits to be retried at no time";
  if (x.handler !== undefined && handlerOf(vertex, x.handler) === undefined) {
    return `it names an error handler that does not exist: ${x.handler}`;
  }
  if (x.handler !== undefined && x.status !== "failed") return "it names an error handler but has not failed";
  // What no body asks for any more may be declared no longer.
  const isSettled = x.status === "done" || x.handler !== undefined;
  for (const wait of x.waits.values()) {
    if (wait.kind === "answer" && !isSettled && !vertex.waits.has(wait.name)) {
      return `it waits for ${wait.name}, which is not declared`;
    }
    if ((wait.result === undefined) !== (wait.seq === undefined)) {
      return `the result of wait ${wait.id} has no place`;
    }
  }
  return undefined;
}

/** A map vertex has failed as a whole, or is to be split anew after it had. */
function mayBeWhole(checkpoint: Checkpoint, x: Execution): boolean {
  return x.status === "failed" || (x.status === "pending" && !checkpoint.maps.has(x.vertexId));
}

function knownVertices<S>(graph: CompiledGraph<S>, checkpoint: Checkpoint): void {
  const check = (ids: Iterable<string>, where: string) => {
    for (const id of ids) {
      if (graph.vertices.has(id)) continue;
      throw new UnknownVertexError(id, `the checkpoint's ${where}`, undefined, { graphId: graph.id });
    }
  };
  check(checkpoint.frontier, "frontier");
  check([...checkpoint.executions.values()].map((x) => x.vertexId), "executions");
  check(checkpoint.maps.keys(), "maps");
  check(checkpoint.routes.flatMap((r) => r.to === END ? [r.from] : [r.from, r.to]), "routes");
  for (const [join, sources] of checkpoint.arrivals) check([join, ...sources], "arrivals");
}
