/** The fields of a form from a JSON Schema. The same schema always makes the same fields, whatever else happened. */

import type { Json } from "../../../model/json.ts";
import { entriesFor, initialEntries } from "./entries.ts";
import {
  type Choice,
  type Common,
  type Field,
  type GroupField,
  meaningsOf,
  nameWithin,
  UNTITLED,
  type Variant,
  type VariantsField,
} from "./fields.ts";
import { choicesOf, discriminatorOf, isNull, MAX_CHOICES } from "./choices.ts";
import { isObject, type Place, propertiesOf, requiredOf, type Schema, Schemas, tagOf } from "./schema.ts";
import { sketchOf } from "./sketch.ts";
import {
  describe,
  helpOf,
  initialOf,
  isTextual,
  numeric,
  sizeOf,
  tagged,
  textual,
  titleOf,
  wordFor,
} from "./traits.ts";
import { shown, shownName, shownValue } from "./safe_text.ts";

/** The most fields of a form, those of variants included. */
const MAX_FIELDS = 200;
const MAX_DEPTH = 8;

/** The field of a whole value. Whatever is too much for fields of its own is typed as JSON. */
export function modelOf(schema: unknown): Field {
  const builder = new Builder(schema);
  return builder.field(schema, builder.schemas.root, ROOT, 0);
}

/** A default, if a form can be filled with it, and in words. */
interface Default {
  readonly initial: Json | undefined;
  readonly text: string;
}

type At = Pick<Common, "name" | "path" | "label" | "required">;

const ROOT: At = { name: "value", path: [], label: UNTITLED, required: true };

class Builder {
  readonly schemas: Schemas;
  readonly #defaults = new WeakMap<object, Default>();
  #fieldsLeft = MAX_FIELDS;
  #choicesLeft = MAX_CHOICES * 10;

  constructor(schema: unknown) {
    this.schemas = new Schemas(schema);
  }

  /** The field of a schema, with the default that it can be filled with; another one is told in words. */
  field(schema: unknown, place: Place | undefined, at: At, depth: number): Field {
    const told = place?.schema ?? (isObject(schema) ? schema : {});
    const { initial, text } = this.#defaultOf(told);
    const plain = this.#fieldOf(place, { ...at, ...describe(told, at) }, depth);
    const full = initial === undefined ? plain : { ...plain, initial };
    const isFilled = initial !== undefined && entriesFor(full, initial) !== undefined;
    const field = explained(isFilled ? full : plain);
    if (field.required || !("default" in told) || isFilled && !mayBeEmptied(field)) return field;
    return { ...field, ...helpOf(field.help, `If left out: ${text}`) };
  }

  /** A default. References can make a large one stand in many places. */
  #defaultOf(schema: Schema): Default {
    const key = schema["default"];
    const large = typeof key === "object" && key !== null ? key : undefined;
    const known = large === undefined ? undefined : this.#defaults.get(large);
    if (known !== undefined) return known;
    const found = { initial: initialOf(schema), text: key === undefined ? "" : shownValue(key) };
    if (large !== undefined) this.#defaults.set(large, found);
    return found;
  }

  #fieldOf(place: Place | undefined, at: Common, depth: number): Field {
    const members = place === undefined ? undefined : this.schemas.membersOf(place);
    if (place === undefined || members === undefined) return this.#json(place, at);
    const choices = this.#choices(members);
    if (choices !== undefined) return { ...at, kind: "choice", choices };
    const rest = members.filter((member) => !isNull(member));
    const nullable = rest.length < members.length;
    const [only, ...others] = rest;
    if (only === undefined) return this.#json(place, at);
    if (others.length > 0) return this.#variants(rest, nullable, at, depth) ?? this.#json(place, at);
    // What is said of the whole goes before what is said of the one that is not null.
    const told = only === place ? at : { ...at, ...describe(place.schema, describe(only.schema, at)) };
    const field = this.#plain(only, { ...describe(only.schema, at), ...told }, nullable, depth);
    if (field.kind !== "group" || !nullable && at.required) return field;
    return this.#oneOf(at, nullable, [{
      key: ":",
      label: "Fill it in",
      field: { ...field, required: true },
    }]);
  }

  /** The field of a schema that is no choice. */
  #plain(place: Place, at: Common, nullable: boolean, depth: number): Field {
    const { schema } = place;
    switch (schema["type"] ?? (isTextual(schema) ? "string" : "object")) {
      case "string":
        return { ...at, ...textual(schema, at), nullable };
      case "number":
      case "integer":
        return { ...at, ...numeric(schema, at), nullable, mayBeEmpty: false };
      case "array":
        return this.#list(place, at, nullable);
      case "object": {
        const tag = tagOf(schema);
        if (tag === "$date" || tag === "$bigint") return { ...at, ...tagged(tag, at), nullable };
        return this.#group(place, at, depth) ?? this.#json(place, at);
      }
      default:
        return this.#json(place, at);
    }
  }

  #json(place: Place | undefined, at: Common): Field {
    const sketch = place === undefined ? undefined : sketchOf(this.schemas, place);
    return {
      ...at,
      kind: "json",
      ...helpOf(
        at.help,
        sketch === undefined ? "JSON" : `JSON, such as ${sketch}`,
        sizeOf(place?.schema ?? {}),
      ),
    };
  }

  #list(place: Place, at: Common, nullable: boolean): Field {
    const { items, prefixItems, minItems } = place.schema;
    const item = prefixItems === undefined ? this.schemas.resolve(items, place.refs)?.schema : undefined;
    const of = item?.["type"];
    if (of !== "string" && of !== "number" && of !== "integer") return this.#json(place, at);
    const choices = item!["enum"] ?? ("const" in item! ? [item["const"]] : []);
    if (!Array.isArray(choices) || choices.some((one) => String(one).includes("\n"))) {
      return this.#json(place, at);
    }
    const some = choices.length === 0
      ? ""
      : `: ${shown(choices.slice(0, 50).map((one) => shownValue(one)).join(", "), 500)}`;
    const help = helpOf(at.help, `One per line${some}`, sizeOf(place.schema));
    return { ...at, kind: "list", of, ...help, nullable, mayBeEmpty: !(Number(minItems) > 0) };
  }

  /** The fields of an object; nothing when they would be too many, too deep, or one has no name for a control. */
  #group(
    place: Place,
    at: Common,
    depth: number,
    tag?: { key: string; choice: Choice },
  ): GroupField | undefined {
    const properties = propertiesOf(place.schema);
    if (properties === undefined || tagOf(place.schema) !== undefined || depth >= MAX_DEPTH) return undefined;
    const keys = Object.keys(properties);
    const names = keys.map((key) => nameWithin(at.name, "/", key));
    if (keys.length > this.#fieldsLeft || names.includes(undefined)) return undefined;
    this.#fieldsLeft -= keys.length;
    const required = requiredOf(place.schema);
    const fields = keys.map((key, i): Field => {
      const within = {
        name: names[i]!,
        path: [...at.path, key],
        label: shownName(key),
        required: required.has(key),
      };
      if (key === tag?.key) return { ...within, kind: "fixed", value: tag.choice.value };
      const inner = this.schemas.resolve(properties[key], place.refs);
      return this.field(properties[key], inner, within, depth + 1);
    });
    return { ...at, kind: "group", fields: fields.map((field) => apart(field, fields)) };
  }

  /** Values of different make; nothing when there is no telling them apart in words. */
  #variants(members: readonly Place[], nullable: boolean, at: Common, depth: number): Field | undefined {
    if (depth >= MAX_DEPTH || members.length > this.#fieldsLeft) return undefined;
    this.#fieldsLeft -= members.length;
    const objects = members.filter(({ schema }) =>
      propertiesOf(schema) !== undefined && tagOf(schema) === undefined
    );
    const tag = discriminatorOf(this.schemas, objects);
    const options: Variant[] = [];
    for (const member of members) {
      const values = this.#choices([member]);
      if (values !== undefined) {
        options.push(...values.map(({ text, label, value }): Variant => (
          { key: `=${text}`, label, field: { ...at, kind: "fixed", value } }
        )));
        continue;
      }
      const { help: _, ...plain } = at;
      const choice = tag?.choices.get(member);
      const label = titleOf(member.schema) ?? choice?.label ?? wordFor(member.schema);
      const key = nameWithin("", ":", label);
      const name = nameWithin(at.name, ":", label);
      if (key === undefined || name === undefined) return undefined;
      const within = { ...plain, ...describe(member.schema, { ...at, label }), name, label, required: true };
      const group = choice === undefined
        ? undefined
        : this.#group(member, within, depth + 1, { key: tag!.key, choice });
      options.push({ key, label, field: group ?? this.#plain(member, within, false, depth + 1) });
    }
    const isClear = new Set(options.map(({ key }) => key)).size === options.length &&
      options.length <= MAX_CHOICES;
    return isClear ? this.#oneOf(at, nullable, options) : undefined;
  }

  #oneOf(at: Common, nullable: boolean, options: readonly Variant[]): VariantsField {
    const untouched = new Map(options.flatMap(({ field }) => [...initialEntries(field)]));
    return { ...at, kind: "variants", nullable, options, untouched };
  }

  #choices(members: readonly Place[]): readonly Choice[] | undefined {
    const choices = choicesOf(members);
    if (choices === undefined || choices.length > this.#choicesLeft) return undefined;
    this.#choicesLeft -= choices.length;
    return choices;
  }
}

/** A field that has the label of another one beside it is told by its key too. */
function apart(field: Field, fields: readonly Field[]): Field {
  if (fields.every((other) => other === field || other.label !== field.label)) return field;
  return { ...field, label: `${field.label} (${shownName(field.path.at(-1)!)})` };
}

/** A field that says that it means `null` when it is empty, where that is not chosen. */
function explained(field: Field): Field {
  const isNull = "nullable" in field && field.kind !== "variants" && meaningsOf(field).join() === "null";
  return isNull ? { ...field, ...helpOf(field.help, "If left empty: none (null)") } : field;
}

/** Whether a field that is filled with its default may be emptied so that the default comes back. */
function mayBeEmptied(field: Field): boolean {
  switch (field.kind) {
    case "text":
    case "number":
    case "list":
      return meaningsOf(field).includes("absent");
    case "json":
    case "variants":
      return true;
    default:
      return false;
  }
}
