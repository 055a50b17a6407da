import type { ExecutionStatus } from "../model/checkpoint.ts";
import type { CompiledGraph } from "../model/definition.ts";
import { END } from "../model/ids.ts";
import { STATUS_PAINTS } from "./palette.ts";
import { topology } from "./topology.ts";

/**
 * A Mermaid flowchart of a graph. Solid arrows are static edges, dotted ones are conditional, `error` ones are error
 * routes. Map vertices are drawn as subroutines, joins as hexagons, finishes as stadiums, the `END` of branches as a ring.
 *
 * @param statuses the status of vertices in a run, by id; it colours them
 */
export function mermaid<S>(
  graph: CompiledGraph<S>,
  statuses: Readonly<Record<string, ExecutionStatus>> = {},
): string {
  const { entry, finishes, vertices, edges, conditions, errorRoutes } = topology(graph);
  // Ids may be words that Mermaid reserves, such as `end`, so nodes are numbered.
  const node = new Map([...vertices.map(({ id }, i) => [id, `v${i}`] as const), [END, "stop"]]);
  const lines = ["flowchart TD", "  start(( ))"];
  for (const { id, label, join, each } of vertices) {
    const [open, close] = each
      ? ["[[", "]]"]
      : join === "all"
      ? ["{{", "}}"]
      : finishes.includes(id)
      ? ["([", "])"]
      : ["[", "]"];
    lines.push(`  ${node.get(id)}${open}"${escaped(label === "" ? id : label)}"${close}`);
  }
  if ([...edges.map(({ to }) => to), ...conditions.flatMap((c) => c.targets)].includes(END)) {
    lines.push("  stop((( )))");
  }
  lines.push(`  start --> ${node.get(entry)}`);
  for (const { from, to } of edges) lines.push(`  ${node.get(from)} --> ${node.get(to)}`);
  for (const { from, targets } of conditions) {
    for (const to of targets) lines.push(`  ${node.get(from)} -.-> ${node.get(to)}`);
  }
  for (const { from, to } of errorRoutes) lines.push(`  ${node.get(from)} -- error --> ${node.get(to)}`);
  const used = new Set<ExecutionStatus>();
  for (const { id } of vertices) {
    const status = Object.hasOwn(statuses, id) ? statuses[id] : undefined;
    if (status === undefined) continue;
    used.add(status);
    lines.push(`  class ${node.get(id)} ${status}`);
  }
  for (const status of [...used].sort()) {
    const { fill, line } = STATUS_PAINTS[status];
    lines.push(`  classDef ${status} fill:${fill},stroke:${line}`);
  }
  return lines.join("\n") + "\n";
}

function escaped(text: string): string {
  return text.replace(/[#"<>&\r\n]/g, (c) => `#${c.charCodeAt(0)};`);
}
