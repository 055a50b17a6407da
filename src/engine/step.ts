import type { EventOf } from "../checkpoint/records.ts";
import { type Checkpoint, type Execution, executionKey, refOf } from "../model/checkpoint.ts";
import type { CompiledVertex, ErrorHandler } from "../model/definition.ts";
import type { ItemFailure, VertexFailure } from "../model/failure.ts";
import { isOpen } from "../model/wait.ts";
import { handlerOf } from "./handlers.ts";

/** How a vertex of the current step stands, its items taken together. Pure reading of a checkpoint. */
export type VertexStanding<S> =
  | { readonly kind: "unsettled" }
  | { readonly kind: "done"; readonly output: unknown }
  | { readonly kind: "failed"; readonly failure: VertexFailure; readonly handler: ErrorHandler<S> };

/** The standing of one vertex of the current step. */
export function standing<S>(checkpoint: Checkpoint, vertex: CompiledVertex<S>): VertexStanding<S> {
  const whole = checkpoint.executions.get(vertex.id);
  if (vertex.each === undefined || whole !== undefined) {
    return whole === undefined ? UNSETTLED : standingOf(vertex, whole);
  }

  const map = checkpoint.maps.get(vertex.id);
  if (map === undefined) return UNSETTLED;
  const outputs: unknown[] = [];
  const failures: ItemFailure[] = [];
  let handler: ErrorHandler<S> | undefined;
  for (let item = 0; item < map.count; item++) {
    const x = checkpoint.executions.get(executionKey(vertex.id, item));
    const one = x === undefined ? UNSETTLED : standingOf(vertex, x);
    if (one.kind === "unsettled") return UNSETTLED;
    if (one.kind === "done") outputs.push(one.output);
    else {
      handler ??= one.handler;
      failures.push({ ...one.failure, item });
    }
  }
  if (handler === undefined) return { kind: "done", output: Object.freeze(outputs) };
  const { item: _, ...lowest } = failures[0]!;
  return { kind: "failed", failure: { ...lowest, failures }, handler };
}

/** Whether every vertex of the current step is done or failed under a route. */
export function isSettled<S>(checkpoint: Checkpoint, vertices: readonly CompiledVertex<S>[]): boolean {
  return vertices.every((v) => standing(checkpoint, v).kind !== "unsettled");
}

/** The key of the live error that a `record` threw; under that of the execution stays the one that it was to record. */
export function recordKey(vertexId: string): string {
  return `${vertexId}/record`;
}

/** Executions that failed under "pause". */
export function pausedFailures(checkpoint: Checkpoint): Execution[] {
  return [...checkpoint.executions.values()].filter((x) => x.status === "failed" && x.handler === undefined);
}

/** What closes the open waits of the executions that `which` names. */
export function closings(
  { executions }: Checkpoint,
  which: (x: Execution) => boolean,
  reason: EventOf<"closed">["reason"],
): EventOf<"closed">[] {
  const closed: EventOf<"closed">[] = [];
  for (const x of executions.values()) {
    if (!which(x)) continue;
    for (const wait of x.waits.values()) {
      if (isOpen(wait)) closed.push({ type: "closed", ...refOf(x), id: wait.id, reason });
    }
  }
  return closed;
}

const UNSETTLED = { kind: "unsettled" } as const;

function standingOf<S>(vertex: CompiledVertex<S>, x: Execution): VertexStanding<S> {
  if (x.status === "done") return { kind: "done", output: x.output };
  const handler = x.handler === undefined ? undefined : handlerOf(vertex, x.handler);
  if (x.status === "failed" && handler !== undefined && x.failure !== undefined) {
    return { kind: "failed", failure: x.failure, handler };
  }
  return UNSETTLED;
}
