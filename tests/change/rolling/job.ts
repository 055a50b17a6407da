/** The versions of the workflow `job`: one source for each, which differ in what a deploy changes. */
import { appendFileSync } from "node:fs";
import process from "node:process";
import { z } from "zod";
import {
  defineWait,
  Graph,
  Retry,
  type TaskContext,
  Vertex,
  Workflow,
  type WorkflowClass,
} from "../../../mod.ts";
import { type Subgraph, waitsOf } from "../../../tasks/mod.ts";

export const Go = defineWait("go", z.object({ by: z.string() }));

/** What the runs do that stand at something when the code is changed. */
export const MODES = ["ask", "nap", "flaky", "each", "join", "call", "bad"] as const;

/** Has the one effect of an execution: a line in the file that the environment names. */
function effect(ctx: TaskContext): Promise<number> {
  return ctx.once("effect", () => {
    appendFileSync(process.env["JOB_EFFECTS"]!, `${ctx.idempotencyKey}\n`);
    return 1;
  });
}

/** The workflow that `job` calls. */
@Graph({ id: "inner" })
export class Inner extends Workflow(z.object({ by: z.string().default("") })) {}

@Vertex({
  graph: Inner,
  id: "ask",
  entry: true,
  finish: true,
  waits: [Go],
  select: () => null,
  reduce: (s, out: { by: string }) => {
    s.by = out.by;
  },
})
export class InnerAsk {
  execute(_: null, ctx: TaskContext) {
    return ctx.waitFor(Go);
  }
}

/** The workflow in a version: the second has one more vertex and one more field, and no fault. */
export function jobOf(
  version: number,
): { readonly Job: WorkflowClass<unknown>; readonly tasks: readonly unknown[] } {
  const shape = {
    mode: z.enum(MODES),
    log: z.array(z.string()).default([]),
    ...(version > 1 ? { audits: z.number().default(0) } : {}),
  };

  @Graph({ id: "job", version })
  class Job
    extends Workflow(z.object(shape as { mode: z.ZodEnum; log: z.ZodDefault<z.ZodArray<z.ZodString>> })) {}
  const note = { select: () => null, reduce: (s: { log: string[] }, said: string) => void s.log.push(said) };
  const last = version === 1 ? "end" : "audit";

  @Vertex({
    graph: Job,
    id: "start",
    entry: true,
    ...note,
    route: {
      targets: ["ask", "nap", "flaky", "each", "left", "slow", "call", "bad"] as readonly string[],
      pick: (s) => s.mode === "join" ? ["left", "slow"] : [String(s.mode)],
    },
  })
  class Start {
    execute() {
      return "start";
    }
  }

  @Vertex({ graph: Job, id: "ask", waits: [Go], ...note, to: last })
  @Vertex({ graph: Job, id: "right", waits: [Go], ...note, to: "join" })
  class Ask {
    async execute(_: null, ctx: TaskContext) {
      await effect(ctx);
      return (await ctx.waitFor(Go)).by;
    }
  }

  @Vertex({ graph: Job, id: "nap", ...note, to: last })
  class Nap {
    async execute(_: null, ctx: TaskContext) {
      await effect(ctx);
      await ctx.sleep("nap", "15s");
      return "nap";
    }
  }

  @Vertex({ graph: Job, id: "flaky", ...note, to: last })
  @Retry({ maxAttempts: 2, backoff: { initial: "15s", jitter: false } })
  class Flaky {
    async execute(_: null, ctx: TaskContext) {
      await effect(ctx);
      if (ctx.attempt === 1) throw new Error("not yet");
      return "flaky";
    }
  }

  @Vertex({
    graph: Job,
    id: "each",
    each: () => [0, 1],
    waits: [Go],
    reduce: (s, said: readonly string[]) => void s.log.push(...said),
    to: last,
  })
  class Each {
    async execute(item: number, ctx: TaskContext) {
      await effect(ctx);
      return item === 0 ? "first" : (await ctx.waitFor(Go)).by;
    }
  }

  @Vertex({ graph: Job, id: "left", ...note, to: "join" })
  @Vertex({ graph: Job, id: "slow", ...note, to: "right" })
  @Vertex({ graph: Job, id: "join", join: "all", ...note, to: last })
  @Vertex({ graph: Job, id: "end", finish: true, ...note })
  class Plain {
    async execute(_: null, ctx: TaskContext) {
      await effect(ctx);
      return ctx.vertexId;
    }
  }

  @Vertex({
    graph: Job,
    id: "call",
    waits: waitsOf(Inner),
    select: () => ({}),
    reduce: (s, out: { by: string }) => void s.log.push(out.by),
    to: last,
  })
  class Call {
    static readonly calls = Inner;
    constructor(private readonly inner: Subgraph<{ by: string }>) {}
    execute(input: object, ctx: TaskContext) {
      return this.inner.execute(input, ctx);
    }
  }

  @Vertex({ graph: Job, id: "bad", ...note, to: last })
  class Bad {
    execute() {
      if (version === 1) throw new Error("the first version has a fault");
      return "mended";
    }
  }

  if (version > 1) {
    Vertex({
      graph: Job,
      id: "audit",
      select: () => null,
      reduce: (s: object) => {
        (s as { audits: number }).audits += 1;
      },
      to: "end",
    })(
      class Audit {
        async execute(_: null, ctx: TaskContext) {
          await effect(ctx);
        }
      },
    );
  }
  return { Job, tasks: [Start, Ask, Nap, Flaky, Each, Plain, Call, Bad] };
}
