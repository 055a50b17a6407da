import {
  ALL_MENDED,
  Decisions,
  emptyTally,
  type ErrorName,
  type HandlerPlan,
  note,
  type Plan,
  type Tally,
  type VertexPlan,
} from "./plans.ts";
import { type JoinGraph, type Next, nextOf } from "./joins/rule.ts";

/**
 * What the specification says of a run, written down once more and as plainly as possible: one vertex after the other,
 * no records, no waits, no time. It shares no code with the engine.
 */
export function predict(plan: Plan): Prediction {
  return new Model(plan).run();
}

/** What a run comes to. */
export interface Prediction {
  /** One for every call: a start, then a resume after each mend. */
  readonly results: readonly PredictedResult[];
  readonly routes: readonly (readonly string[])[];
  /** Every run of a body: `step/vertex/item/mends/attempt`, sorted. */
  readonly bodies: readonly string[];
}

/** What one call returns. */
export interface PredictedResult {
  readonly status: "completed" | "interrupted";
  readonly reason?: "halted" | "errored";
  readonly halt?: string;
  /** `vertex/item: name attempt phase`, in order. */
  readonly failures: readonly string[];
  readonly state: Tally;
  readonly path: readonly string[];
  readonly step: number;
}

interface Failure {
  readonly name: string;
  readonly attempt: number;
  readonly phase: string;
  readonly handler: HandlerPlan | undefined;
}

/** One execution, or a whole map vertex whose outcome was decided as a whole. */
type Outcome =
  | { readonly kind: "done"; readonly value: number }
  | { readonly kind: "failed"; readonly failure: Failure; readonly value?: number };

class Model {
  readonly #plan: Plan;
  readonly #decide: Decisions;
  readonly #results: PredictedResult[] = [];
  readonly #routes: string[][] = [];
  readonly #bodies: string[] = [];
  readonly #path: string[] = [];
  #state = emptyTally();
  #mends = 0;
  #step = 0;
  #maxSteps: number;
  #finished = false;
  #frontier: string[];
  #arrived: Next["waiting"] = new Map();
  readonly #graph: JoinGraph;

  constructor(plan: Plan) {
    this.#plan = plan;
    this.#decide = new Decisions(plan.seed, () => this.#mends);
    this.#frontier = [plan.entry];
    const vertices = [...plan.vertices.values()];
    this.#graph = {
      edges: new Map(vertices.map((v) => [v.id, edgesOf(v)])),
      joins: new Set(vertices.filter((v) => v.join === "all").map((v) => v.id)),
    };
    this.#maxSteps = plan.maxSteps;
  }

  run(): Prediction {
    for (;;) {
      if (this.#step >= this.#maxSteps) {
        if (!this.#interrupt("halted", this.#step - 1, { halt: `max_steps ${this.#step}` })) break;
        this.#maxSteps += this.#plan.maxSteps;
        continue;
      }
      if (!this.#settle() || !this.#route()) break;
      this.#step += 1;
      if (this.#frontier.length > 0) continue;
      this.#end({ status: "completed", failures: [], state: this.#state, step: this.#step - 1 });
      break;
    }
    return { results: this.#results, routes: this.#routes, bodies: this.#bodies.sort() };
  }

  #end(result: Omit<PredictedResult, "path">): void {
    this.#results.push(structuredClone({ ...result, path: this.#path }));
  }

  /** The run stops; true when it is mended and resumed. */
  #interrupt(
    reason: "halted" | "errored",
    step: number,
    more: { readonly halt?: string; readonly failures?: readonly string[]; readonly state?: Tally },
  ): boolean {
    this.#end({ status: "interrupted", reason, failures: [], state: this.#state, step, ...more });
    if (this.#mends > ALL_MENDED) return false;
    this.#mends += 1;
    return true;
  }

  #vertices(): VertexPlan[] {
    return this.#frontier.map((id) => this.#plan.vertices.get(id)!);
  }

  /** Runs the bodies of the step and folds what they came to; false when that never succeeds. */
  #settle(): boolean {
    const whole = new Map<string, Outcome>();
    const items = new Map<string, (Outcome | undefined)[]>();
    for (;;) {
      for (const vertex of this.#vertices()) this.#execute(vertex, whole, items);
      const folded = this.#fold(whole, items);
      if (folded !== undefined) {
        this.#state = folded;
        this.#path.push(...this.#frontier);
        return true;
      }
      const failures: string[] = [];
      for (const vertex of this.#vertices()) {
        const tell = (x: Outcome | undefined, item?: number) => {
          if (x?.kind !== "failed" || x.failure.handler !== undefined) return;
          const { name, attempt, phase } = x.failure;
          failures.push(`${vertex.id}/${item ?? ""}: ${name} ${attempt} ${phase}`);
        };
        tell(whole.get(vertex.id));
        items.get(vertex.id)?.forEach((x, item) => tell(x, item));
      }
      const state = this.#foldSoFar(whole, items);
      if (!this.#interrupt("errored", this.#step, { failures, state })) return false;
      for (const [id, x] of whole) {
        if (x.kind !== "failed" || x.failure.handler !== undefined) continue;
        // The reducer is applied again to the output that there is; otherwise everything is done anew.
        if (x.value !== undefined) whole.set(id, { kind: "done", value: x.value });
        else whole.delete(id);
      }
      for (const list of items.values()) {
        list.forEach((x, i) => {
          if (x?.kind === "failed" && x.failure.handler === undefined) list[i] = undefined;
        });
      }
    }
  }

  /** Runs what has no outcome yet of a vertex. */
  #execute(
    vertex: VertexPlan,
    whole: Map<string, Outcome>,
    items: Map<string, (Outcome | undefined)[]>,
  ): void {
    const { id } = vertex;
    if (whole.has(id)) return;
    const unfinished = vertex.map ? items.get(id)?.some((x) => x === undefined) ?? true : true;
    if (unfinished && this.#decide.selectFails(id, this.#state)) {
      whole.set(id, { kind: "failed", failure: this.#failure(vertex, "Broken", 1, "select") });
      return;
    }
    if (!vertex.map) {
      whole.set(id, this.#attempts(vertex, undefined));
      return;
    }
    const list = items.get(id) ?? this.#decide.itemsOf(id, this.#state).map(() => undefined);
    items.set(id, list.map((x, item) => x ?? this.#attempts(vertex, item)));
  }

  #attempts(vertex: VertexPlan, item: number | undefined): Outcome {
    for (let attempt = 1;; attempt++) {
      this.#bodies.push([this.#step, vertex.id, item ?? "", this.#mends, attempt].join("/"));
      const body = this.#decide.body(vertex.id, this.#step, item ?? -1, attempt);
      if (body.kind === "output") return { kind: "done", value: body.value };
      if (body.kind === "unstorable") {
        return { kind: "failed", failure: this.#failure(vertex, "SerializationError", attempt, "serialize") };
      }
      const again = attempt < vertex.maxAttempts && body.name !== "FatalError" &&
        (vertex.retryOnly === undefined || vertex.retryOnly === body.name);
      if (!again) return { kind: "failed", failure: this.#failure(vertex, body.name, attempt, "execute") };
    }
  }

  #failure(vertex: VertexPlan, name: ErrorName | string, attempt: number, phase: string): Failure {
    const handler = vertex.handlers.find((h) => h.match === undefined || h.match === name);
    return { name, attempt, phase, handler: phase === "record" ? undefined : handler };
  }

  /** How a vertex stands: what to reduce, what to record, or nothing yet. */
  #standing(
    vertex: VertexPlan,
    whole: ReadonlyMap<string, Outcome>,
    items: ReadonlyMap<string, (Outcome | undefined)[]>,
  ): { readonly done: string } | { readonly failed: Failure; readonly told: string } | undefined {
    const one = whole.get(vertex.id);
    if (one?.kind === "done") return { done: String(one.value) };
    if (one?.kind === "failed") {
      const { failure } = one;
      return failure.handler === undefined
        ? undefined
        : { failed: failure, told: `${failure.name}:${failure.attempt}:${failure.phase}` };
    }
    const list = items.get(vertex.id);
    if (list === undefined) return undefined;
    const values: number[] = [];
    const failed: [number, Failure][] = [];
    for (const [item, x] of list.entries()) {
      if (x === undefined || (x.kind === "failed" && x.failure.handler === undefined)) return undefined;
      if (x.kind === "done") values.push(x.value);
      else failed.push([item, x.failure]);
    }
    const [lowest] = failed;
    if (lowest === undefined) return { done: `[${values}]` };
    const { name, attempt, phase } = lowest[1];
    const all = failed.map(([item, f]) => `${item}-${f.name}`).join();
    return { failed: lowest[1], told: `${name}:${attempt}:${phase}[${all}]` };
  }

  #fold(whole: Map<string, Outcome>, items: ReadonlyMap<string, (Outcome | undefined)[]>): Tally | undefined {
    again: for (;;) {
      const vertices = this.#vertices();
      if (vertices.some((v) => this.#standing(v, whole, items) === undefined)) return undefined;
      const state = structuredClone(this.#state);
      for (const vertex of vertices) {
        const fault = this.#reduce(vertex, this.#standing(vertex, whole, items)!, state);
        if (fault === undefined) continue;
        const before = whole.get(vertex.id);
        const attempt = this.#attempt(vertex.id, before);
        whole.set(vertex.id, {
          kind: "failed",
          failure: this.#failure(vertex, "Amiss", attempt, fault),
          ...(before?.value === undefined ? {} : { value: before.value }),
        });
        continue again;
      }
      this.#finished ||= vertices.some((v) =>
        this.#plan.finish.includes(v.id) && "done" in this.#standing(v, whole, items)!
      );
      this.#failedUnder = new Map(vertices.flatMap((v) => {
        const standing = this.#standing(v, whole, items)!;
        return "failed" in standing ? [[v.id, standing.failed.handler!] as const] : [];
      }));
      return state;
    }
  }

  #failedUnder = new Map<string, HandlerPlan>();

  /** A fault of the fold belongs to the attempt that its outcome came from. */
  #attempt(id: string, x: Outcome | undefined): number {
    if (x?.kind === "failed") return x.failure.attempt;
    const prefix = `${this.#step}/${id}//`;
    const mine = this.#bodies.filter((b) => b.startsWith(prefix)).map((b) => b.split("/").map(Number));
    const [, , , mends, attempt] = mine.sort((a, b) => a[3]! - b[3]! || a[4]! - b[4]!).at(-1) ?? [];
    return mends === undefined ? 1 : attempt!;
  }

  #reduce(
    vertex: VertexPlan,
    standing: { readonly done: string } | { readonly failed: Failure; readonly told: string },
    state: Tally,
  ): "reduce" | "record" | undefined {
    if ("done" in standing) {
      if (this.#decide.reduceFails(vertex.id, standing.done)) return "reduce";
      note(state, vertex.id, standing.done);
    } else if (standing.failed.handler!.record) {
      if (this.#decide.recordFails(vertex.id, standing.told)) return "record";
      note(state, vertex.id, standing.told);
    }
    return undefined;
  }

  #foldSoFar(
    whole: ReadonlyMap<string, Outcome>,
    items: ReadonlyMap<string, (Outcome | undefined)[]>,
  ): Tally {
    const state = structuredClone(this.#state);
    for (const vertex of this.#vertices()) {
      const standing = this.#standing(vertex, whole, items);
      if (standing !== undefined) this.#reduce(vertex, standing, state);
    }
    return state;
  }

  /** Routes the step; false when that never succeeds. */
  #route(): boolean {
    for (;;) {
      const taken: { readonly from: string; readonly to: string; readonly kind: string }[] = [];
      const halt = this.#halted(taken);
      const next = halt === undefined ? nextOf(this.#graph, taken, this.#arrived) : undefined;
      if (next !== undefined && (next.frontier.size > 0 || this.#finished)) {
        this.#routes.push(taken.map(({ from, to, kind }) => `${from} -${kind}-> ${to}`));
        this.#frontier = [...next.frontier].sort(byUnits);
        this.#arrived = next.waiting;
        return true;
      }
      if (!this.#interrupt("halted", this.#step, { halt: halt ?? `dead_end ${this.#step}` })) return false;
    }
  }

  #halted(taken: { from: string; to: string; kind: string }[]): string | undefined {
    for (const vertex of this.#vertices()) {
      const handler = this.#failedUnder.get(vertex.id);
      const from = vertex.id;
      if (handler !== undefined) taken.push({ from, to: handler.route, kind: "error" });
      else if (!vertex.conditional) {
        for (const to of vertex.targets) taken.push({ from, to, kind: "static" });
      } else {
        const picked = this.#decide.pick(vertex, this.#state);
        if (picked === "throw") return `condition ${this.#step} ${from}`;
        const stranger = picked.length === 0 ? "" : picked.find((t) => !vertex.targets.includes(t));
        if (stranger !== undefined) return `undeclared_target ${this.#step} ${from} ${stranger}`;
        for (const to of new Set(picked)) taken.push({ from, to, kind: "conditional" });
      }
    }
    return undefined;
  }
}

function edgesOf(vertex: VertexPlan): readonly string[] {
  return [...vertex.targets, ...vertex.handlers.map((h) => h.route)];
}

function byUnits(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
