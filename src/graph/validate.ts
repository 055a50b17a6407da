import {
  AmbiguousRoutingError,
  type FaultPlace,
  MissingEntryError,
  type SuperstepError,
  UnknownVertexError,
  UnreachableVertexError,
} from "../errors.ts";
import { compareIds, END } from "../model/ids.ts";
import { closestId } from "../model/closest.ts";

/** What is checked of a graph: who there is, and who leads to whom. */
export interface GraphLinks {
  readonly graphId: string;
  /** The names of the task classes, by vertex id. */
  readonly classNames: ReadonlyMap<string, string | undefined>;
  readonly ids: ReadonlySet<string>;
  readonly entry: string | undefined;
  readonly finishes: readonly string[];
  readonly edges: readonly { readonly from: string; readonly to: string }[];
  readonly conditions: ReadonlyMap<string, readonly string[]>;
  readonly errorRoutes: ReadonlyMap<string, readonly string[]>;
}

/**
 * Every fault of a graph, in the order in which they count: entry, finishes, unknown ids (static edges, then
 * conditions, then error routes), ambiguous routing, unreachable vertices. Within a class in ascending id order, so
 * that a build is deterministic.
 */
export function graphFaults(links: GraphLinks): SuperstepError[] {
  const faults = [...endFaults(links), ...endpointFaults(links), ...ambiguities(links)];
  // A missing link makes everything behind it look unreachable: only a graph that holds together is asked.
  const unsound = faults.some(({ code }) => code === "MISSING_ENTRY" || code === "UNKNOWN_VERTEX");
  return unsound ? faults : [...faults, ...unreachable(links)];
}

function endFaults({ graphId, ids, entry, finishes, edges, conditions }: GraphLinks): SuperstepError[] {
  const faults: SuperstepError[] = [];
  if (entry === undefined || !ids.has(entry)) {
    faults.push(new MissingEntryError("entry", entry, closestId(entry, ids), { graphId }));
  }
  const hasEnd = edges.some(({ to }) => to === END) || [...conditions.values()].flat().includes(END);
  if (finishes.length === 0 && !hasEnd) {
    faults.push(new MissingEntryError("finish", undefined, undefined, { graphId }));
  }
  for (const finish of finishes) {
    if (!ids.has(finish)) {
      faults.push(new MissingEntryError("finish", finish, closestId(finish, ids), { graphId }));
    }
  }
  return faults;
}

function endpointFaults(links: GraphLinks): SuperstepError[] {
  const { ids, edges, conditions, errorRoutes } = links;
  const faults: SuperstepError[] = [];
  const known = (id: string, where: string, from: string) => {
    if (!ids.has(id)) {
      faults.push(new UnknownVertexError(id, where, closestId(id, ids), placeOf(links, from)));
    }
  };
  for (
    const { from, to } of [...edges].sort((a, b) => compareIds(a.from, b.from) || compareIds(a.to, b.to))
  ) {
    known(from, `the edge ${from} -> ${to}`, from);
    if (to !== END) known(to, `the edge ${from} -> ${to}`, from);
  }
  for (const [from, targets] of inOrder(conditions)) {
    known(from, `the condition of ${from}`, from);
    for (const target of targets) if (target !== END) known(target, `the targets of vertex ${from}`, from);
  }
  for (const [from, routes] of inOrder(errorRoutes)) {
    for (const route of routes) known(route, `an error route of vertex ${from}`, from);
  }
  return faults;
}

function ambiguities(links: GraphLinks): SuperstepError[] {
  const { edges, conditions } = links;
  const withEdges = new Set(edges.map(({ from }) => from));
  return inOrder(conditions).filter(([from]) => withEdges.has(from)).map(([from]) =>
    new AmbiguousRoutingError(from, placeOf(links, from))
  );
}

function unreachable(links: GraphLinks): SuperstepError[] {
  const { ids, entry, edges, conditions, errorRoutes } = links;
  const next = new Map<string, string[]>([...ids].map((id) => [id, []]));
  for (const { from, to } of edges) next.get(from)?.push(to);
  for (const table of [conditions, errorRoutes]) {
    for (const [from, targets] of table) next.get(from)?.push(...targets);
  }
  const seen = new Set<string>();
  const open = entry === undefined ? [] : [entry];
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    if (seen.has(id)) continue;
    seen.add(id);
    open.push(...next.get(id) ?? []);
  }
  return [...ids].filter((id) => !seen.has(id)).sort(compareIds).map((id) =>
    new UnreachableVertexError(id, placeOf(links, id))
  );
}

function placeOf({ graphId, classNames }: GraphLinks, vertexId: string): FaultPlace {
  const className = classNames.get(vertexId);
  return className === undefined ? { graphId } : { graphId, className };
}

function inOrder<V>(table: ReadonlyMap<string, V>): [string, V][] {
  return [...table].sort(([a], [b]) => compareIds(a, b));
}
