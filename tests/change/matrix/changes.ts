/** Changes of a workflow, and what SPEC 16 says becomes of runs in each state. */
import { z } from "zod";
import { defineWait } from "../../../mod.ts";
import type { Notes, VertexOf } from "../../support/graphs.ts";
import type { Plan } from "./plan.ts";
import type { State } from "./states.ts";

/** A change, the sentence that says what becomes of runs, and what that comes to for each state. */
export interface Change {
  readonly name: string;
  readonly says: string;
  /** The next version; `at` is the vertex at which the run stands. */
  make(plan: Plan, at: string): Plan;
  /** Whether a migration leads to it. @default false */
  readonly migrates?: boolean;
  /** Why runs in that state are refused; nothing where they are not. */
  refuses?(state: State, at: string): RegExp | undefined;
}

const begun = (state: State, why: RegExp) => state === "queued" ? undefined : why;

const vertex = (plan: Plan, id: string, edit: (v: VertexOf<Notes>) => VertexOf<Notes>): Plan => ({
  ...plan,
  vertices: { ...plan.vertices, [id]: edit(plan.vertices[id]!) },
});

const without = ({ vertices, ...plan }: Plan, id: string): Plan => {
  const { [id]: _, ...others } = vertices;
  return { ...plan, vertices: others };
};

const renamed = (plan: Plan, at: string, name = `new_${at}`): Plan => ({
  ...without(plan, at),
  vertices: { ...without(plan, at).vertices, [name]: plan.vertices[at]! },
  names: { ...plan.names, [at]: name },
});

const field = (
  plan: Plan,
  shape: Readonly<Record<string, z.ZodType>>,
  drop: readonly string[] = [],
): Plan => {
  const { shape: old } = plan.schema as z.ZodObject;
  const kept = Object.entries(old).filter(([name]) => !drop.includes(name));
  return { ...plan, schema: z.object({ ...Object.fromEntries(kept), ...shape } as never) };
};

const moves = (plan: Plan, migration: Omit<Plan["migrations"][number], "from">): Plan => ({
  ...plan,
  migrations: [{ from: 1, ...migration } as Plan["migrations"][number]],
});

/** The body of the vertex does nothing more than it did: what is added comes after it. */
const then = (plan: Plan, from: string, id: string): Plan => ({
  ...vertex(
    plan,
    from,
    (v) => v.pick === undefined ? { ...v, to: id } : { ...v, targets: [...v.targets!, id] },
  ),
  vertices: {
    ...vertex(
      plan,
      from,
      (v) => v.pick === undefined ? { ...v, to: id } : { ...v, targets: [...v.targets!, id] },
    )
      .vertices,
    [id]: { to: "end" },
  },
});

const ADDING = "So adding vertices, edges, waits and fields needs no migration.";
const NAMED = "every vertex it names exists";
const JOINS = "its joins are joins with those edges";
const STATE = "the state passes the schema or lacks only fields that it completes by defaults";

/** The rows of the matrix. */
export const CHANGES: readonly Change[] = [
  { name: "a vertex is added", says: ADDING, make: (plan, at) => then(plan, at, "audit") },
  {
    name: "a vertex is removed",
    says: NAMED,
    make: without,
    refuses: (state, at) => begun(state, new RegExp(`^vertex ${at}, which .*, is not in this code$`)),
  },
  {
    name: "a vertex is removed, with a migration",
    says: "A vertex mapped to `null` must hold nothing in the current step.",
    make: (plan, at) => moves(without(plan, at), { vertices: { [at]: null } }),
    migrates: true,
    refuses: (state, at) => begun(state, new RegExp(`^vertex ${at} is gone by the migration, but the run `)),
  },
  {
    name: "a vertex is renamed",
    says: NAMED,
    make: (plan, at) => renamed(plan, at),
    refuses: (state, at) => begun(state, new RegExp(`^vertex ${at}, which .*, is not in this code$`)),
  },
  {
    name: "a vertex is renamed, with a migration",
    says: "Outcomes, `once` results, waits and answers move with their vertex",
    make: (plan, at) => moves(renamed(plan, at), { vertices: { [at]: `new_${at}` } }),
    migrates: true,
  },
  {
    name: "a vertex is split under its id",
    says: ADDING,
    make: (plan, at) => then(plan, at, "second"),
  },
  {
    name: "a vertex is split, with a migration",
    says: "Outcomes, `once` results, waits and answers move with their vertex",
    make: (plan, at) =>
      moves(then(renamed(plan, at), `new_${at}`, "second"), { vertices: { [at]: `new_${at}` } }),
    migrates: true,
  },
  {
    name: "the kind of a vertex is changed",
    says: `${NAMED} with the same kind (single or map)`,
    make: (plan, at) =>
      vertex(plan, at, ({ each, ...v }) => each === undefined ? { ...v, each: (s) => [s["n"]] } : v),
    refuses: (state, at) =>
      begun(
        state,
        new RegExp(
          `^vertex ${at} (is a map vertex now and was a single one|was a map vertex and is a single)`,
        ),
      ),
  },
  {
    name: "an edge is added",
    says: ADDING,
    make: (plan, at) =>
      vertex(plan, at, (v) =>
        v.pick === undefined ? { ...v, to: [v.to!, "plan_a"].flat() } : {
          ...v,
          targets: [...v.targets!, "plan_a"],
        }),
  },
  {
    name: "the edge of an arrival is removed",
    says: JOINS,
    make: (plan) => vertex(plan, "left", (v) => ({ ...v, to: "end" })),
    refuses: (state) =>
      state === "joining" ? /^the edge left -> join, over which it has reached join join/ : undefined,
  },
  {
    name: "an edge leads elsewhere",
    says: "every vertex it names exists",
    make: (plan, at) =>
      vertex(
        plan,
        at,
        (v) => v.pick === undefined ? { ...v, to: "plan_a" } : { ...v, targets: ["end", "plan_a"] },
      ),
  },
  {
    name: "a join becomes none",
    says: JOINS,
    make: (plan) => vertex(plan, "join", ({ join: _, ...v }) => v),
    refuses: (state) =>
      state === "joining" ? /^vertex join waits as a join in it and is none now$/ : undefined,
  },
  {
    name: "a vertex becomes a join",
    says: JOINS,
    make: (plan) => vertex(plan, "plan_b", (v) => ({ ...v, join: "all" })),
  },
  {
    name: "a wait is added",
    says: ADDING,
    make: (plan, at) => vertex(plan, at, (v) => ({ ...v, waits: [defineWait("more", z.string())] })),
  },
  {
    name: "the schema of a wait is narrowed",
    says: "its open waits are declared with schemas that accept the recorded answers",
    make: (plan) => ({ ...plan, answer: z.object({ by: z.string().min(3) }) }),
    refuses: (state) =>
      ["waiting", "answered", "handled"].includes(state)
        ? /^an answer that it has got no longer passes: .*by/
        : undefined,
  },
  {
    name: "the schema of a wait is widened",
    says: "its open waits are declared with schemas that accept the recorded answers",
    make: (plan) => ({ ...plan, answer: z.object({ by: z.union([z.string(), z.number()]) }) }),
  },
  {
    name: "a field is added that has a default",
    says: STATE,
    make: (plan) => field(plan, { unit: z.string().default("kg") }),
  },
  {
    name: "a field is added that has none",
    says: `${STATE}; when its input still parses`,
    make: (plan) => field(plan, { unit: z.string() }),
    refuses: () => /unit/,
  },
  {
    name: "a field is added that has none, with a migration",
    says: "recorded as `migrated` with the new state",
    make: (plan) =>
      moves(field(plan, { unit: z.string() }), { state: (s: Notes) => ({ ...s, unit: "kg" }) } as never),
    migrates: true,
  },
  {
    name: "a field is removed",
    says: `${STATE}; a state that the schema would change is a fault; when its input still parses`,
    make: (plan) => field(plan, {}, ["n"]),
    refuses: (state) => begun(state, /\bn\b/),
  },
  {
    name: "a field is renamed",
    says: STATE,
    make: (plan) => field(plan, { count: z.number() }, ["n"]),
    refuses: () => /count/,
  },
  {
    name: "a field is renamed, with a migration",
    says: "recorded as `migrated` with the new state",
    make: (plan) =>
      moves(field(plan, { count: z.number() }, ["n"]), {
        state: ({ n, ...s }: Notes) => ({ ...s, count: n }),
      } as never),
    migrates: true,
  },
  {
    name: "a field is retyped",
    says: STATE,
    make: (plan) => field(plan, { n: z.string() }),
    refuses: () => /\bn\b.*string/,
  },
  {
    name: "a field is retyped, with a migration",
    says: "recorded as `migrated` with the new state",
    make: (plan) =>
      moves(field(plan, { n: z.string() }), { state: (s: Notes) => ({ ...s, n: String(s["n"]) }) } as never),
    migrates: true,
  },
  {
    name: "a migration throws",
    says: "A migration that throws halts the run as `load_fault`, and nothing of it has changed.",
    make: (plan) =>
      moves(plan, {
        state: () => {
          throw new Error("no such customer");
        },
      }),
    migrates: true,
    refuses: () => /no such customer/,
  },
  {
    name: "handlers change places",
    says: "recorded handlers exist by route",
    make: (plan) => vertex(plan, "fails", (v) => ({ ...v, onError: [...v.onError as never[]].reverse() })),
  },
  {
    name: "a handler is removed",
    says: "recorded handlers exist by route",
    make: (plan) =>
      without(
        vertex(plan, "fails", (v) => ({ ...v, onError: (v.onError as never[]).slice(0, 1) })),
        "plan_b",
      ),
    refuses: (state) =>
      state === "handled"
        ? /^vertex fails has failed on its way to plan_b, and no error route of it leads there/
        : undefined,
  },
  {
    name: "a map vertex has other items",
    says: "maps with a recorded item yield the same items",
    make: (plan) => vertex(plan, "each", (v) => ({ ...v, each: (s) => [...s["items"] as number[], 3] })),
    refuses: (state) =>
      state === "mapping" ? /^map vertex each has other items now \(3, it began with 2\)$/ : undefined,
  },
  {
    name: "a workflow that is called is changed, and fits",
    says: "its called runs load or fit",
    make: (plan) => ({ ...plan, inner: { ...plan.inner, version: 2 } }),
  },
  {
    name: "a workflow that is called is changed, and does not fit",
    says: "its called runs load or fit",
    make: (plan) => ({ ...plan, inner: { version: 2, vertex: "question" } }),
    refuses: (state) =>
      state === "calling"
        ? /does not fit: .* does not fit: vertex ask, which it is at, is not in this code$/
        : undefined,
  },
  {
    name: "nothing but the version is changed",
    says: "takes over a run of a lower user version … when its checkpoint fits",
    make: (plan) => plan,
  },
];
