import type { RecordEvent } from "./records.ts";

/**
 * How an event is written: `[code, mask, …values]`, where bit i of the mask tells that field i is there. Names would
 * take more room than what they name, and a record of up to 950 bytes takes one page of a SQLite file, a longer one two.
 *
 * Codes are positions in {@link EVENTS} and bits are positions in its lists: both are stored, so both only ever grow.
 */
export const EVENTS = [
  [
    "created",
    [
      "runId",
      "graphId",
      "graphVersion",
      "form",
      "entry",
      "owner",
      "maxSteps",
      "deadline",
      "tags",
      "inputDigest",
      "caller",
      "waitSalt",
    ],
  ],
  ["claimed", ["owner", "recovery", "maxSteps"]],
  ["released", ["status", "reason", "recovery"]],
  ["retried", ["executions"]],
  ["mapped", ["vertexId", "count", "digest"]],
  ["attempt_failed", ["vertexId", "item", "at", "failure", "nextAt", "spentMs"]],
  ["once", ["vertexId", "item", "name", "value"]],
  [
    "opened",
    ["vertexId", "item", "id", "kind", "name", "n", "openedAt", "due", "info", "continuation", "key"],
  ],
  ["resolved", ["vertexId", "item", "id", "result"]],
  ["closed", ["vertexId", "item", "id", "reason"]],
  ["reopened", ["vertexId", "item", "id", "newId", "at", "problem"]],
  ["suspended", ["vertexId", "item", "startedAt", "at", "spentMs"]],
  ["done", ["vertexId", "item", "attempt", "startedAt", "at", "output"]],
  ["failed", ["vertexId", "item", "startedAt", "at", "failure", "handler"]],
  ["folded", ["finish"]],
  ["routed", ["routes", "frontier", "arrivals"]],
  ["halted", ["halt"]],
  ["completed", []],
  ["cancelled", ["reason"]],
  ["forked", ["parent", "form"]],
  ["updated", ["maps"]],
  ["returned", ["vertexId", "item", "posted", "slow"]],
] as const satisfies readonly (readonly [RecordEvent["type"], readonly string[]])[];

const CODES = new Map<string, number>(EVENTS.map(([type], code) => [type, code]));

/** The written form of an event. */
export function packEvent(event: RecordEvent): readonly unknown[] {
  const code = CODES.get(event.type)!;
  const fields: readonly string[] = EVENTS[code]![1];
  const packed: unknown[] = [code, 0];
  let mask = 0;
  for (let i = 0; i < fields.length; i++) {
    const field = fields[i]!;
    if (!(field in event)) continue;
    mask |= 1 << i;
    packed.push((event as unknown as Record<string, unknown>)[field]);
  }
  packed[1] = mask;
  return packed;
}

/** What a written event says, not yet judged; `undefined` when it is not the written form of any event. */
export function unpackEvent(packed: unknown): Record<string, unknown> | undefined {
  if (!Array.isArray(packed)) return undefined;
  const [code, mask, ...values] = packed as unknown[];
  const known = typeof code === "number" ? EVENTS[code] : undefined;
  if (known === undefined || typeof mask !== "number") return undefined;
  const [type, fields] = known;
  const present = fields.filter((_, i) => (mask & (1 << i)) !== 0);
  if (mask >>> fields.length !== 0 || present.length !== values.length) return undefined;
  return Object.fromEntries([["type", type], ...present.map((field, i) => [field, values[i]])]);
}
