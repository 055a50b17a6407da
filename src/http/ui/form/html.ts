/**
 * Fields as HTML that needs no script: labels, help and issues belong to their controls, groups have legends, and what
 * must be given says so in words. All texts are escaped by the template, also those of schemas.
 */

import { attributes, controlOf } from "./controls.ts";
import {
  type ChoiceField,
  chooserOf,
  type Field,
  type GroupField,
  type Meaning,
  meaningsOf,
  UNTITLED,
  type VariantsField,
} from "./fields.ts";
import type { Placed } from "./issues.ts";
import { type Entries, entryOf } from "./value.ts";
import { type Html, markup } from "../html.ts";

/** Draws the field of a whole value, filled in, with what is wrong. `id` begins the ids of its elements. */
export function draw(root: Field, id: string, entries: Entries, issues: Placed): Html {
  return new Pen(id, entries, issues).draw(root);
}

/** How many choices are shown beside each other; more are a list to choose from. */
const MAX_RADIOS = 5;

/** What a control and the texts that belong to it are told by. */
interface Marks {
  readonly id: string;
  readonly help: Html;
  readonly issue: Html;
  readonly hasIssue: boolean;
  /** The ids of help and issue. */
  readonly describedBy: string | undefined;
}

/** A radio button. */
interface Radio {
  readonly value: string;
  readonly label: string;
}

class Pen {
  readonly #id: string;
  readonly #entries: Entries;
  readonly #issues: Placed;
  #drawn = 0;

  constructor(id: string, entries: Entries, issues: Placed) {
    this.#id = id;
    this.#entries = entries;
    this.#issues = issues;
  }

  draw(root: Field): Html {
    const { others } = this.#issues;
    const list = markup`<div class="issue" role="alert">
<ul>${others.map((text) => markup`<li>${text}</li>`)}</ul>
</div>`;
    const fields = root.kind === "group" && root.label === UNTITLED
      ? this.#untitled(root)
      : this.#field(root, true);
    return markup`${others.length === 0 ? "" : list}${fields}`;
  }

  /** The fields of a value that is nothing but them need no group. */
  #untitled({ fields, help }: GroupField): Html {
    const text = fields.length === 0 ? "Nothing needs to be filled in." : help;
    return markup`${text === undefined ? "" : markup`<p class="help">${text}</p>`}${
      fields.map((field) => this.#field(field, true))
    }`;
  }

  /** @param always Whether it is read whatever else is chosen: browsers may insist on no other field. */
  #field(field: Field, always: boolean): Html {
    switch (field.kind) {
      case "fixed":
        return markup``;
      case "group":
        return this.#group(field, always);
      case "variants":
        return this.#variants(field);
      case "choice":
        return field.choices.length > MAX_RADIOS ? this.#select(field, always) : this.#choice(field, always);
      case "json":
        return this.#labelled(field, field.required, always);
      default: {
        const meanings = meaningsOf(field);
        const mustBeGiven = meanings.length === 0 || field.required && field.nullable;
        return this.#labelled(field, mustBeGiven, always && meanings.length === 0);
      }
    }
  }

  #labelled(
    field: Exclude<Field, { readonly kind: "fixed" | "group" | "variants" | "choice" }>,
    mustBeGiven: boolean,
    insist: boolean,
  ): Html {
    const { id, help, issue, hasIssue, describedBy } = this.#marks(field);
    const control = controlOf(field, entryOf(this.#entries, field.name), {
      id,
      required: insist && mustBeGiven ? "" : undefined,
      "aria-describedby": describedBy,
      "aria-invalid": hasIssue ? "true" : undefined,
    }, hasIssue);
    const empty = field.kind !== "json" && field.nullable
      ? this.#empty(field.label, field.name, meaningsOf(field))
      : "";
    return markup`<div class="field">
<label for="${id}">${field.label}${required(mustBeGiven)}</label>${help}
${control}${issue}${empty}
</div>`;
  }

  /** What an empty text is to mean, where that is several things. */
  #empty(label: string, name: string, meanings: readonly Meaning[]): Html {
    const chooser = `${name}?`;
    const chosen = entryOf(this.#entries, chooser) || "absent";
    const radios = meanings.map((value) => ({ value, label: MEANINGS[value] }));
    return markup`<fieldset class="choices"><legend>If ${label} is empty</legend>
${radios.map((radio) => this.#radio(chooser, radio, chosen))}</fieldset>`;
  }

  #radio(name: string, { value, label }: Radio, chosen: string | undefined, insist = false): Html {
    const more = { checked: value === chosen ? "" : undefined, required: insist ? "" : undefined };
    return markup`<label><input type="radio" name="${name}" value="${value}"${
      attributes(more)
    }/> ${label}</label>`;
  }

  #choice(field: ChoiceField, always: boolean): Html {
    const { help, issue, hasIssue, describedBy } = this.#marks(field);
    const chosen = entryOf(this.#entries, field.name);
    const radios = field.choices.map(({ text, label }) => ({ value: text, label }));
    if (mayBeLeftOut(field)) radios.push({ value: "", label: "Not given" });
    const group = {
      "aria-describedby": describedBy,
      "aria-invalid": hasIssue ? "true" : undefined,
      "aria-required": field.required ? "true" : undefined,
    };
    return markup`<fieldset class="field" role="radiogroup"${attributes(group)}>
<legend>${field.label}${required(field.required)}</legend>${help}
<div class="choices">
${radios.map((radio) => this.#radio(field.name, radio, chosen, always && field.required))}</div>${issue}
</fieldset>`;
  }

  #select(field: ChoiceField, always: boolean): Html {
    const { id, help, issue, hasIssue, describedBy } = this.#marks(field);
    const chosen = entryOf(this.#entries, field.name);
    const option = (value: string, label: string) =>
      markup`<option value="${value}"${
        attributes({
          selected: value === chosen ? "" : undefined,
        })
      }>${label}</option>`;
    const none = field.required ? option("", "Choose …") : mayBeLeftOut(field) ? option("", "Not given") : "";
    const more = {
      required: always && field.required ? "" : undefined,
      "aria-describedby": describedBy,
      "aria-invalid": hasIssue ? "true" : undefined,
    };
    return markup`<div class="field">
<label for="${id}">${field.label}${required(field.required)}</label>${help}
<select id="${id}" name="${field.name}"${attributes(more)}>
${none}${field.choices.map(({ text, label }) => option(text, label))}</select>${issue}
</div>`;
  }

  #group(field: GroupField, always: boolean): Html {
    const { help, issue, describedBy } = this.#marks(field);
    return markup`<fieldset class="field"${attributes({ "aria-describedby": describedBy })}>
<legend>${field.label}</legend>${help}${issue}
${field.fields.map((inner) => this.#field(inner, always))}</fieldset>`;
  }

  /** Each option stands beside what belongs to it, so that a style sheet can show that of the chosen one only. */
  #variants(field: VariantsField): Html {
    const { help, issue, describedBy } = this.#marks(field);
    const name = chooserOf(field);
    const chosen = this.#entries.get(name) ?? undefined;
    const others = [
      ...(field.required ? [] : [{ value: "", label: "Leave it out" }]),
      ...(field.nullable ? [{ value: "null", label: MEANINGS.null }] : []),
    ];
    return markup`<fieldset class="field"${attributes({ "aria-describedby": describedBy })}>
<legend>${field.label}${required(field.required)}</legend>${help}${issue}
${others.map((radio) => markup`<div class="variant">${this.#radio(name, radio, chosen)}</div>`)}${
      field.options.map(({ key, label, field: inner }) =>
        markup`<div class="variant">${this.#radio(name, { value: key, label }, chosen)}${
          this.#field(
            inner,
            false,
          )
        }</div>`
      )
    }</fieldset>`;
  }

  #marks(field: Field): Marks {
    const id = `${this.#id}-${++this.#drawn}`;
    const messages = this.#issues.at.get(field) ?? [];
    const ids = [
      ...(field.help === undefined ? [] : [`${id}-help`]),
      ...(messages.length === 0 ? [] : [`${id}-issue`]),
    ];
    return {
      id,
      help: field.help === undefined ? markup`` : markup`<p class="help" id="${id}-help">${field.help}</p>`,
      issue: messages.length === 0
        ? markup``
        : markup`<p class="issue" id="${id}-issue">${messages.join("\n")}</p>`,
      hasIssue: messages.length > 0,
      describedBy: ids.length === 0 ? undefined : ids.join(" "),
    };
  }
}

const MEANINGS: Readonly<Record<Meaning, string>> = {
  absent: "Leave it out",
  null: "None (null)",
  blank: "An empty value",
};

function required(mustBeGiven: boolean): Html {
  return mustBeGiven ? markup`<small>(required)</small>` : markup``;
}

/** A default that is chosen beforehand is the same as nothing. */
function mayBeLeftOut({ required, initial }: ChoiceField): boolean {
  return !required && initial === undefined;
}
