// Runs on deno by default: the compiler is the same everywhere.
/**
 * Runs start with what the schema accepts. The lines marked `@ts-expect-error` are the test: where one of them compiles,
 * `deno check` and `tsc` fail. Nothing of it is ever called.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import {
  compile,
  type CompiledGraph,
  Graph,
  GraphBuilder,
  type Runner,
  scan,
  Schedule,
  Workflow,
} from "../../mod.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { crashTest, testRunner } from "../../src/testing/mod.ts";

const State = z.object({
  question: z.string(),
  draft: z.string().default(""),
  limit: z.coerce.number().default(3),
});
type State = z.infer<typeof State>;

@Graph({ id: "typed-input" })
class Flow extends Workflow(State) {}

async function inferredFromTheClass(): Promise<void> {
  const runner = compile(Flow, { store: memoryStore() });
  await runner.run({ question: "?" }); // fields with a default may be left out
  const handle = await runner.start({ question: "?", draft: "a", limit: "4" }, { runId: "r" }); // coerced
  const { state } = await handle.result();
  state.limit satisfies number;

  await runner.submit({ question: "?" });

  // @ts-expect-error the question is missing
  await runner.run({ draft: "a" });
  // @ts-expect-error the question is missing
  await runner.submit({});
  // @ts-expect-error the question is no number
  await runner.run({ question: 1 });
  // @ts-expect-error the state has no field `qestion`
  await runner.run({ question: "?", qestion: "?" });
  // @ts-expect-error no input
  await runner.start();
  // @ts-expect-error a text is no input
  await runner.start("?");
  // @ts-expect-error the question is no number
  await testRunner(Flow).run({ question: 1 });
  // @ts-expect-error the question is missing
  await crashTest(Flow, { input: {} });
}

async function inputsFromOutside(json: unknown): Promise<void> {
  const typed = compile(Flow, { store: memoryStore() });
  // @ts-expect-error nothing is known of it
  await typed.run(json);
  const open: Runner<State> = typed; // leaves everything to the schema
  await open.run(json);
  // @ts-expect-error what takes anything is not what takes questions
  const narrowed: Runner<State, { question: string; draft: number }> = typed;

  const [scanned] = await scan({ Flow });
  const runner: Runner<unknown> = compile(scanned!.graph, { store: memoryStore() });
  await runner.run(json);
  await compile(scanned!.workflow, { store: memoryStore() }).run({ anything: 1 });
  void narrowed;
}

async function carriedByTheBuilder(task: { execute(input: string): string }): Promise<void> {
  const builder = new GraphBuilder({ id: "built", schema: State }).addVertex({
    id: "a",
    task,
    select: (s) => s.question,
    reduce: (s, out) => void (s.draft = out),
  });
  const graph = builder.build({ entry: "a", finish: "a" });
  const runner = compile(graph, { store: memoryStore() });
  await runner.run({ question: "?" });
  await runner.graph.schema?.["~standard"].types?.input.question satisfies string | undefined;
  // @ts-expect-error the question is missing
  await runner.run({});

  const open: CompiledGraph<State> = graph;
  await compile(open, { store: memoryStore() }).run({});
  await compile(new GraphBuilder<State>({ id: "open", schema: State }).build({ entry: "a", finish: "a" }), {
    store: memoryStore(),
  }).run({});
  // @ts-expect-error the schema accepts other inputs
  new GraphBuilder<State, { other: string }>({ id: "other", schema: State });
}

@Schedule("0 9 * * *", { input: { question: "every day" } })
@Schedule("0 18 * * *", {
  timezone: "Europe/Berlin",
  input: (tick) => ({ question: "?", draft: tick.toISOString() }),
})
@Graph({ id: "scheduled" })
class Scheduled extends Workflow(State) {}

@Schedule("0 9 * * *", { onMissed: "skip" })
@Graph({ id: "needs-nothing" })
class NeedsNothing extends Workflow(z.object({ n: z.number().default(1) })) {}

// @ts-expect-error the question is missing
@Schedule("0 9 * * *")
@Graph({ id: "scheduled" })
class WithoutInput extends Workflow(State) {}

// @ts-expect-error the question is no number
@Schedule("0 9 * * *", { input: { question: 1 } })
@Graph({ id: "scheduled" })
class WrongInput extends Workflow(State) {}

// @ts-expect-error the question is missing
@Schedule("0 9 * * *", { input: (tick) => ({ draft: tick.toISOString() }) })
@Graph({ id: "scheduled" })
class WrongInputOfTick extends Workflow(State) {}

class Plain {}
// @ts-expect-error a workflow extends Workflow(schema)
const misplaced = () => Schedule("0 9 * * *")(Plain);

test("a schedule is refused by the compiler where its input is not one of the workflow (D12)", () => {
  const declared = [Scheduled, NeedsNothing, WithoutInput, WrongInput, WrongInputOfTick];
  assert.equal(new Set(declared).size, 5);
  assert.throws(misplaced, { code: "BUILD" });
});

test("inputs are typed by the schema, from the class and from the builder, and left to it where they are unknown (E1)", () => {
  for (const snippet of [inferredFromTheClass, inputsFromOutside, carriedByTheBuilder]) {
    assert.equal(typeof snippet, "function");
  }
});
