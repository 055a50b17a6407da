import { type Checkpoint, type Execution, executionKey } from "../model/checkpoint.ts";
import { compareIds, END } from "../model/ids.ts";

/**
 * A checkpoint whose vertices have other ids. Outcomes, waits, items, arrivals and chosen handlers move with their vertices;
 * `begunAs` keeps the ids under which those of the current step began. What is gone leaves the routes; nothing else of it
 * may be there. The path tells the past, and stays. Pure.
 */
export function underNewNames(
  { frontier, executions, maps, routes, arrivals, halt, begunAs }: Checkpoint,
  names: ReadonlyMap<string, string | null>,
): Partial<Checkpoint> {
  const named = (id: string) => names.get(id) ?? id;
  const isGone = (id: string) => id !== END && names.get(id) === null;
  const begun = frontier.map((id) => [named(id), begunAs?.get(id) ?? id] as const).filter(([now, was]) =>
    now !== was
  );
  return {
    frontier: frontier.map(named).sort(compareIds),
    executions: new Map(
      [...executions.values()].map((x) => moved(x, named)).map((x) => [executionKey(x.vertexId, x.item), x]),
    ),
    maps: new Map([...maps].map(([id, map]) => [named(id), map])),
    routes: routes.filter(({ from, to }) => !isGone(from) && !isGone(to))
      .map((route) => ({ ...route, from: named(route.from), to: named(route.to) })),
    arrivals: new Map([...arrivals].map(([join, sources]) => [named(join), sources.map(named)])),
    ...(halt?.vertexId === undefined ? {} : { halt: { ...halt, vertexId: named(halt.vertexId) } }),
    ...(begun.length === 0 ? {} : { begunAs: new Map(begun) }),
  };
}

function moved({ handler, ...x }: Execution, named: (id: string) => string): Execution {
  const vertexId = named(x.vertexId);
  if (typeof handler !== "string") {
    return handler === undefined ? { ...x, vertexId } : { ...x, vertexId, handler };
  }
  const [route, ...place] = handler.split("#");
  return { ...x, vertexId, handler: [named(route!), ...place].join("#") };
}
