import type { CompiledGraph } from "../model/definition.ts";
import type { Attempt } from "./attempt.ts";

/** What room the caps of map vertices leave while bodies are being started. */
export class MapRoom<S> {
  readonly #graph: CompiledGraph<S>;
  readonly #attempts: ReadonlyMap<string, Attempt>;
  readonly #suspended: ReadonlyMap<string, unknown>;
  readonly #full = new Set<string>();

  constructor(
    graph: CompiledGraph<S>,
    attempts: ReadonlyMap<string, Attempt>,
    suspended: ReadonlyMap<string, unknown>,
  ) {
    this.#graph = graph;
    this.#attempts = attempts;
    this.#suspended = suspended;
  }

  /** Whether as many items of the vertex are at work as may be. */
  isFull(vertexId: string | undefined): boolean {
    const { concurrency } = this.#graph.vertices.get(vertexId ?? "") ?? {};
    if (vertexId === undefined || concurrency === undefined) return false;
    if (this.#full.has(vertexId)) return true;
    let atWork = 0;
    for (const [key, { info }] of this.#attempts) {
      if (info.execution.vertexId === vertexId && !this.#suspended.has(key)) atWork++;
    }
    if (atWork >= concurrency) this.#full.add(vertexId);
    return atWork >= concurrency;
  }
}
