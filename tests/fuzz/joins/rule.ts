/**
 * The sentence on joins (D6), read word by word and written down as slowly as it reads. It shares no code with the
 * engine, and it judges one knot after the other, in whatever order it is asked to.
 */

/** The edges of a graph, of every kind, and which of its vertices are joins. */
export interface JoinGraph {
  readonly edges: ReadonlyMap<string, readonly string[]>;
  readonly joins: ReadonlySet<string>;
}

/** Who runs next, and for each join that waits the sources that have arrived. */
export interface Next {
  readonly frontier: ReadonlySet<string>;
  readonly waiting: ReadonlyMap<string, ReadonlySet<string>>;
}

/** What the taken edges and the arrivals of earlier steps come to. */
export function nextOf(
  graph: JoinGraph,
  taken: readonly { readonly from: string; readonly to: string }[],
  before: ReadonlyMap<string, Iterable<string>>,
  order: (joins: readonly string[]) => readonly string[] = (joins) => joins,
): Next {
  const frontier = new Set<string>();
  const waiting = new Map([...before].map(([join, from]) => [join, new Set(from)]));
  for (const { from, to } of taken) {
    if (!graph.joins.has(to)) frontier.add(to);
    else if (waiting.has(to)) waiting.get(to)!.add(from);
    else waiting.set(to, new Set([from]));
  }
  for (;;) {
    const knot = order([...waiting.keys()]).map((j) => knotOf(graph, frontier, waiting, j)).find(Boolean);
    if (knot === undefined) return { frontier, waiting };
    for (const join of knot) {
      waiting.delete(join);
      frontier.add(join);
    }
  }
}

/** The join and all that it runs together with, when it runs. */
function knotOf(
  graph: JoinGraph,
  frontier: ReadonlySet<string>,
  waiting: ReadonlyMap<string, ReadonlySet<string>>,
  j: string,
): readonly string[] | undefined {
  const isHeldUpBy = (join: string, holder: string): boolean =>
    sourcesOf(graph, join).filter((s) => !waiting.get(join)!.has(s))
      .some((s) => isOrLeadsTo(graph, holder, s, join));
  // All waiting joins that hold a join up, directly or through others.
  const holdersOf = (join: string, found = new Set<string>()): ReadonlySet<string> => {
    for (const other of waiting.keys()) {
      if (other === join || found.has(other) || !isHeldUpBy(join, other)) continue;
      found.add(other);
      holdersOf(other, found);
    }
    return found;
  };
  const knot = [...new Set([j, ...holdersOf(j)])];
  const holdEachOtherUp = knot.every((a) => knot.every((b) => a === b || holdersOf(b).has(a)));
  const isFree = knot.every((join) => [...frontier].every((v) => !isHeldUpBy(join, v)));
  return holdEachOtherUp && isFree ? knot : undefined;
}

function sourcesOf({ edges }: JoinGraph, id: string): readonly string[] {
  return [...edges].filter(([, targets]) => targets.includes(id)).map(([from]) => from);
}

/** Whether `from` is `to`, or some path of edges leads there that never touches `wall`. */
function isOrLeadsTo(
  { edges }: JoinGraph,
  from: string,
  to: string,
  wall: string,
  passed: readonly string[] = [],
): boolean {
  if (from === wall || passed.includes(from)) return false;
  if (from === to) return true;
  return (edges.get(from) ?? []).some((next) =>
    isOrLeadsTo({ edges } as JoinGraph, next, to, wall, [...passed, from])
  );
}
