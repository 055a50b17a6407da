import { completed, engine, graphOf, type Notes, notes, type VertexOf } from "./graphs.ts";

/** What a body throws. */
export const boom = new Error("boom");
/** A join. */
export const all = (more: VertexOf<Notes> = {}): VertexOf<Notes> => ({ join: "all", ...more });

/** Runs a graph and returns the steps its vertices ran in. */
export async function stepsOf(
  vertices: Readonly<Record<string, VertexOf<Notes>>>,
  finish?: string | readonly string[],
) {
  const e = engine(graphOf<Notes>({ vertices, ...(finish === undefined ? {} : { finish }) }));
  const result = completed(await e.run(notes()));
  const steps: Record<number, string[]> = {};
  for (const { vertexId, step } of e.bodies) (steps[step] ??= []).push(vertexId);
  return { steps: Object.values(steps), result, e };
}
