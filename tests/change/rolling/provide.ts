import type { ProvideContext } from "../../../mod.ts";
import { Subgraph } from "../../../tasks/mod.ts";
import { Inner } from "./job.ts";

/** Makes the tasks: the one that calls another workflow gets a runner of it. */
export function provide(cls: new (...args: unknown[]) => unknown, { runner }: ProvideContext): unknown {
  return "calls" in cls ? new cls(new Subgraph(runner(Inner))) : new cls();
}
