import { AssertionError, deepStrictEqual } from "node:assert";
import type { WorkflowClass } from "../decorators/mod.ts";
import { LEASE_MS } from "../engine/owner_watch.ts";
import type { RunResult } from "../engine/result.ts";
import { messageOf } from "../errors.ts";
import type { CompiledGraph } from "../model/definition.ts";
import { rowsOf } from "../model/pages.ts";
import { memoryStore } from "../store/memory.ts";
import type { Store } from "../store/store.ts";
import { AnswerBook } from "./answer_book.ts";
import { CrashEngine, type CrashWorld } from "./crash_engine.ts";
import { CrashLedger, settledKeys } from "./crash_ledger.ts";
import type { CrashReport, CrashScenario } from "./crash_scenario.ts";
import type { CrashPlan, CrashPoint } from "./crash_store.ts";
import { asGraph } from "./instrument.ts";
import { VirtualClock } from "./virtual_clock.ts";

/** A run that was stopped and taken over differs from the one that was not. */
export class CrashTestError extends AssertionError {
  /** Where its engines were stopped. */
  readonly crashes: readonly CrashPoint[];

  /** `crashes`: where the engines were stopped, in order. */
  constructor(
    crashes: readonly CrashPoint[],
    problem: string,
    values: { readonly actual?: unknown; readonly expected?: unknown; readonly cause?: unknown } = {},
  ) {
    const { actual, expected, cause } = values;
    const stops = crashes.map((c) => `just ${c.when} write ${c.write} (${c.op})`).join(", then ");
    super({
      message: `superstep: ${crashes.length === 0 ? "never stopped" : `stopped ${stops}`}: ${problem}`,
      actual,
      expected,
      operator: "crashTest",
    });
    this.name = "CrashTestError";
    this.crashes = crashes;
    if (cause !== undefined) this.cause = cause;
  }
}

/**
 * Runs a scenario once, then again for every store write, stopping the engine just before that write, and just after it
 * with the acknowledgement lost. A stopped engine gets no answer from its store, its timers never fire and its effects
 * do not happen. After its lease a fresh engine takes over. Further rounds stop that one as well.
 *
 * Each round must complete, unless the scenario expects another status, come to the same outcome, have every effect of the first one at least once and none under another key,
 * and never run an execution or a `once` again whose result was recorded. Everything happens on a virtual clock.
 *
 * @throws {CrashTestError} naming the writes at which the engines were stopped
 *
 * @example
 * ```ts
 * const graph = new GraphBuilder({ id: "mail", schema: z.object({ to: z.string(), sent: z.boolean().default(false) }) })
 *   .addVertex({
 *     id: "send",
 *     task: { execute: (_to: string): Promise<void> => Promise.reject(new Error("no mail in tests")) },
 *     select: (s) => s.to,
 *     reduce: (s) => { s.sent = true; },
 *   })
 *   .build({ entry: "send", finish: "send" });
 *
 * const report = await crashTest(graph, {
 *   input: { to: "ada" },
 *   tasks: (effects) => ({ send: (_to: string, ctx) => effects.happen(ctx.idempotencyKey, "mail") }),
 * });
 * assert.equal(report.result.state.sent, true);
 * assert.ok(report.crashes.length >= 2 * report.writes);
 * ```
 */
export async function crashTest<S, I>(
  workflow: WorkflowClass<S, I> | CompiledGraph<S, I>,
  scenario: CrashScenario<S, NoInfer<I>>,
): Promise<CrashReport<S>> {
  const graph = asGraph(workflow);
  const { secondCrashes = 20, seed = 1 } = scenario;
  const chance = new VirtualClock({ seed });
  const baseline = await playRound(graph, scenario, [], 0);
  const crashes: CrashPoint[] = [];
  let rounds = 0;
  const play = async (plans: readonly CrashPlan[]) => {
    const round = await playRound(graph, scenario, plans, ++rounds);
    compare(baseline, round);
    crashes.push(...round.crashes);
    return round.crashes.length;
  };
  // Batches may differ with real I/O, and with them the number of writes: it goes on until there was nothing to stop.
  for (let write = 1, stopped = 1; stopped > 0; write++) {
    stopped = await play([{ write, when: "before" }]) + await play([{ write, when: "after" }]);
  }
  const draw = (most: number): CrashPlan => ({
    write: 1 + Math.floor(chance.random() * most),
    when: chance.random() < 0.5 ? "before" : "after",
  });
  for (let n = 0; n < secondCrashes; n++) {
    const first = draw(baseline.writes);
    await play([first, draw(baseline.writes - first.write + WRITES_OF_A_TAKEOVER)]);
  }
  return { result: baseline.result, writes: baseline.writes, rounds, crashes };
}

/** A question to the dead owner, an owner key, its burial, a claim, what is done then, and that nothing is left of it. */
const WRITES_OF_A_TAKEOVER = 6;

interface Round<S> {
  readonly result: RunResult<S>;
  readonly outcome: unknown;
  readonly ledger: CrashLedger;
  readonly crashes: readonly CrashPoint[];
  /** Of the first engine. */
  readonly writes: number;
}

async function playRound<S>(
  graph: CompiledGraph<S>,
  scenario: CrashScenario<S>,
  plans: readonly CrashPlan[],
  round: number,
): Promise<Round<S>> {
  scenario.begin?.();
  const store = await (scenario.store?.() ?? memoryStore());
  const { runId = "crash-test", answers = {}, outcome = outcomeOf, expect = "completed" } = scenario;
  const world: CrashWorld<S> = {
    graph,
    scenario,
    runId,
    store,
    // Owners get other ids in every round, so that rounds may share a file.
    clock: new VirtualClock({ seed: round + 1 }),
    answers: new AnswerBook(graph, answers),
    ledger: new CrashLedger(),
  };
  const crashes: CrashPoint[] = [];
  try {
    const { result, writes } = await playEngines(world, plans, crashes);
    if (result.status !== expect) {
      const problem = `the run is ${
        describeEnd(result)
      }, not ${expect}; mend it, or give the scenario \`expect: "${result.status}"\``;
      throw new CrashTestError(crashes, problem, { actual: result.status, expected: expect });
    }
    await checkIndexes(world, result, crashes);
    return { result, outcome: outcome(result), ledger: world.ledger, crashes, writes };
  } finally {
    await store.close();
  }
}

/** One engine after the other, until one is not stopped. */
async function playEngines<S>(
  world: CrashWorld<S>,
  plans: readonly CrashPlan[],
  crashes: CrashPoint[],
): Promise<{ readonly result: RunResult<S>; readonly writes: number }> {
  const { clock, store, graph, runId, ledger } = world;
  let writes = 0;
  for (let n = 1;; n++) {
    const engine = new CrashEngine(world, n, plans[n - 1]);
    try {
      const result = n === 1 ? await engine.begin() : await engine.takeOver();
      return { result, writes: n === 1 ? engine.writes : writes };
    } catch (cause) {
      const { point } = engine;
      if (point === undefined) {
        throw new CrashTestError(crashes, `the run could not be carried on: ${messageOf(cause)}`, { cause });
      }
      crashes.push(point);
      if (n === 1) writes = engine.writes;
      await clock.advance(LEASE_MS + 1_000);
      ledger.settled.set(n + 1, await settledKeys(store, clock, graph.id, runId));
    }
  }
}

/** The status of a run, and why it stopped. */
function describeEnd<S>(result: RunResult<S>): string {
  if (result.status !== "interrupted") return result.status;
  const { reason, halt, failures, waits } = result;
  const causes = [
    ...(halt === undefined ? [] : [`${halt.kind}: ${halt.message}`]),
    ...failures.map(({ vertexId, failure }) => `vertex ${vertexId}: ${failure.message}`),
    ...waits.map(({ name }) => `wait ${name} is open`),
  ];
  return `interrupted (${[reason, ...causes].join("; ")})`;
}

function compare<S>(baseline: Round<S>, round: Round<S>): void {
  const { crashes, ledger } = round;
  const reruns = ledger.reruns();
  if (reruns.length > 0) {
    throw new CrashTestError(
      crashes,
      `ran again although its result was recorded: ${[...new Set(reruns)].join(", ")}`,
      { actual: reruns, expected: [] },
    );
  }
  same(
    crashes,
    "other effects than in the run that was not stopped",
    ledger.distinct(),
    baseline.ledger.distinct(),
  );
  same(crashes, "another outcome than that of the run that was not stopped", round.outcome, baseline.outcome);
}

/** The lists across runs agree with the run. */
async function checkIndexes<S>(
  world: CrashWorld<S>,
  result: RunResult<S>,
  crashes: readonly CrashPoint[],
): Promise<void> {
  const { store, runId, clock } = world;
  const open = result.status === "interrupted" ? result.waits.filter((w) => w.kind !== "timer") : [];
  const listed = await listedWaits(store, runId);
  same(crashes, "the inbox differs from the run", listed, open.map((w) => w.waitId).sort());
  const { rows } = await clock.hold(store.list({ graphId: result.run.graphId }));
  const row = rows.find((r) => r.runId === runId);
  same(crashes, "the catalog differs from the run", row?.status, result.run.status);
  if (result.status === "interrupted") return;
  const wakes = await clock.hold(store.wakes(Number.MAX_SAFE_INTEGER, 1_000));
  same(crashes, "a run that is over is woken", wakes.filter((w) => w.runId === runId), []);
}

async function listedWaits(store: Store, runId: string): Promise<readonly string[]> {
  const ids: string[] = [];
  for await (const { waitId } of rowsOf((start) => store.waits({ runId, ...start }))) ids.push(waitId);
  return ids.sort();
}

function same(crashes: readonly CrashPoint[], problem: string, actual: unknown, expected: unknown): void {
  try {
    deepStrictEqual(actual, expected);
  } catch (cause) {
    throw new CrashTestError(crashes, `${problem}\n${messageOf(cause)}`, { actual, expected, cause });
  }
}

function outcomeOf<S>(result: RunResult<S>): unknown {
  const { status, state, path } = result;
  if (result.status !== "interrupted") return { status, state, path };
  const failures = result.failures.map(({ vertexId, item, failure }) => ({
    vertexId,
    item,
    name: failure.name,
    message: failure.message,
  }));
  return { status, state, path, reason: result.reason, halt: result.halt?.kind, failures };
}
