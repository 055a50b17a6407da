import { taskOf } from "../compile.ts";
import { UnknownVertexError } from "../errors.ts";
import { whenAtRest } from "../engine/context.ts";
import { closestId } from "../graph/closest.ts";
import { graphOf } from "../scanner/mod.ts";
import type { WorkflowClass } from "../decorators/mod.ts";
import type { TaskContext } from "../model/context.ts";
import type { CompiledGraph, Task } from "../model/definition.ts";
import type { ClockFork } from "./virtual_clock.ts";

/** A stand-in for the task of one vertex. Annotate `input` with what the vertex selects. */
export type FakeTask = (input: never, ctx: TaskContext) => unknown;

/** What an instrumented graph is made with. */
interface Instruments {
  readonly clock: Pick<ClockFork, "observe">;
  readonly tasks: Readonly<Record<string, FakeTask>>;
  readonly provide: Parameters<typeof taskOf>[2];
  /** Told whenever a body begins. */
  began(ctx: TaskContext): void;
}

/** The graph of a workflow class, or the graph itself. */
export function asGraph<S, I>(workflow: WorkflowClass<S, I> | CompiledGraph<S, I>): CompiledGraph<S, I> {
  return typeof workflow === "function" ? graphOf<S, I>(workflow) : workflow;
}

/** The same graph, of the same version, with fakes in the place of tasks and every body observed. */
export function instrument<S, I>(
  graph: CompiledGraph<S, I>,
  instruments: Instruments,
): CompiledGraph<S, I> {
  const { clock, tasks, provide, began } = instruments;
  for (const vertexId of Object.keys(tasks)) {
    if (!graph.vertices.has(vertexId)) {
      throw new UnknownVertexError(vertexId, "the fake tasks", closestId(vertexId, graph.vertices.keys()), {
        graphId: graph.id,
      });
    }
  }
  const vertices = [...graph.vertices].map(([id, vertex]) => {
    const fake = tasks[id];
    const task: Task<unknown, unknown> = fake === undefined
      ? taskOf(graph.id, vertex, provide)
      : { execute: (input, ctx) => fake(input as never, ctx) };
    const observed: Task<unknown, unknown> = {
      execute: (input, ctx) => {
        began(ctx);
        return clock.observe(() => task.execute(input, ctx), ctx.signal, (told) => whenAtRest(ctx, told));
      },
    };
    return [id, Object.freeze({ ...vertex, task: { kind: "instance", task: observed } as const })] as const;
  });
  return Object.freeze({ ...graph, vertices: new Map(vertices) });
}
