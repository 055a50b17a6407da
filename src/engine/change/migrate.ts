import { canonical } from "../../checkpoint/canonical.ts";
import { userFault } from "../../errors/base.ts";
import { MigrationError } from "../../errors.ts";
import { renamed, type Renames } from "../../graph/mod.ts";
import type { Checkpoint } from "../../model/checkpoint.ts";
import type { CompiledMigration } from "../../model/definition.ts";
import { synchronous } from "../thenable.ts";

/**
 * The state that migrations make of one, in order.
 *
 * @throws {MigrationError} naming the first that fails, or whose state cannot be stored
 */
export function migratedState(runId: string, steps: readonly CompiledMigration[], state: unknown): unknown {
  return steps.reduce((old, { from, state: migrate }) => {
    if (migrate === undefined) return old;
    try {
      const made = synchronous(migrate(old), "it returned a promise; a migration is synchronous");
      if (made === undefined) throw new TypeError("it returned undefined; return the new state");
      return canonical(made, "the migrated state");
    } catch (cause) {
      throw new MigrationError(runId, from, userFault(cause), { cause });
    }
  }, state);
}

/** What the current step holds of a vertex that is gone, or of two that become one; `undefined` when nothing. Pure. */
export function lostByNames({ frontier, arrivals }: Checkpoint, names: Renames): string | undefined {
  const held = new Set<string>();
  const gone = (id: string, how: string) =>
    renamed(names, id) === null ? `vertex ${id} is gone by the migration, but the run ${how}` : undefined;
  for (const id of frontier) {
    const now = renamed(names, id);
    if (now === null) return gone(id, "is at it");
    if (held.has(now)) return `the run is at two vertices that become one, ${now}`;
    held.add(now);
  }
  for (const [join, sources] of arrivals) {
    const lost = [
      gone(join, "waits at that join"),
      ...sources.map((id) => gone(id, `has come from it to join ${join}`)),
    ]
      .find((problem) => problem !== undefined);
    if (lost !== undefined) return lost;
  }
  const joins = new Set([...arrivals.keys()].map((id) => renamed(names, id)));
  return joins.size < arrivals.size ? "the run waits at two joins that become one" : undefined;
}
