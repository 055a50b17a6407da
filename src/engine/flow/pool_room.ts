import { executionKey, type ExecutionRef } from "../../model/checkpoint.ts";
import type { CompiledGraph } from "../../model/definition.ts";
import { poolPermit } from "../../model/flow.ts";
import type { BodyHost } from "../body_host.ts";
import type { RunnerDeps } from "../runner_deps.ts";
import { type PoolClient, poolsOf } from "./pools.ts";

type Host<S> = Pick<BodyHost<S>, "cursor" | "keep" | "wake">;

/**
 * The permits of pools that bodies of one run hold or wait for.
 *
 * 1. A body of a pool begins, or goes on after it was suspended, only with a permit.
 * 2. It gives its permit back when it is over, and while it only waits. Grants and returns are recorded with their numbers.
 */
export class PoolRoom<S> {
  readonly #deps: Pick<RunnerDeps<S>, "graph" | "store" | "runtime">;
  readonly #host: Host<S>;
  readonly #held = new Map<string, { readonly client: PoolClient; readonly owner: string }>();
  /** What takes a request back. */
  readonly #asked = new Map<string, () => void>();
  readonly #heard = new Map<string, () => void>();
  /** How often everything was given back. */
  #ends = 0;
  /** How many calls each body waits for. */
  readonly #lent = new Map<string, number>();

  constructor(deps: Pick<RunnerDeps<S>, "graph" | "store" | "runtime">, host: Host<S>) {
    this.#deps = deps;
    this.#host = host;
  }

  /** Whether the body may run as far as pools are concerned; asks for a permit otherwise. */
  mayRun({ vertexId, item }: ExecutionRef): boolean {
    const { graph, store, runtime } = this.#deps;
    const { pool } = (graph as CompiledGraph<S>).vertices.get(vertexId) ?? {};
    if (pool === undefined) return true;
    const key = executionKey(vertexId, item);
    if (this.#held.has(key)) return true;
    const owner = this.#host.cursor().checkpoint.run.owner;
    if (owner === undefined || this.#asked.has(key)) return false;
    const client = poolsOf(store).of(pool, runtime);
    const withdraw = client.ask(owner, (n) => {
      this.#asked.delete(key);
      this.#held.set(key, { client, owner });
      this.#host.keep({ type: "granted", permit: poolPermit(pool.name), n });
      this.#heard.get(key)?.();
      this.#host.wake();
    });
    this.#asked.set(key, withdraw);
    return false;
  }

  /** Whether the bodies of a vertex need permits. */
  isOf(vertexId: string): boolean {
    return this.#deps.graph.vertices.get(vertexId)?.pool !== undefined;
  }

  /** Gives the permit of a body back, if it holds one; resolves when that is noted. */
  giveBack(key: string): Promise<void> | undefined {
    const held = this.#held.get(key);
    if (held === undefined) return undefined;
    this.#held.delete(key);
    const { client, owner } = held;
    return client.giveBack(owner).then((n) =>
      this.#host.keep({ type: "freed", permit: poolPermit(client.pool.name), n })
    );
  }

  /** Gives the permit of a body back until `work` is over. */
  async lend(by: ExecutionRef, work: Promise<unknown>): Promise<void> {
    if (!this.isOf(by.vertexId)) return;
    const key = executionKey(by.vertexId, by.item);
    // Calls may be nested.
    this.#lent.set(key, (this.#lent.get(key) ?? 0) + 1);
    void this.giveBack(key);
    const ends = this.#ends;
    await work.catch(() => {});
    if (ends !== this.#ends) return;
    const others = this.#lent.get(key)! - 1;
    if (others > 0) return void this.#lent.set(key, others);
    this.#lent.delete(key);
    if (this.mayRun(by)) return;
    await new Promise<void>((resolve) => this.#heard.set(key, resolve));
    this.#heard.delete(key);
  }

  /** Gives everything back. */
  end(): void {
    this.#ends++;
    this.#lent.clear();
    for (const withdraw of this.#asked.values()) withdraw();
    this.#asked.clear();
    for (const key of [...this.#held.keys()]) void this.giveBack(key);
    for (const heard of this.#heard.values()) heard();
  }
}
