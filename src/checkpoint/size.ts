import { StateSizeError } from "../errors.ts";
import { sizeOf } from "./canonical_tag.ts";

/** Refuses canonical values that take more than `max` bytes, naming their largest field. Costs nothing below. */
export function sizeGuard(max: number): (value: unknown, what: string) => void {
  return (value, what) => {
    const bytes = sizeOf(value);
    if (bytes > max) throw new StateSizeError(what, bytes, max, largestField(value));
  };
}

function largestField(value: unknown): string {
  if (typeof value !== "object" || value === null) return "the value itself";
  const fields: [string, unknown][] = value instanceof Map
    ? [...value].map(([key, entry]) => [String(key), entry])
    : Object.entries(value);
  const [largest] = fields.map(([name, entry]) => ({ name, bytes: sizeOf(entry) })).sort((a, b) =>
    b.bytes - a.bytes
  );
  return largest === undefined ? "the value itself" : `${largest.name} (${largest.bytes} bytes)`;
}
