import {
  BuildError,
  DuplicateConditionalEdgeError,
  DuplicateVertexError,
  type FaultPlace,
  type SuperstepError,
} from "../errors.ts";
import type {
  CompiledCondition,
  CompiledGraph,
  CompiledMigration,
  CompiledSchedule,
  CompiledVertex,
  MigrationOptions,
  RouteOptions,
  ScheduleOptions,
  TaskSource,
} from "../model/definition.ts";
import type { CompiledFlow, FlowOptions } from "../model/flow.ts";
import { compareIds, END, isId } from "../model/ids.ts";
import { type KnownOptions, optionProblem } from "../model/known_options.ts";
import { KNOWN_ROUTE } from "../model/policy_options.ts";
import type { Schema } from "../model/schema.ts";
import { ancestorsOf } from "./ancestors.ts";
import { versionOf } from "./canonical.ts";
import { compileFlow } from "./flow.ts";
import { frozenMap, frozenSet } from "./frozen.ts";
import {
  compileHandlers,
  compileRetry,
  compileTimeout,
  compileWaits,
  idProblem,
  mapCap,
  NAME_BY_ID,
  poolOf,
  refuser,
  shown,
} from "./policies.ts";
import { compileMigration, migrationFaults } from "./migrations.ts";
import { compileSchedule } from "./schedules.ts";
import { classNameOf, taskSource } from "./task_source.ts";
import { graphFaults, type GraphLinks } from "./validate.ts";
import {
  GIVEN_ELSEWHERE,
  KNOWN_VERTEX,
  type MapVertex,
  type SingleVertex,
  type VertexBase,
} from "./vertex_options.ts";

/** Options of a {@link GraphBuilder}. */
export interface GraphOptions<S, I = unknown> {
  /** The pinned id of the graph: `[A-Za-z0-9][A-Za-z0-9._:-]{0,127}`. */
  readonly id: string;
  /** Raise it when the code changes so that waiting runs must not go on with it. A whole number. @default 0 */
  readonly version?: number;
  /** Validates inputs and states. Anything that implements Standard Schema; zod is the tested one. */
  readonly schema?: Schema<I, S>;
}

const KNOWN = { id: true, version: true, schema: true } satisfies KnownOptions<keyof GraphOptions<unknown>>;

/** Where runs of a graph begin and end. */
export interface GraphEnds {
  /** The vertex that runs first. */
  readonly entry: string;
  /**
   * A run completes when one of these vertices has run, or a branch has ended at `END`, and nothing is left to run.
   * @default none: some branch ends at `END`
   */
  readonly finish?: string | readonly string[];
}

/** What a builder holds so far, in the order it was added. */
export interface GraphContents {
  /** The ids of the vertices. */
  readonly vertices: readonly string[];
  /** The static edges. */
  readonly edges: readonly { readonly from: string; readonly to: string }[];
  /** The conditional edges, their targets sorted. */
  readonly conditions: readonly { readonly from: string; readonly targets: readonly string[] }[];
}

/** A vertex before its edges are known. */
type AddedVertex<S> = Omit<
  CompiledVertex<S>,
  "finish" | "edges" | "condition" | "sources" | "targets" | "ancestors"
>;

/** A vertex as the implementation sees it: its types have been checked by the overloads, its values have not. */
interface ErasedVertex<S> extends VertexBase<S> {
  readonly task: unknown;
  readonly select?: ((state: S) => unknown) | undefined;
  readonly each?: ((state: S) => readonly unknown[]) | undefined;
  readonly concurrency?: number;
  readonly reduce: unknown;
}

/**
 * Assembles a graph from plain calls: the twin of the decorators, and what the scanner uses. Ids may be used in edges
 * before they are added; whether everything fits is checked by {@link GraphBuilder.build}.
 *
 * @example
 * ```ts
 * class Greet implements Task<string, string> {
 *   execute(name: string): string {
 *     return `Hello ${name}`;
 *   }
 * }
 *
 * const graph = new GraphBuilder({ id: "greet", schema: z.object({ name: z.string(), text: z.string().optional() }) })
 *   .addVertex({ id: "greet", task: Greet, select: (s) => s.name, reduce: (s, text) => { s.text = text; } })
 *   .build({ entry: "greet", finish: "greet" });
 * ```
 */
export class GraphBuilder<S, I = unknown> {
  /** As given. */
  readonly id: string;
  /** As given, or 0. */
  readonly version: number;
  readonly #schema: Schema<I, S> | undefined;
  readonly #vertices = new Map<string, AddedVertex<S>>();
  readonly #edges: { readonly from: string; readonly to: string }[] = [];
  readonly #conditions = new Map<string, CompiledCondition<S>>();
  readonly #schedules: CompiledSchedule[] = [];
  readonly #migrations: CompiledMigration[] = [];
  #flow: CompiledFlow = {};

  /**
   * Begins a graph without vertices.
   *
   * @throws {BuildError} when the id, the version or the schema is not one
   */
  constructor(options: GraphOptions<S, I>) {
    const { id, version = 0, schema } = options;
    if (!isId(id)) throw new BuildError("GraphBuilder", idProblem("the graph's id", id));
    if (!Number.isSafeInteger(version) || version < 0) {
      throw new BuildError(
        "GraphBuilder",
        `the version of graph ${id} is ${shown(version)}; give a whole number from 0`,
      );
    }
    if (schema !== undefined && typeof schema?.["~standard"]?.validate !== "function") {
      throw new BuildError(
        "GraphBuilder",
        `the schema of graph ${id} is no Standard Schema; give z.object({ … })`,
      );
    }
    const unknown = optionProblem(options, KNOWN, GIVEN_ELSEWHERE);
    if (unknown !== undefined) {
      throw new BuildError("GraphBuilder", `graph ${id}: ${unknown}`, { graphId: id });
    }
    this.id = id;
    this.version = version;
    this.#schema = schema;
  }

  /**
   * Binds a task under an id; `select` gives it one input, `each` one input per item.
   *
   * @throws {BuildError} when a field is missing or invalid
   * @throws {DuplicateVertexError} when the id is bound already
   */
  addVertex<I, O>(vertex: SingleVertex<S, I, O>): this;
  /** Binds a task as a map vertex: one execution per item that `each` gives. */
  addVertex<I, O>(vertex: MapVertex<S, I, O>): this;
  addVertex(vertex: ErasedVertex<S>): this {
    const { id, label = "", join = "any", task, select, each, reduce } = vertex;
    if (!isId(id)) throw this.#refused("addVertex", idProblem("a vertex id", id));
    const source = taskSource(task);
    const place = this.#placeOf(source);
    if (this.#vertices.has(id)) throw new DuplicateVertexError(id, undefined, place);
    const refuse = refuser("addVertex", id, place);
    const unknown = optionProblem(vertex, KNOWN_VERTEX, GIVEN_ELSEWHERE);
    if (unknown !== undefined) throw refuse(unknown);
    if (source === undefined) {
      throw refuse(`the task is ${shown(task)}; give a task, or a class whose instances have execute()`);
    }
    if (select !== undefined && each !== undefined) {
      throw refuse("it has both select and each; keep select for one input, or each for one input per item");
    }
    if (typeof (select ?? each) !== "function") {
      throw refuse(
        `select is ${shown(select ?? each)}; give a function of the state, or each for a map vertex`,
      );
    }
    if (typeof reduce !== "function") {
      throw refuse(`reduce is ${shown(reduce)}; give a function of the state and the output`);
    }
    if (join !== "any" && join !== "all") throw refuse(`join is ${shown(join)}; give "any" or "all"`);
    if (typeof label !== "string") throw refuse(`label is ${shown(label)}; give a text`);
    this.#vertices.set(id, {
      id,
      label,
      join,
      task: source,
      select,
      each,
      ...mapCap(vertex, refuse),
      ...poolOf(vertex.pool, refuse),
      reduce: reduce as CompiledVertex<S>["reduce"],
      waits: compileWaits(vertex.waits, refuse),
      retry: compileRetry(vertex.retry, refuse),
      timeout: compileTimeout(vertex.timeout, refuse),
      handlers: compileHandlers(vertex.onError, refuse),
    });
    return this;
  }

  /**
   * Adds a static edge: `to` runs in the step after `from`, or is `END`. Several edges from one vertex fan out.
   *
   * @throws {BuildError} when an id is malformed
   */
  addEdge(from: string, to: string): this {
    if (!isId(from)) throw this.#refused("addEdge", `an edge to ${shown(to)}: ${idProblem("from", from)}`);
    if (to !== END && !isId(to)) {
      throw this.#refused("addEdge", `an edge from ${from}: ${idProblem("to", to)}`);
    }
    this.#edges.push(Object.freeze({ from, to }));
    return this;
  }

  /**
   * Lets `pick` choose among declared targets when `from` has run.
   *
   * @throws {BuildError} when `from` is malformed, `pick` missing or `targets` empty
   * @throws {DuplicateConditionalEdgeError} when `from` has a condition already
   */
  addConditionalEdge<const T extends string>(from: string, route: RouteOptions<S, T>): this {
    if (!isId(from)) throw this.#refused("addConditionalEdge", idProblem("from", from));
    const place = this.#placeOf(this.#vertices.get(from)?.task);
    const refuse = refuser("addConditionalEdge", from, place);
    const { targets, pick } = route ?? {};
    const unknown = optionProblem(route, KNOWN_ROUTE);
    if (unknown !== undefined) throw refuse(unknown);
    if (typeof pick !== "function") throw refuse(`pick is ${shown(pick)}; give a function of the state`);
    if (!Array.isArray(targets) || targets.length === 0) {
      throw refuse(
        `targets is ${Array.isArray(targets) ? "empty" : shown(targets)}; list what pick may return`,
      );
    }
    const noText = targets.findIndex((target) => typeof target !== "string");
    if (noText >= 0) throw refuse(`a target is ${shown(targets[noText])}; ${NAME_BY_ID}`);
    if (this.#conditions.has(from)) throw new DuplicateConditionalEdgeError(from, place);
    const sorted = [...new Set<string>(targets)].sort(compareIds);
    this.#conditions.set(from, Object.freeze({ targets: Object.freeze(sorted), pick }));
    return this;
  }

  /**
   * Has workers start runs by the clock: one per tick, however many workers there are.
   *
   * @param expression cron: minute, hour, day of the month, month, day of the week; before them seconds, if there are six
   * @throws {BuildError} when the expression, the time zone or an option is not one, or the id is taken
   */
  addSchedule(expression: string, options: ScheduleOptions<I> = {}): this {
    const schedule = compileSchedule("addSchedule", this.id, expression, options);
    const { id } = schedule;
    if (this.#schedules.some((other) => other.id === id)) {
      throw new BuildError("addSchedule", `graph ${this.id} has two schedules ${id}; give one another id`);
    }
    this.#schedules.push(schedule);
    return this;
  }

  /**
   * Says how runs of one user version come to the next one; see {@link Migration}.
   *
   * @throws {BuildError} when an option is not one, or another migration leads on from that version
   */
  addMigration<O>(options: MigrationOptions<O>): this {
    this.#migrations.push(compileMigration("addMigration", this, options, this.#migrations));
    return this;
  }

  /**
   * Limits the runs of the graph, over all workers of a store: how many are at work, how many begin in a period, and whether
   * there is one per key. What a later call gives takes the place of what was given before.
   *
   * @throws {BuildError} when an option is not one
   *
   * @example
   * ```ts
   * const builder = new GraphBuilder({ id: "mails", schema: z.object({ tenant: z.string() }) });
   * builder.limit({ concurrency: { limit: 5, key: (input) => input.tenant }, throttle: { limit: 100, per: "1m" } });
   * ```
   */
  limit(limits: FlowOptions<S>): this {
    this.#flow = { ...this.#flow, ...compileFlow("limit", this.id, limits) };
    return this;
  }

  /** What has been added so far. */
  contents(): GraphContents {
    return {
      vertices: [...this.#vertices.keys()],
      edges: [...this.#edges],
      conditions: [...this.#conditions].map(([from, { targets }]) => ({ from, targets })),
    };
  }

  /** Everything that `build` would refuse, in its order; empty when the graph is sound. */
  faults(ends: GraphEnds): SuperstepError[] {
    return this.#faults(this.#links(ends));
  }

  /**
   * The validated, immutable graph. Later calls on the builder do not reach it.
   *
   * @throws {MissingEntryError} when the entry or a finish is not a vertex
   * @throws {UnknownVertexError} when an edge, target or error route names an id that was not added
   * @throws {AmbiguousRoutingError} when a vertex has static edges and a condition
   * @throws {UnreachableVertexError} when no path from the entry leads to a vertex
   */
  build(ends: GraphEnds): CompiledGraph<S, I> {
    const links = this.#links(ends);
    const [fault] = this.#faults(links);
    if (fault !== undefined) throw fault;
    const finishes = frozenSet([...links.finishes].sort(compareIds));
    const vertices = this.#compiledVertices(links, finishes);
    const { entry } = ends;
    return Object.freeze({
      id: this.id,
      version: versionOf({ entry, finishes, vertices }, this.version),
      schema: this.#schema,
      entry,
      finishes,
      vertices,
      schedules: Object.freeze([...this.#schedules]),
      migrations: Object.freeze([...this.#migrations].sort((a, b) => a.from - b.from)),
      ...(Object.keys(this.#flow).length === 0 ? {} : { flow: Object.freeze(this.#flow) }),
    });
  }

  #faults(links: GraphLinks): SuperstepError[] {
    return [...graphFaults(links), ...migrationFaults(this.id, this.#migrations, links.ids)];
  }

  #refused(op: string, problem: string): BuildError {
    return new BuildError(op, `graph ${this.id}: ${problem}`, { graphId: this.id });
  }

  #placeOf(task: TaskSource | undefined): FaultPlace {
    const className = classNameOf(task);
    return className === undefined ? { graphId: this.id } : { graphId: this.id, className };
  }

  #links({ entry, finish }: GraphEnds): GraphLinks {
    return {
      graphId: this.id,
      classNames: new Map([...this.#vertices].map(([id, { task }]) => [id, classNameOf(task)])),
      ids: new Set(this.#vertices.keys()),
      entry,
      finishes: finish === undefined ? [] : [...new Set(typeof finish === "string" ? [finish] : finish)],
      edges: this.#edges,
      conditions: new Map([...this.#conditions].map(([from, { targets }]) => [from, targets])),
      errorRoutes: new Map(
        [...this.#vertices].map(([id, { handlers }]) => [id, handlers.map(({ route }) => route)]),
      ),
    };
  }

  #compiledVertices(
    links: GraphLinks,
    finishes: ReadonlySet<string>,
  ): ReadonlyMap<string, CompiledVertex<S>> {
    const ids = [...links.ids].sort(compareIds);
    const edges = new Map<string, string[]>(ids.map((id) => [id, []]));
    for (const { from, to } of links.edges) edges.get(from)?.push(to);
    const targetsOf = (id: string) =>
      [
        ...edges.get(id) ?? [],
        ...links.conditions.get(id) ?? [],
        ...links.errorRoutes.get(id) ?? [],
      ].filter((target) => target !== END);
    const sources = new Map<string, string[]>(ids.map((id) => [id, []]));
    for (const id of ids) {
      for (const target of new Set(targetsOf(id))) sources.get(target)?.push(id);
    }
    return frozenMap(
      [...this.#vertices.values()].sort((a, b) => compareIds(a.id, b.id)).map((added) => {
        const { id } = added;
        return [
          id,
          Object.freeze({
            ...added,
            finish: finishes.has(id),
            edges: Object.freeze(edges.get(id) ?? []),
            condition: this.#conditions.get(id),
            sources: Object.freeze(sources.get(id) ?? []),
            targets: Object.freeze([...new Set(targetsOf(id))].sort(compareIds)),
            ancestors: ancestorsOf(id, sources),
          }),
        ];
      }),
    );
  }
}
