/**
 * The canonical form: what the version of a graph hashes.
 *
 * Five sections, separated by a form feed: a tag, then one entry per line.
 *   V  `id`, with ` join=all` and ` each` where they hold
 *   E  `from->to`, a doubled edge twice
 *   C  `from?target,target`
 *   X  `from!handler`, those of one vertex in the order they are asked
 *   R  the entry, then the finishes
 * Everything else is sorted by code units. Ids hold none of the separators, so no two graphs share a form.
 */

import type { CompiledGraph } from "../model/definition.ts";
import { sha256Hex } from "../runtime/hash.ts";
import { type GraphShape, type Topology, topologyOf } from "./topology.ts";

/** The canonical form of a compiled graph. */
export function canonicalForm<S>(graph: CompiledGraph<S>): string {
  return formOf(topologyOf(graph));
}

/** The version of a graph: sha256 of its canonical form, a colon, the user's version. */
export function versionOf(shape: GraphShape, userVersion: number): string {
  return `${sha256Hex(formOf(topologyOf(shape)))}:${userVersion}`;
}

function formOf(t: Omit<Topology, "id" | "version">): string {
  const sections: readonly (readonly [string, readonly string[]])[] = [
    ["V", t.vertices.map((v) => v.id + (v.join === "all" ? " join=all" : "") + (v.each ? " each" : ""))],
    ["E", t.edges.map((e) => `${e.from}->${e.to}`)],
    ["C", t.conditions.map((c) => `${c.from}?${c.targets.join(",")}`)],
    ["X", t.errorRoutes.map((x) => `${x.from}!${x.to}`)],
    ["R", [t.entry, ...t.finishes]],
  ];
  return sections.map(([tag, entries]) => `${tag}\n${entries.join("\n")}`).join("\f");
}

/** The first difference between the form that a run was begun under and that of the code, in words. */
export function describeVersionDifference(recordedForm: string, liveForm: string): string {
  const recorded = sectionsOf(recordedForm);
  const live = sectionsOf(liveForm);
  for (const tag of ["V", "E", "C", "X", "R"]) {
    const difference = firstDifference(tag, recorded.get(tag) ?? [], live.get(tag) ?? []);
    if (difference !== undefined) return difference;
  }
  return recordedForm === liveForm
    ? "the graph is the same, only the version number that its author gave it differs"
    : "the recorded form of the graph is not one that this release writes";
}

/** The vertices of a recorded form, with what it says of each; none where it is not one. */
export function recordedVertices(form: string): ReadonlyMap<string, { readonly each: boolean }> {
  return new Map(
    (sectionsOf(form).get("V") ?? []).map((entry) => {
      const [id = "", ...flags] = entry.split(" ");
      return [id, { each: flags.includes("each") }];
    }),
  );
}

function sectionsOf(form: string): ReadonlyMap<string, readonly string[]> {
  return new Map(
    form.split("\f").map((section) => {
      const [tag = "", ...entries] = section.split("\n");
      return [tag, entries.filter((entry) => entry !== "")];
    }),
  );
}

function firstDifference(
  tag: string,
  recorded: readonly string[],
  live: readonly string[],
): string | undefined {
  if (tag === "R" && recorded[0] !== live[0]) return `the entry was ${recorded[0]}, now it is ${live[0]}`;
  const gone = missingFrom(live, recorded);
  const fresh = missingFrom(recorded, live);
  // The same vertex in both lists has changed; which of its neighbours came or went says less.
  const changed = gone.find((entry) => fresh.some((other) => subject(tag, other) === subject(tag, entry)));
  if (changed !== undefined) {
    const now = fresh.find((other) => subject(tag, other) === subject(tag, changed)) ?? "";
    return `${worded(tag, changed)} has become ${worded(tag, now)}`;
  }
  if (gone[0] !== undefined) return `${worded(tag, gone[0])} was removed`;
  if (fresh[0] !== undefined) return `${worded(tag, fresh[0])} was added`;
  const moved = recorded.findIndex((entry, i) => entry !== live[i]);
  if (moved === -1) return undefined;
  return `${worded(tag, recorded[moved] ?? "")} and ${worded(tag, live[moved] ?? "")} have changed places`;
}

/** The entries of `list` that `other` has fewer of. */
function missingFrom(other: readonly string[], list: readonly string[]): readonly string[] {
  const rest = [...other];
  return list.filter((entry) => {
    const at = rest.indexOf(entry);
    if (at === -1) return true;
    rest.splice(at, 1);
    return false;
  });
}

function subject(tag: string, entry: string): string {
  return tag === "R" ? entry : entry.split(/ |->|\?|!/, 1)[0] ?? entry;
}

function worded(tag: string, entry: string): string {
  const of = (separator: string) => entry.split(separator) as [string, string];
  switch (tag) {
    case "V": {
      const [id, ...flags] = entry.split(" ");
      return `vertex ${id}` + (flags.length > 0 ? ` (${flags.join(", ")})` : "");
    }
    case "E":
      return `the edge ${of("->").join(" -> ")}`;
    case "C": {
      const [from, targets] = of("?");
      return `the condition of ${from} over ${targets.split(",").join(", ")}`;
    }
    case "X": {
      const [from, to] = of("!");
      return `the error route ${from} -> ${to}`;
    }
    default:
      return `the finish ${entry}`;
  }
}
