/**
 * Finds the vertices that are or lead to a vertex, over edges of every kind, but not through `wall`. Each answer is kept,
 * for a run with a waiting join asks after every step.
 *
 * @param sources for each vertex those with an edge to it
 */
export function ancestorsOf(
  wall: string,
  sources: ReadonlyMap<string, readonly string[]>,
): (of: string) => ReadonlySet<string> {
  const known = new Map<string, ReadonlySet<string>>();
  return (of) => {
    const kept = known.get(of);
    if (kept !== undefined) return kept;
    const all = new Set([of]);
    // What is added while a set is gone through is gone through, too.
    for (const id of all) for (const s of sources.get(id)!) if (s !== wall) all.add(s);
    known.set(of, all);
    return all;
  };
}
