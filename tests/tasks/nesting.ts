/** Workflows in workflows, made of functions. */
import type { CompiledGraph, CompileOptions, Runner, Store } from "../../mod.ts";
import { Subgraph, type SubgraphOptions, waitsOf } from "../../tasks/subgraph.ts";
import { INPUT, type Lab, type Spec, type State } from "../waits/lab.ts";

/** One process: everything that it holds of a family of workflows. */
export interface House {
  runner(graph: CompiledGraph<State>, options?: Partial<CompileOptions>): Runner<State>;
}

/** The process of a lab, another one on the same data, or one with a handle of its own on them. */
export function house(lab: Lab, place: "here" | "elsewhere" | Store = "here"): House {
  const made = new Map<CompiledGraph<State>, Runner<State>>();
  return {
    runner: (graph, options = {}) => {
      const known = made.get(graph);
      if (known !== undefined) return known;
      const runner = place === "elsewhere"
        ? lab.elsewhere(graph, options)
        : lab.engine(graph, place === "here" ? options : { store: place, ...options });
      made.set(graph, runner);
      return runner;
    },
  };
}

/** A vertex that runs another graph; its output is what that run has put out. */
export function nested(
  home: () => House,
  child: CompiledGraph<State>,
  options:
    & SubgraphOptions<State, unknown>
    & Pick<Spec, "to" | "each" | "retry" | "timeout" | "onError" | "join"> = {},
): Spec {
  const { output = (state) => state.out, maxSteps, concurrency, tags, ...spec } = options;
  const how = {
    output,
    ...(maxSteps === undefined ? {} : { maxSteps }),
    ...(concurrency === undefined ? {} : { concurrency }),
    ...(tags === undefined ? {} : { tags }),
  };
  const tasks = new WeakMap<Runner<State>, Subgraph<State, unknown, unknown>>();
  return {
    ...spec,
    ...(spec.each === undefined ? { select: () => INPUT } : {}),
    waits: waitsOf(child),
    body: (ctx, input) => {
      const runner = home().runner(child);
      const task = tasks.get(runner) ??
        new Subgraph<State, unknown, unknown>(runner as Runner<State, unknown>, how);
      tasks.set(runner, task);
      return task.execute(input, ctx);
    },
  };
}
