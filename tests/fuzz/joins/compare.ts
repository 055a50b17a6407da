import assert from "node:assert/strict";
import { compile } from "../../../mod.ts";
import { nextFrontier } from "../../../src/engine/routing.ts";
import { END } from "../../../src/model/ids.ts";
import type { Route } from "../../../src/model/run.ts";
import { memoryStore } from "../../../src/store/memory.ts";
import { VirtualClock } from "../../../src/testing/virtual_clock.ts";
import { Chance } from "../chance.ts";
import { SILENT } from "../world.ts";
import { choice, ENDS, graphOfPlan, type JoinPlan, joinPlan, MAX_STEPS, namesOf } from "./plans.ts";
import { type JoinGraph, nextOf } from "./rule.ts";

/** What a run comes to, its vertices as numbers. */
interface Course {
  readonly end: string;
  readonly steps: readonly {
    readonly routes: readonly string[];
    readonly frontier: readonly number[];
    readonly arrivals: readonly string[];
  }[];
}

/** Runs a random graph under several names and compares every step with the reading of the sentence. */
export async function compareJoins(seed: number, turns: number): Promise<Course> {
  const plan = joinPlan(seed);
  const expected = predicted(plan);
  for (let turn = 0; turn < turns; turn++) {
    assert.deepEqual(await course(plan, namesOf(plan, turn)), expected, `seed ${seed}, names ${turn}`);
  }
  if (expected.end === "completed") {
    assert.deepEqual(expected.steps.at(-1)!.arrivals, [], `seed ${seed}: a join still waits`);
  }
  return expected;
}

/** Compares the next frontier after edges and arrivals that no run may come to. */
export function compareFrontiers(seed: number, times: number): void {
  const plan = joinPlan(seed);
  const graph = joinGraph(plan);
  const chance = new Chance("frontiers", seed);
  const joins = plan.vertices.flatMap(({ join }, i) => join ? [i] : []);
  for (let time = 0; time < times; time++) {
    const taken = plan.vertices.flatMap(({ to, handler }, from) =>
      [...to, ...handler === undefined ? [] : [handler]].filter((t) => t !== ENDS && chance.percent(20))
        .map((t) => ({ from, to: t }))
    );
    const before = joins.filter(() => chance.percent(60)).flatMap((join) => {
      const arrived = sourcesOf(plan, join).filter(() => chance.percent(50));
      return arrived.length === 0 ? [] : [{ join, arrived }];
    });
    const expected = told(
      nextOf(
        graph,
        taken.map(({ from, to }) => ({ from: `${from}`, to: `${to}` })),
        new Map(before.map(({ join, arrived }) => [`${join}`, arrived.map(String)])),
        (ids) => chance.shuffle(ids),
      ),
      Number,
    );
    const names = namesOf(plan, time);
    const routes = taken.map(({ from, to }): Route => ({
      from: names[from]!,
      to: names[to]!,
      kind: "static",
    }));
    const arrivals = new Map(
      before.map(({ join, arrived }) => [names[join]!, arrived.map((i) => names[i]!)]),
    );
    const { frontier, arrivals: waiting } = nextFrontier(graphOfPlan(plan, names), routes, arrivals);
    const actual = told({ frontier, waiting }, (id) => names.indexOf(id));
    assert.deepEqual(actual, expected, `seed ${seed}, time ${time}`);
  }
}

function joinGraph({ vertices }: JoinPlan): JoinGraph {
  return {
    edges: new Map(vertices.map(({ to, handler }, i) => [
      `${i}`,
      [...to, ...handler === undefined ? [] : [handler]].filter((t) => t !== ENDS).map(String),
    ])),
    joins: new Set(vertices.flatMap(({ join }, i) => join ? [`${i}`] : [])),
  };
}

function sourcesOf({ vertices }: JoinPlan, join: number): readonly number[] {
  return vertices.flatMap(({ to, handler }, i) => to.includes(join) || handler === join ? [i] : []);
}

function told(
  next: {
    readonly frontier: Iterable<string>;
    readonly waiting: ReadonlyMap<string, Iterable<string>>;
  },
  numberOf: (id: string) => number,
) {
  return {
    frontier: [...next.frontier].map(numberOf).sort((a, b) => a - b),
    arrivals: [...next.waiting].map(([join, from]) =>
      `${numberOf(join)}: ${[...from].map(numberOf).sort((a, b) => a - b)}`
    ).sort(),
  };
}

/** What the rules say of a run, read without the engine. */
function predicted(plan: JoinPlan): Course {
  const graph = joinGraph(plan);
  const chance = new Chance("order", plan.seed);
  const ran = plan.vertices.map(() => 0);
  const steps: Course["steps"][number][] = [];
  let frontier = [0];
  let waiting: ReadonlyMap<string, ReadonlySet<string>> = new Map();
  let finished = false;
  while (steps.length < MAX_STEPS) {
    const taken: { from: number; to: number; kind: string }[] = [];
    for (const i of frontier) {
      const { handler, picks, finish } = plan.vertices[i]!;
      const to = choice(plan, i, ran[i]! += 1);
      if (to === undefined) taken.push({ from: i, to: handler!, kind: "error" });
      else {
        finished ||= finish || to.includes(ENDS);
        taken.push(...to.map((t) => ({ from: i, to: t, kind: picks ? "conditional" : "static" })));
      }
    }
    const onward = taken.filter(({ to }) => to !== ENDS).map(({ from, to }) => ({
      from: `${from}`,
      to: `${to}`,
    }));
    const next = nextOf(graph, onward, waiting, (ids) => chance.shuffle(ids));
    const step = told(next, Number);
    if (step.frontier.length === 0 && !finished) return { end: "halted dead_end", steps };
    steps.push({ routes: taken.map(({ from, to, kind }) => `${from} ${kind} ${to}`).sort(), ...step });
    if (step.frontier.length === 0) return { end: "completed", steps };
    ({ frontier } = step);
    ({ waiting } = next);
  }
  return { end: "halted max_steps", steps };
}

async function course(plan: JoinPlan, names: readonly string[]): Promise<Course> {
  const clock = new VirtualClock({ seed: plan.seed });
  const runner = compile(graphOfPlan(plan, names), { store: memoryStore(), runtime: clock, logger: SILENT });
  const input = { ran: names.map(() => 0) };
  const result = await clock.drive(runner.run(input, { maxSteps: MAX_STEPS }));
  const numberOf = (id: string) => id === END ? ENDS : names.indexOf(id);
  const { rows } = await runner.history(result.run.runId, { limit: 1_000 });
  const routed = rows.flatMap(({ events }) => events).filter((e) => e.type === "routed");
  return {
    end: result.status === "completed"
      ? "completed"
      : result.status === "interrupted"
      ? `${result.reason} ${result.halt?.kind}`
      : result.status,
    steps: routed.map(({ routes, frontier, arrivals = new Map() }) => ({
      routes: routes.map(({ from, to, kind }) => `${numberOf(from)} ${kind} ${numberOf(to)}`).sort(),
      ...told({ frontier, waiting: arrivals }, numberOf),
    })),
  };
}
