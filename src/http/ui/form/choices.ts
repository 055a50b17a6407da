/** Schemas that allow certain values only. */

import type { Json } from "../../../model/json.ts";
import type { Choice } from "./fields.ts";
import { isObject, type Place, propertiesOf, requiredOf, type Schema, type Schemas } from "./schema.ts";
import { shownName, shownValue } from "./safe_text.ts";

/** The most values that can be chosen among. */
export const MAX_CHOICES = 200;
/** The longest value that can be chosen, as JSON. */
const MAX_LENGTH = 1_000;
/** How many properties are looked at for one that tells objects apart. */
const MAX_TAGS = 50;

/** The values that schemas allow, when each allows certain ones only, and they are few and short. */
export function choicesOf(members: readonly Place[]): readonly Choice[] | undefined {
  const choices = new Map<string, Choice>();
  for (const { schema } of members) {
    const values = valuesOf(schema);
    if (values === undefined || choices.size + values.length > MAX_CHOICES) return undefined;
    for (const value of values) {
      const text = isFlat(value) ? JSON.stringify(value) : undefined;
      if (text === undefined || text.length > MAX_LENGTH) return undefined;
      const label = labelOf(value, values.length === 1 ? schema : {});
      choices.set(text, { text, label, value: value as Json });
    }
  }
  if (choices.size === 0) return undefined;
  const labels = new Map<string, number>();
  for (const { label } of choices.values()) labels.set(label, (labels.get(label) ?? 0) + 1);
  // Two values that look the same, such as true and "true", are shown as JSON.
  return [...choices.values()].map((choice) =>
    labels.get(choice.label) === 1 ? choice : { ...choice, label: shownName(choice.text) }
  );
}

/** Whether it allows nothing but `null`. */
export function isNull({ schema }: Place): boolean {
  return schema["type"] === "null" || "const" in schema && schema["const"] === null;
}

/** The property that tells two or more objects apart: in each of them it must have one value, another one than in the others. */
export function discriminatorOf(
  schemas: Schemas,
  objects: readonly Place[],
): { readonly key: string; readonly choices: ReadonlyMap<Place, Choice> } | undefined {
  const [first, second] = objects;
  if (first === undefined || second === undefined) return undefined;
  const required = new Map(objects.map((object) => [object, requiredOf(object.schema)]));
  for (const key of Object.keys(propertiesOf(first.schema)!).slice(0, MAX_TAGS)) {
    const choices = new Map<Place, Choice>();
    for (const object of objects) {
      const properties = propertiesOf(object.schema)!;
      const place = Object.hasOwn(properties, key) && required.get(object)!.has(key)
        ? schemas.resolve(properties[key], object.refs)
        : undefined;
      const [choice, ...more] = (place === undefined ? undefined : choicesOf([place])) ?? [];
      if (choice === undefined || more.length > 0) break;
      const label = typeof choice.value === "string" ? choice.label : `${shownName(key)}: ${choice.label}`;
      choices.set(object, { ...choice, label });
    }
    const texts = new Set([...choices.values()].map(({ text }) => text));
    if (texts.size === objects.length) return { key, choices };
  }
  return undefined;
}

function valuesOf(schema: Schema): readonly unknown[] | undefined {
  if ("const" in schema) return [schema["const"]];
  if (Array.isArray(schema["enum"])) return schema["enum"];
  if (schema["type"] === "boolean") return [true, false];
  return schema["type"] === "null" ? [null] : undefined;
}

function labelOf(value: unknown, { title }: Schema): string {
  if (typeof title === "string" && title.trim() !== "") return shownName(title);
  if (typeof value === "boolean") return value ? "Yes" : "No";
  return value === null ? "None (null)" : shownValue(value);
}

/** Values that can be chosen are simple; larger ones could be endlessly deep. */
function isFlat(value: unknown): boolean {
  if (Array.isArray(value)) return value.every((item) => typeof item !== "object" || item === null);
  return !isObject(value) || Object.values(value).every((item) => typeof item !== "object" || item === null);
}
