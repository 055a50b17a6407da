import { span } from "../../model/amounts.ts";
import type { Checkpoint, GraphBody, RunBody } from "../wire.ts";
import type { Html } from "./html.ts";
import { table } from "./page.ts";
import { vertexBadge } from "./format.ts";

/** What the records say of a vertex: of the newest step that it was part of. */
interface Tally {
  readonly step: number;
  attempts: number;
  /** Milliseconds that its newest execution took. */
  took?: number;
  items?: number;
  itemsDone: number;
}

/** The vertices of a graph, and how they stand in a run. */
export function vertexTable(graph: GraphBody, run: RunBody, checkpoints: readonly Checkpoint[]): Html {
  const tallies = tallied(checkpoints);
  const times = new Map<string, number>();
  for (const id of run.path) times.set(id, (times.get(id) ?? 0) + 1);
  return table(
    "Vertices",
    ["Vertex", "Status", "Runs", "Attempts", "Took"],
    inOrder(graph).map(({ id, label, each }) => {
      const tally = tallies.get(id);
      const items = each && tally?.items !== undefined ? `, ${tally.itemsDone} of ${tally.items} items` : "";
      return [
        label === "" || label === id ? id : `${label} (${id})`,
        [vertexBadge(run.vertices[id]), items],
        times.get(id) ?? "",
        tally === undefined || tally.attempts === 0 ? "" : tally.attempts,
        tally?.took === undefined ? "" : span(tally.took),
      ];
    }),
  );
}

/** The vertices as runs reach them. */
function inOrder({ entry, vertices, edges, conditions, errorRoutes }: GraphBody): GraphBody["vertices"] {
  const next = [
    ...edges,
    ...conditions.flatMap(({ from, targets }) => targets.map((to) => ({ from, to }))),
    ...errorRoutes,
  ];
  const order = new Set([entry]);
  // What is added while a set is gone through is gone through, too.
  for (const id of order) for (const { from, to } of next) if (from === id) order.add(to);
  const known = new Map(vertices.map((vertex) => [vertex.id, vertex]));
  return [...order].flatMap((id) => known.get(id) ?? []);
}

function tallied(checkpoints: readonly Checkpoint[]): ReadonlyMap<string, Tally> {
  const tallies = new Map<string, Tally>();
  for (const { step, events } of checkpoints) {
    for (const event of events) {
      const { type, vertexId } = event;
      if (vertexId === undefined) continue;
      const known = tallies.get(vertexId);
      const tally: Tally = known?.step === step ? known : { step, attempts: 0, itemsDone: 0 };
      tallies.set(vertexId, tally);
      if (type === "mapped") tally.items = Number(event["count"]);
      if (type === "done") {
        tally.itemsDone++;
        tally.attempts = Math.max(tally.attempts, Number(event["attempt"]));
      }
      if (type === "attempt_failed" || type === "failed") {
        const { attempt } = event["failure"] as { readonly attempt: number };
        tally.attempts = Math.max(tally.attempts, attempt);
      }
      if (type === "done" || type === "failed" || type === "suspended") {
        tally.took = Number(event["at"]) - Number(event["startedAt"]);
      }
    }
  }
  return tallies;
}
