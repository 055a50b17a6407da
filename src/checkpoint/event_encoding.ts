import type { RecordEvent } from "./records.ts";
import { eventSchema } from "./record_schemas.ts";

/**
 * How an event is written: `[code, mask, …values]`, where the code is its place among the shapes of events and bit i of the
 * mask tells that field i of its shape is there. Names would take more room than what they name, and a record of up to 950
 * bytes takes one page of a SQLite file, a longer one two.
 */
export const EVENTS = eventSchema.options.map(({ shape: { type, ...fields } }) =>
  [type.value, Object.keys(fields)] as const
);

const CODES = new Map(EVENTS.map(([type], code) => [type, code]));

/** The written form of an event. */
export function packEvent(event: RecordEvent): readonly unknown[] {
  const code = CODES.get(event.type)!;
  const fields = EVENTS[code]![1];
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
