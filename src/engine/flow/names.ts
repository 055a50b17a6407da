import { ArgumentError, messageOf } from "../../errors.ts";
import { shown } from "../../graph/policies.ts";
import type { CompiledFlow, Priority, RunFlow } from "../../model/flow.ts";
import { sha256Hex } from "../../runtime/hash.ts";

/** A longer name would leave no room for a place behind it. */
const LONGEST = 300;

const utf8 = new TextEncoder();

/** The kinds of permits, as their names begin. */
export type PermitKind = "concurrency" | "throttle" | "singleton";

/** What the names of all permits of a kind and a graph begin with. */
export function permitPrefix(kind: PermitKind, graphId: string): string {
  return `${kind}/${graphId}/`;
}

/** The graph whose runs a permit is for. */
export function graphOfPermit(permit: string): string {
  return permit.split("/", 2)[1] ?? "";
}

/** The name of a permit. A key that is long, or holds control characters, is replaced by its digest. */
function permitName(kind: PermitKind, graphId: string, key: string): string {
  const name = `${permitPrefix(kind, graphId)}${key}`;
  // deno-lint-ignore no-control-regex
  const isPlain = !/[\x00-\x1f]/.test(key) && utf8.encode(name).length <= LONGEST;
  return isPlain ? name : `${permitPrefix(kind, graphId)}#${sha256Hex(key)}`;
}

/**
 * What limits a run that begins with this input; `undefined` where its graph declares no limits.
 *
 * @throws {ArgumentError} a key is no text
 */
export function flowOf(
  op: string,
  graphId: string,
  flow: CompiledFlow | undefined,
  input: unknown,
  priority: Priority | undefined,
): RunFlow | undefined {
  if (flow === undefined) return undefined;
  const named = (kind: PermitKind) => {
    const rule = flow[kind];
    return rule === undefined ? {} : { [kind]: permitName(kind, graphId, keyOf(op, kind, rule.key, input)) };
  };
  return {
    ...(priority === undefined || priority === "normal" ? {} : { priority }),
    ...named("concurrency"),
    ...named("throttle"),
    ...named("singleton"),
  };
}

function keyOf(op: string, kind: PermitKind, key: (input: unknown) => string, input: unknown): string {
  let value: unknown;
  try {
    value = key(input);
  } catch (cause) {
    throw new ArgumentError(op, `the key of ${kind} threw: ${messageOf(cause)}`);
  }
  if (typeof value === "string" && value.isWellFormed()) return value;
  throw new ArgumentError(op, `the key of ${kind} is ${shown(value)}; return a well-formed text`);
}
