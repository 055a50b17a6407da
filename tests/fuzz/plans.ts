import { Chance, hash, oneIn } from "./chance.ts";

/**
 * Random workflows as plain data, and the pure decisions of their code. Both the engine under test and the reference
 * model read them; nothing here knows how a workflow is run.
 */
export interface Plan {
  readonly seed: number;
  readonly entry: string;
  readonly finish: readonly string[];
  readonly maxSteps: number;
  /** By id; not sorted. */
  readonly vertices: ReadonlyMap<string, VertexPlan>;
}

/** One vertex of a plan. */
export interface VertexPlan {
  readonly id: string;
  readonly map: boolean;
  readonly join: "any" | "all";
  /** Static targets, or those of a condition. */
  readonly targets: readonly string[];
  readonly conditional: boolean;
  /** The target that leads out of every cycle. */
  readonly exit: string | undefined;
  readonly maxAttempts: number;
  readonly backoffMs: number;
  /** Retries errors of this name only. */
  readonly retryOnly: ErrorName | undefined;
  readonly handlers: readonly HandlerPlan[];
}

/** One error handler of a vertex. */
export interface HandlerPlan {
  readonly route: string;
  readonly match: ErrorName | undefined;
  readonly byClass: boolean;
  readonly record: boolean;
}

export type ErrorName = "Amiss" | "Broken";

/** The state of every random workflow: a digest of everything that was reduced, in order, and a log of it. */
export interface Tally {
  digest: number;
  reduced: number;
  readonly counts: Record<string, number>;
  readonly log: string[];
}

/** A state in which nothing has been reduced. */
export function emptyTally(): Tally {
  return { digest: 0, reduced: 0, counts: {}, log: [] };
}

/** What a body comes to in one attempt. */
export type BodyPlan =
  | { readonly kind: "output"; readonly value: number }
  | { readonly kind: "error"; readonly name: ErrorName | "FatalError" }
  /** It returns what cannot be stored. */
  | { readonly kind: "unstorable" };

/** The decisions of a plan's code. After so many mends nothing fails any more. */
export class Decisions {
  readonly #seed: number;
  readonly #unmended: () => number | undefined;

  constructor(seed: number, mends: () => number) {
    this.#seed = seed;
    this.#unmended = () => mends() >= ALL_MENDED ? undefined : mends();
  }

  #faulty(odds: number, ...parts: readonly (string | number)[]): boolean {
    const mends = this.#unmended();
    return mends !== undefined && oneIn(odds, this.#seed, mends, ...parts);
  }

  selectFails(id: string, state: Tally): boolean {
    return this.#faulty(25, "select", id, state.digest);
  }

  itemsOf(id: string, state: Tally): readonly number[] {
    const count = hash(this.#seed, "items", id, state.digest) % 5;
    return Array.from({ length: count }, (_, i) => hash(this.#seed, "item", id, state.digest, i) % 1000);
  }

  body(id: string, step: number, item: number, attempt: number): BodyPlan {
    const at = [id, step, item, attempt] as const;
    if (this.#faulty(5, "body", ...at)) {
      const kind = hash(this.#seed, "kind", ...at) % 10;
      if (kind === 0) return { kind: "unstorable" };
      return { kind: "error", name: kind === 1 ? "FatalError" : kind < 6 ? "Amiss" : "Broken" };
    }
    return { kind: "output", value: hash(this.#seed, "output", ...at) % 1000 };
  }

  reduceFails(id: string, output: string): boolean {
    return this.#faulty(20, "reduce", id, output);
  }

  recordFails(id: string, told: string): boolean {
    return this.#faulty(12, "record", id, told);
  }

  pick(vertex: VertexPlan, state: Tally): "throw" | readonly string[] {
    const { id, targets } = vertex;
    if (this.#faulty(20, "pick", id, state.digest)) {
      const how = hash(this.#seed, "how", id, state.digest) % 3;
      return how === 0 ? "throw" : how === 1 ? [] : [targets[0]!, "nowhere"];
    }
    if (state.reduced > ENOUGH && vertex.exit !== undefined) return [vertex.exit];
    const chance = new Chance(this.#seed, "picked", id, state.digest);
    const some = targets.filter(() => chance.percent(50));
    return some.length === 0 ? [chance.pick(targets)] : chance.percent(20) ? [...some, some[0]!] : some;
  }
}

/** After so many mends a workflow fails no more. */
export const ALL_MENDED = 3;
/** After so many reductions every condition leads out. */
const ENOUGH = 12;

/** Notes one reduction; the engine gives it a draft, the model its own copy. */
export function note(state: Tally, id: string, what: string): void {
  state.digest = hash(state.digest, id, what);
  state.reduced += 1;
  state.counts[id] = (state.counts[id] ?? 0) + 1;
  state.log.push(`${id}=${what}`);
}

const IDS = ["a", "B", "c.1", "c-1", "10", "9", "Z", "z:1", "m_2"];

/** A random plan whose graph the builder accepts. */
export function planOf(seed: number): Plan {
  const chance = new Chance("plan", seed);
  const ids = chance.shuffle(IDS).slice(0, 2 + chance.below(8));
  const conditional = new Map(ids.map((id) => [id, chance.percent(45)]));
  const targets = new Map<string, string[]>(ids.map((id) => [id, []]));
  const handlers = new Map<string, HandlerPlan[]>(ids.map((id) => [id, []]));
  const handle = (id: string, route: string) =>
    handlers.get(id)!.push({
      route,
      match: chance.pick([undefined, undefined, "Amiss", "Broken"] as const),
      byClass: chance.percent(50),
      record: chance.percent(60),
    });
  const link = (from: string, to: string): void => {
    if (chance.percent(25)) return void handle(from, to);
    const known = targets.get(from)!;
    if (!known.includes(to) || (!conditional.get(from) && chance.percent(20))) known.push(to);
  };
  for (let i = 1; i < ids.length; i++) link(ids[chance.below(i)]!, ids[i]!);
  for (let extra = chance.below(ids.length + 3); extra > 0; extra--) {
    const from = chance.below(ids.length);
    const forward = chance.percent(75) && from + 1 < ids.length;
    link(
      ids[from]!,
      ids[forward ? from + 1 + chance.below(ids.length - from - 1) : chance.below(ids.length)]!,
    );
  }
  const vertices = new Map(ids.map((id, i): [string, VertexPlan] => {
    const to = targets.get(id)!;
    return [id, {
      id,
      map: chance.percent(25),
      join: i > 0 && chance.percent(35) ? "all" : "any",
      targets: to,
      conditional: conditional.get(id)! && to.length > 0,
      exit: to.find((t) => ids.indexOf(t) > i),
      maxAttempts: chance.pick([1, 1, 2, 3]),
      backoffMs: chance.pick([0, 50, 3000]),
      retryOnly: chance.pick([undefined, undefined, "Amiss"] as const),
      handlers: handlers.get(id)!,
    }];
  }));
  const finish = [...new Set([ids.at(-1)!, chance.pick(ids)])].slice(0, 1 + chance.below(2));
  return { seed, entry: ids[0]!, finish, maxSteps: 6 + chance.below(10), vertices };
}
