import type { Checkpoint, ExecutionStatus } from "../model/checkpoint.ts";

/** What a map vertex shows when its items differ. */
const LOUDEST: readonly ExecutionStatus[] = ["failed", "suspended", "backoff"];

/** What pictures show of a run: the vertices of the newest step by how they stand, those that ran before as done. */
export function statusesOf(checkpoint: Checkpoint): Readonly<Record<string, ExecutionStatus>> {
  const statuses = new Map<string, ExecutionStatus>(checkpoint.path.map((id) => [id, "done"]));
  for (const id of checkpoint.frontier) {
    const found = [...checkpoint.executions.values()].filter((x) => x.vertexId === id).map((x) => x.status);
    const all = checkpoint.maps.get(id)?.count ?? 1;
    const rest: ExecutionStatus = found.length === all && found.every((s) => s === "done")
      ? "done"
      : "pending";
    statuses.set(id, LOUDEST.find((status) => found.includes(status)) ?? rest);
  }
  return Object.fromEntries(statuses);
}
