import { GraphBuilder } from "../../../src/graph/mod.ts";
import type { CompiledGraph } from "../../../src/model/definition.ts";
import { END } from "../../../src/model/ids.ts";
import { Chance, hash } from "../chance.ts";

/**
 * Random graphs that go round, with several joins, picks, error routes back and branches that end. A vertex is a number:
 * what it is called is decided when the graph is built, and nothing that it does depends on that.
 */
export interface JoinPlan {
  readonly seed: number;
  readonly vertices: readonly JoinVertex[];
}

/** One vertex; the first one is the entry. */
export interface JoinVertex {
  readonly join: boolean;
  readonly finish: boolean;
  /** Where it leads; `ENDS` is the end of a branch. */
  readonly to: readonly number[];
  readonly picks: boolean;
  /** Where it leads when it fails. */
  readonly handler: number | undefined;
}

/** The end of a branch. */
export const ENDS = -1;

/** How often each vertex has run: all that picks and bodies depend on. */
export interface Counts {
  readonly ran: number[];
}

/** A run goes round no longer than this. */
export const MAX_STEPS = 24;

const NAMES = ["a", "B", "c.1", "c-1", "10", "9", "Z", "z:1", "m_2", "q"];

/** A random plan whose graph the builder accepts. */
export function joinPlan(seed: number): JoinPlan {
  const chance = new Chance("joins", seed);
  const size = 3 + chance.below(NAMES.length - 2);
  const targets = Array.from({ length: size }, () => new Set<number>());
  const handlers = new Map<number, number>();
  const link = (from: number, to: number) => {
    if (chance.percent(15) && !handlers.has(from)) handlers.set(from, to);
    else targets[from]!.add(to);
  };
  for (let i = 1; i < size; i++) link(chance.below(i), i);
  for (let extra = 1 + chance.below(size + 2); extra > 0; extra--) {
    link(chance.below(size), chance.below(size));
  }
  const joins = 30 + chance.below(50);
  return {
    seed,
    vertices: targets.map((to, i) => {
      if (chance.percent(12)) to.add(ENDS);
      return {
        join: i > 0 && chance.percent(joins),
        finish: i === size - 1 || chance.percent(20),
        to: chance.shuffle([...to]),
        picks: to.size > 0 && chance.percent(55),
        handler: handlers.get(i),
      };
    }),
  };
}

/** Where a vertex leads when it has run for the n-th time, from 1; nothing when it fails. */
export function choice({ seed, vertices }: JoinPlan, i: number, n: number): readonly number[] | undefined {
  const { to, picks, handler } = vertices[i]!;
  if (handler !== undefined && hash("fails", seed, i, n) % 3 === 0) return undefined;
  if (!picks) return to;
  const some = to.filter((t) => hash("picks", seed, i, n, t) % 2 === 0);
  return some.length > 0 ? some : [to[hash("picks one", seed, i, n) % to.length]!];
}

/** Names for the vertices of a plan; another turn gives others. */
export function namesOf(plan: JoinPlan, turn: number): readonly string[] {
  return new Chance("names", plan.seed, turn).shuffle(NAMES).slice(0, plan.vertices.length);
}

/** The graph of a plan under these names. */
export function graphOfPlan(plan: JoinPlan, names: readonly string[]): CompiledGraph<Counts> {
  const builder = new GraphBuilder<Counts>({ id: "joins" });
  const nameOf = (i: number) => i === ENDS ? END : names[i]!;
  const count = (i: number) => (s: Counts) => void (s.ran[i]! += 1);
  plan.vertices.forEach(({ join, to, picks, handler }, i) => {
    builder.addVertex<number, void>({
      id: names[i]!,
      join: join ? "all" : "any",
      task: {
        execute: (n) => {
          if (choice(plan, i, n + 1) === undefined) throw new Error("planned");
        },
      },
      select: (s) => s.ran[i]!,
      reduce: count(i),
      ...(handler === undefined ? {} : { onError: { route: names[handler]!, record: count(i) } }),
    });
    if (picks) {
      const pick = (s: Counts) => choice(plan, i, s.ran[i]!)!.map(nameOf);
      builder.addConditionalEdge(names[i]!, { targets: to.map(nameOf), pick });
    } else for (const t of to) builder.addEdge(names[i]!, nameOf(t));
  });
  const finish = names.filter((_, i) => plan.vertices[i]!.finish);
  return builder.build({ entry: names[0]!, finish });
}
