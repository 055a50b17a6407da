import type { CompiledVertex, ErrorHandler } from "../model/definition.ts";
import { sha256Hex } from "../runtime/hash.ts";

/**
 * How the error handler that was chosen is recorded: by its route. Nothing in the version of a graph tells when handlers
 * with one route change places, so of these the place among them and a digest of the code are recorded as well. The code
 * decides where it is found again; another build of it leaves the place.
 */
export function handlerRef<S>({ handlers }: CompiledVertex<S>, handler: ErrorHandler<S>): string {
  const { route } = handler;
  const rivals = handlers.filter((h) => h.route === route);
  return rivals.length === 1 ? route : `${route}#${rivals.indexOf(handler)}#${codeOf(handler)}`;
}

/** The handler that was recorded, earlier by its index; `undefined` when the vertex has none to that route. */
export function handlerOf<S>(
  { handlers }: CompiledVertex<S>,
  ref: string | number,
): ErrorHandler<S> | undefined {
  if (typeof ref === "number") return handlers[ref];
  const [route, place = 0, code] = ref.split("#");
  const rivals = handlers.filter((h) => h.route === route);
  const there = rivals[Number(place)];
  if (rivals.length < 2 || there === undefined || codeOf(there) === code) return there;
  return rivals.find((h) => codeOf(h) === code) ?? there;
}

/** The vertex that a recorded handler leads to. */
export function routeOf(ref: string): string {
  return ref.split("#")[0]!;
}

function codeOf<S>({ match, record }: ErrorHandler<S>): string {
  const source = (f: unknown) => typeof f === "function" ? Function.prototype.toString.call(f) : "";
  return sha256Hex(`${source(match)}\n${source(record)}`).slice(0, 12);
}
