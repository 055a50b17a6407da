import { distance } from "fastest-levenshtein";

/** The known id that `id` is most likely a slip of, or `undefined` when none is near enough to be a help. */
export function closestId(id: unknown, known: Iterable<string>): string | undefined {
  if (typeof id !== "string" || id === "") return undefined;
  let best: string | undefined;
  let least = Math.max(2, Math.floor(id.length / 3)) + 1;
  for (const candidate of known) {
    const d = distance(id.toLowerCase(), candidate.toLowerCase());
    if (d < least && d < candidate.length) [best, least] = [candidate, d];
  }
  return best;
}
