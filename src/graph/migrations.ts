import { BuildError, UnknownVertexError } from "../errors.ts";
import type { CompiledMigration, MigrationOptions } from "../model/definition.ts";
import { isId } from "../model/ids.ts";
import { optionProblem } from "../model/known_options.ts";
import { KNOWN_MIGRATION } from "../model/policy_options.ts";
import { closestId } from "./closest.ts";
import { shown } from "./policies.ts";

/**
 * A migration whose options have been judged.
 *
 * @throws {BuildError} when one of them is not one, or another migration leads on from that version
 */
export function compileMigration<O>(
  op: string,
  graph: { readonly id: string; readonly version: number },
  options: MigrationOptions<O>,
  others: readonly CompiledMigration[],
): CompiledMigration {
  const { from, state, vertices = {} } = options;
  const refuse = (problem: string) =>
    new BuildError(op, `a migration of graph ${graph.id}: ${problem}`, { graphId: graph.id });
  const unknown = optionProblem(options, KNOWN_MIGRATION);
  if (unknown !== undefined) throw refuse(unknown);
  if (!Number.isSafeInteger(from) || from < 0) {
    throw refuse(`from is ${shown(from)}; give the version that runs come from, a whole number from 0`);
  }
  if (from >= graph.version) {
    throw refuse(`it leads on from version ${from}, but the graph has version ${graph.version}; raise that`);
  }
  if (others.some((other) => other.from === from)) {
    throw refuse(`two lead on from version ${from}; make one of them`);
  }
  if (state !== undefined && typeof state !== "function") {
    throw refuse(`state is ${shown(state)}; give a function of the old state`);
  }
  for (const [old, now] of Object.entries(vertices)) {
    if (isId(old) && (now === null || isId(now))) continue;
    throw refuse(`it maps vertex ${shown(old)} to ${shown(now)}; map an old id to a new one, or to null`);
  }
  return Object.freeze({
    from,
    state: state as CompiledMigration["state"],
    vertices: new Map(Object.entries(vertices)),
  });
}

/** The migrations that lead to a vertex which the graph has not. */
export function migrationFaults(
  graphId: string,
  migrations: readonly CompiledMigration[],
  ids: ReadonlySet<string>,
): UnknownVertexError[] {
  return migrations.flatMap(({ from, vertices }) => {
    const later = renames(migrations.filter((m) => m.from > from));
    return [...vertices].flatMap(([old, next]) => {
      const id = renamed(later, next);
      if (id === null || ids.has(id)) return [];
      const where = `the migration of vertex ${old} from version ${from}`;
      return [new UnknownVertexError(id, where, closestId(id, ids), { graphId })];
    });
  });
}

/** New ids by old ones, `null` for vertices that are gone; one that is not named keeps its id. */
export type Renames = ReadonlyMap<string, string | null>;

/** The id that a vertex has afterwards. */
export function renamed(names: Renames, id: string | null): string | null {
  const now = id === null ? null : names.get(id);
  return now === undefined ? id : now;
}

/** What becomes of the ids over migrations, whatever their order. */
export function renames(migrations: readonly CompiledMigration[]): Renames {
  const names = new Map<string, string | null>();
  for (const { vertices } of [...migrations].sort((a, b) => a.from - b.from)) {
    for (const [old, now] of names) names.set(old, renamed(vertices, now));
    for (const [old, now] of vertices) if (!names.has(old)) names.set(old, now);
  }
  return names;
}
