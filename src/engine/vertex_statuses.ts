import { type Checkpoint, type ExecutionStatus, verticesOf } from "../model/checkpoint.ts";

/** What a map vertex shows when its items differ. */
const STATUS_PRECEDENCE: readonly ExecutionStatus[] = ["failed", "suspended", "backoff"];

/** What pictures show of a run: the vertices of the newest step by how they stand, those that ran before as done. */
export function statusesOf(checkpoint: Checkpoint): Readonly<Record<string, ExecutionStatus>> {
  const statuses = new Map<string, ExecutionStatus>(verticesOf(checkpoint.path).map((id) => [id, "done"]));
  const counts = new Map<string, Map<ExecutionStatus, number>>(
    checkpoint.frontier.map((id) => [id, new Map()]),
  );
  for (const { vertexId, status } of checkpoint.executions.values()) {
    const found = counts.get(vertexId);
    found?.set(status, (found.get(status) ?? 0) + 1);
  }
  for (const [id, found] of counts) {
    const rest = found.get("done") === (checkpoint.maps.get(id)?.count ?? 1) ? "done" : "pending";
    statuses.set(id, STATUS_PRECEDENCE.find((status) => found.has(status)) ?? rest);
  }
  return Object.fromEntries(statuses);
}
