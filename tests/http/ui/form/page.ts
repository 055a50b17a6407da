/** A form as a browser has it: parsed, filled in and submitted by the rules of HTML. */

import assert from "node:assert/strict";
import type { z } from "zod";
import { jsonSchemaOf } from "../../../../src/checkpoint/validate.ts";
import { entriesFor } from "../../../../src/http/ui/form/entries.ts";
import { fieldsOf, type Filled, valueOf } from "../../../../src/http/ui/form/mod.ts";
import { modelOf } from "../../../../src/http/ui/form/model.ts";
import { fromJson, type Json } from "../../../../src/model/json.ts";
import { allOf, parseXml, type XmlElement } from "../../../support/xml.ts";

/** What is wrong, as the API says it. */
export type Issues = readonly { readonly path: string; readonly message: string }[];

/** The JSON Schema of what a schema takes, as it comes from the API. */
export function schemaOf(schema: unknown): unknown {
  const made = jsonSchemaOf(schema);
  return made === undefined ? undefined : JSON.parse(JSON.stringify(made));
}

/** What a form of a schema must hold to stand for a value, given as tagged JSON; nothing when it cannot say it. */
export function entriesOf(schema: unknown, value: Json): ReadonlyMap<string, string> | undefined {
  return entriesFor(modelOf(schema), value);
}

/** A form on a page. */
export class FormPage {
  readonly root: XmlElement;
  readonly #schema: unknown;
  readonly #typed = new Map<string, string>();

  constructor(schema: unknown, filled?: Filled, id = "f") {
    this.#schema = schema;
    this.root = parseXml(`<form>${fieldsOf(schema, id, filled)}</form>`);
    assertUsable(this.root);
  }

  /** The elements of a name of HTML. */
  all(name: string): readonly XmlElement[] {
    return allOf(this.root).filter((element) => element.name === name);
  }

  /** What the elements of a name say, as it is seen. */
  texts(name: string): readonly string[] {
    return this.all(name).map(({ text }) => text.trim().replace(/\s+/g, " "));
  }

  /** The controls of a name, or all of them. */
  controls(name?: string): readonly XmlElement[] {
    return allOf(this.root).filter(({ attributes }) =>
      attributes["name"] !== undefined && (name === undefined || attributes["name"] === name)
    );
  }

  /** The names of the controls, each once. */
  get names(): readonly string[] {
    return [...new Set(this.controls().map(({ attributes }) => attributes["name"]!))];
  }

  /** The only control of a name. */
  control(name: string): XmlElement {
    const [only, ...others] = this.controls(name);
    assert.ok(
      only !== undefined && others.length === 0,
      `there is one control ${name} among ${this.names.join(", ")}`,
    );
    return only;
  }

  /** Types, or chooses what has the value. */
  fill(typed: Typed): this {
    for (const [name, text] of Object.entries(typed)) {
      const controls = this.controls(name);
      assert.ok(controls.length > 0, `there is a control ${name} among ${this.names.join(", ")}`);
      const values = controls.flatMap((control) =>
        control.name === "select" ? control.children : control.attributes["type"] === "radio" ? [control] : []
      );
      if (values.length > 0) {
        assert.ok(
          values.some(({ attributes }) => attributes["value"] === text),
          `${name} offers ${text} among ${values.map(({ attributes }) => attributes["value"]).join(", ")}`,
        );
      }
      this.#typed.set(name, text);
    }
    return this;
  }

  /** What the browser sends. */
  submit(): URLSearchParams {
    const sent = new URLSearchParams();
    for (const name of this.names) {
      const text = this.#typed.get(name) ?? this.#held(name);
      if (text !== undefined) sent.append(name, text.replaceAll("\n", "\r\n"));
    }
    return new URLSearchParams(sent.toString());
  }

  /** The value that it stands for. */
  value(): unknown {
    const result = valueOf(this.#schema, this.submit());
    if ("issues" in result) assert.fail(JSON.stringify(result.issues));
    return fromJson(JSON.parse(JSON.stringify(result.value)), "the value");
  }

  /** What is wrong with it. */
  issues(): Issues {
    const result = valueOf(this.#schema, this.submit());
    assert.ok("issues" in result, "it has issues");
    return result.issues;
  }

  /** What a control holds, cleaned as browsers do. */
  #held(name: string): string | undefined {
    const controls = this.controls(name);
    const [first] = controls;
    if (first!.name === "select") {
      const options = first!.children;
      const chosen = options.find(({ attributes }) => "selected" in attributes) ?? options[0];
      return chosen?.attributes["value"];
    }
    if (first!.attributes["type"] === "radio") {
      return controls.findLast(({ attributes }) => "checked" in attributes)?.attributes["value"];
    }
    const text = textHeld(first!);
    return first!.name === "textarea" ? text : cleaned(first!.attributes["type"] ?? "text", text);
  }
}

/** What is typed or chosen, by the name of the control. */
export type Typed = Readonly<Record<string, string>>;

/** A form of the schema that is filled in and submitted; its value must satisfy the schema, which gives it back. */
export function submitted<T extends z.ZodType>(schema: T, typed: Typed = {}): z.output<T> {
  return schema.parse(new FormPage(schemaOf(schema)).fill(typed).value());
}

/** What a form of the schema has against what is filled in. */
export function refused(schema: z.ZodType, typed: Typed = {}): readonly string[] {
  return new FormPage(schemaOf(schema)).fill(typed).issues().map(({ path, message }) =>
    `${path}: ${message}`
  );
}

/** The text in a control. */
export function textHeld({ name, text, attributes }: XmlElement): string {
  return name === "textarea" ? text.replace(/^\n/, "") : attributes["value"] ?? "";
}

function cleaned(type: string, text: string): string {
  const line = text.replaceAll("\n", "");
  switch (type) {
    case "number":
      return /^-?(\d+|\d*\.\d+)([eE][+-]?\d+)?$/.test(line) ? line : "";
    case "email":
    case "url":
      return line.trim();
    case "date":
      return /^\d{4}-\d\d-\d\d$/.test(line) ? line : "";
    case "datetime-local":
      return /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?$/.test(line) ? shortest(line) : "";
    default:
      return line;
  }
}

function shortest(time: string): string {
  return time.replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "").replace(/(T\d\d:\d\d):00$/, "$1");
}

/** Every control has a label, every group a legend, every reference leads somewhere, and no id is twice. */
function assertUsable(root: XmlElement): void {
  const all = allOf(root);
  const ids = all.flatMap(({ attributes }) => attributes["id"] ?? []);
  assert.equal(new Set(ids).size, ids.length, "no id is twice");
  const labelled = new Set(
    all.flatMap(({ name, attributes }) => name === "label" ? attributes["for"] ?? [] : []),
  );
  const inLabels = new Set(all.flatMap((element) => element.name === "label" ? element.children : []));
  for (const element of all) {
    const { name, attributes, children } = element;
    if (attributes["name"] !== undefined) {
      assert.ok(
        inLabels.has(element) || labelled.has(attributes["id"]!),
        `${attributes["name"]} has a label`,
      );
      assert.match(attributes["name"], /^value[\x21-\x7e]*$/);
    }
    if (name === "fieldset") assert.equal(children[0]?.name, "legend");
    for (const id of attributes["aria-describedby"]?.split(" ") ?? []) {
      assert.ok(ids.includes(id), `#${id} is there`);
    }
  }
}
