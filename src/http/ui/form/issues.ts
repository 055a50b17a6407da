/** Which field an issue is about. */

import type { Issue } from "../../wire.ts";
import { chooserOf, type Field } from "./fields.ts";
import { isStepTo, pathText, type Step, stepsOf } from "./path.ts";
import type { Entries } from "./value.ts";
import { shown } from "./safe_text.ts";

/** Issues in words, where they belong. */
export interface Placed {
  readonly at: ReadonlyMap<Field, readonly string[]>;
  /** Those of no field. */
  readonly others: readonly string[];
}

const MAX_ISSUES = 100;

/** Sorts issues by the fields that are asked for; one about something inside a field, or missing there, is that field's. */
export function place(root: Field, issues: readonly Issue[], entries: Entries): Placed {
  const at = new Map<Field, string[]>();
  const others: string[] = [];
  for (const { path, message } of issues.slice(0, MAX_ISSUES)) {
    const steps = stepsOf(path);
    const [field, level] = locate(root, steps, 0, entries);
    const said = shown(message, 500);
    if (field === root && field.kind === "group") {
      others.push(path === "" ? said : `${shown(path, 200)}: ${said}`);
    } else {
      const within = placeWithin(field, steps.slice(level));
      at.set(field, [...at.get(field) ?? [], within === "" ? said : `${shown(within, 200)}: ${said}`]);
    }
  }
  return { at, others };
}

function placeWithin(field: Field, steps: readonly Step[]): string {
  const [index] = steps;
  return field.kind === "list" && typeof index === "number" ? `line ${index + 1}` : pathText(steps);
}

function locate(
  field: Field,
  steps: readonly Step[],
  level: number,
  entries: Entries,
): readonly [Field, number] {
  if (field.kind === "group") {
    const inner = field.fields.find(({ kind, path }) =>
      kind !== "fixed" && isStepTo(steps[level], path.at(-1)!)
    );
    if (inner !== undefined) return locate(inner, steps, level + 1, entries);
  }
  if (field.kind === "variants") {
    const chosen = entries.get(chooserOf(field));
    const inner = field.options.find(({ key }) => key === chosen)?.field;
    if (inner !== undefined && inner.kind !== "fixed" && (inner.kind !== "group" || level < steps.length)) {
      return locate(inner, steps, level, entries);
    }
  }
  return [field, level];
}
