import type { Runner } from "../engine/runner.ts";
import { DuplicateRegistrationError } from "../errors.ts";
import { compareIds } from "../model/ids.ts";
import { type GraphKey, keyText } from "./control_plane.ts";
import { type RunnerHandle, runnerHandle } from "./runner_handle.ts";

/** A graph with its registered versions. */
export interface ManifestEntry {
  /** The id of the graph. */
  readonly graphId: string;
  /** Its registered versions, in ascending order. */
  readonly versions: readonly string[];
}

/**
 * The runners of a process by graph and version, for code that knows neither their classes nor their types.
 *
 * @example
 * ```ts ignore
 * const registry = new Registry();
 * registry.add(compile(Approval, { store }));
 * const { graphId, graphVersion } = registry.keys[0]!;
 * await registry.resolve(graphId, graphVersion)!.run({ question: "…" });
 * ```
 */
export class Registry {
  readonly #handles = new Map<string, RunnerHandle>();

  /**
   * Registers a runner under its graph and version.
   *
   * @throws {DuplicateRegistrationError} that version has a runner already, which stays
   */
  add<S, I>(runner: Runner<S, I>): RunnerHandle {
    const handle = runnerHandle(runner);
    const key = keyText(handle);
    if (this.#handles.has(key)) throw new DuplicateRegistrationError(handle.graphId, handle.graphVersion);
    this.#handles.set(key, handle);
    return handle;
  }

  /** The runner of exactly that version; there is no other one that would do. */
  resolve(graphId: string, graphVersion: string): RunnerHandle | undefined {
    return this.#handles.get(keyText({ graphId, graphVersion }));
  }

  /** Every registration, by graph and then by version. */
  get keys(): readonly GraphKey[] {
    return [...this.#handles.values()]
      .map(({ graphId, graphVersion }) => ({ graphId, graphVersion }))
      .sort((a, b) => compareIds(a.graphId, b.graphId) || compareIds(a.graphVersion, b.graphVersion));
  }

  /** Every graph with its versions, both in ascending order. */
  get manifest(): readonly ManifestEntry[] {
    const versions = new Map<string, string[]>();
    for (const { graphId, graphVersion } of this.keys) {
      versions.set(graphId, [...versions.get(graphId) ?? [], graphVersion]);
    }
    return [...versions].map(([graphId, all]) => ({ graphId, versions: all }));
  }
}
