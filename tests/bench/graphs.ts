import { type CompiledGraph, GraphBuilder, type TaskContext } from "superstep";
import { z } from "zod";

const Loop = z.object({ count: z.number(), last: z.number(), pad: z.string(), blob: z.string().optional() });
type Loop = z.infer<typeof Loop>;

/** Makes the record of a step 1 KB long. */
export const PADDING = 900;

/** A vertex that goes back to itself; each step changes the counter and a text of `padding` characters. */
export function loopGraph(
  padding: number,
  body: (count: number) => unknown = () => {},
): CompiledGraph<unknown> {
  return stepsGraph<Loop>({
    schema: Loop,
    body,
    reduce: (s, count) => {
      if (padding > 0) s.pad = String(count).padEnd(padding, "x");
    },
  });
}

/** The input of a loop of so many steps. */
export const turns = (last: number) => ({ count: 0, last, pad: "" });

/** A vertex that goes back to itself until `count` is `last`. */
export function stepsGraph<S extends { count: number; last: number }>(
  { schema, body, reduce }: {
    readonly schema: z.ZodType<S>;
    readonly body?: (count: number) => unknown;
    readonly reduce: (state: S, count: number) => void;
  },
): CompiledGraph<unknown> {
  return new GraphBuilder<S>({ id: "loop", schema })
    .addVertex<number, number>({
      id: "turn",
      task: {
        execute: (count) => {
          const wait = body?.(count);
          return wait instanceof Promise ? wait.then(() => count + 1) : count + 1;
        },
      },
      select: (s) => s.count,
      reduce: (s, count) => {
        s.count = count;
        reduce(s, count);
      },
    })
    .addVertex({ id: "end", task: { execute: () => 0 }, select: () => 0, reduce: () => {} })
    .addConditionalEdge("turn", { targets: ["turn", "end"], pick: (s) => s.count < s.last ? "turn" : "end" })
    .build({ entry: "turn", finish: "end" }) as unknown as CompiledGraph<unknown>;
}

const Sum = z.object({ items: z.array(z.number()), sum: z.number() });
type Sum = z.infer<typeof Sum>;

/** One vertex, then so many beside each other, then one that waits for all of them. */
export function fanGraph(width: number): CompiledGraph<unknown> {
  const builder = new GraphBuilder<Sum>({ id: "fan", schema: Sum })
    .addVertex({ id: "split", task: { execute: () => 0 }, select: () => 0, reduce: () => {} })
    .addVertex<number, number>({
      id: "join",
      join: "all",
      task: { execute: (sum) => sum },
      select: (s) => s.sum,
      reduce: () => {},
    });
  for (let i = 0; i < width; i++) {
    builder.addVertex<number, number>({
      id: `part-${i}`,
      task: { execute: (n) => n },
      select: () => i,
      reduce: (s, n) => {
        s.sum += n;
      },
    }).addEdge("split", `part-${i}`).addEdge(`part-${i}`, "join");
  }
  return builder.build({ entry: "split", finish: "join" }) as unknown as CompiledGraph<unknown>;
}

/** A map over the items of the state. */
export function mapGraph(
  id: string,
  body: (item: number, ctx: TaskContext) => unknown,
): CompiledGraph<unknown> {
  return new GraphBuilder<Sum>({ id, schema: Sum })
    .addVertex<number, unknown>({
      id: "item",
      task: { execute: body },
      each: (s) => s.items,
      reduce: (s, outputs) => {
        s.sum = outputs.length;
      },
    })
    .build({ entry: "item", finish: "item" }) as unknown as CompiledGraph<unknown>;
}

/** The input of a map over so many items. */
export const items = (count: number) => ({ items: Array.from({ length: count }, (_, i) => i), sum: 0 });

const Said = z.object({ said: z.string().optional() });
type Said = z.infer<typeof Said>;

/** A vertex that asks and is done with the answer. */
export function askGraph(): CompiledGraph<unknown> {
  return new GraphBuilder<Said>({ id: "ask", schema: Said })
    .addVertex({
      id: "ask",
      task: { execute: (_: string, ctx) => ctx.answer<string>()?.value ?? ctx.interrupt("?") },
      select: () => "",
      reduce: (s, said: string) => {
        s.said = said;
      },
    })
    .build({ entry: "ask", finish: "ask" }) as unknown as CompiledGraph<unknown>;
}

/** A map whose items ask, each for itself. */
export function askAllGraph(): CompiledGraph<unknown> {
  return mapGraph("ask-all", (_, ctx) => ctx.answer<string>()?.value ?? ctx.interrupt("?"));
}
