import { type Checkpoint, type Execution, verticesOf } from "../model/checkpoint.ts";
import { between } from "./delta.ts";
import { isMarked } from "./canonical_tag.ts";
import type { Layout } from "./parts.ts";
import { sealArray, sealMap, sealRecord } from "./seal.ts";

/** What grows in a checkpoint, as snapshots hold it: in parts, like a state. */
export interface Ledger {
  readonly layout: Layout;
  /** The executions that it was made from: one that is the same object still has not changed. */
  readonly executions: Checkpoint["executions"];
}

interface Growing {
  readonly executions: ReadonlyMap<string, unknown>;
  readonly path: readonly string[];
}

/** The executions and the path of a checkpoint as a canonical value, which shares with the one before what is equal. */
export function growing({ executions, path }: Checkpoint, before: Ledger | undefined): unknown {
  const was = before?.layout.value as Growing | undefined;
  const known = (key: string, x: Execution) =>
    before?.executions.get(key) === x ? was?.executions.get(key) : undefined;
  const next = sealRecord({
    executions: sealMap(new Map([...executions].map(([key, x]) => [key, known(key, x) ?? sealed(x)]))),
    path: sealArray([...verticesOf(path)]),
  });
  return was === undefined ? next : between<unknown>(was, next).value;
}

/** Values of users in it are canonical already, and stay as they are. */
function sealed(value: unknown): unknown {
  if (typeof value !== "object" || value === null || isMarked(value)) return value;
  if (Array.isArray(value)) return sealArray(value.map(sealed));
  if (value instanceof Map) return sealMap(new Map([...value].map(([key, entry]) => [key, sealed(entry)])));
  return sealRecord(Object.fromEntries(Object.entries(value).map(([key, field]) => [key, sealed(field)])));
}
