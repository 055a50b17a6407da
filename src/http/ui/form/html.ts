/**
 * Fields as HTML that needs no script: labels, help and issues belong to their controls, groups have legends, and what
 * must be given says so in words. All texts are escaped by the template, also those of schemas.
 */

import { attributes, controlOf } from "./controls.ts";
import { initialEntries } from "./entries.ts";
import {
  allIn,
  type ChoiceField,
  chooserOf,
  type Field,
  type GroupField,
  type JsonField,
  type ListField,
  type Meaning,
  meaningsOf,
  mustBeGiven,
  type NumberField,
  type TextField,
  UNTITLED,
  type VariantsField,
} from "./fields.ts";
import type { Placed } from "./issues.ts";
import { type Entries, entryOf, isTouched, meaningOf } from "./value.ts";
import { type Html, markup, NOTHING } from "../html.ts";

/** Draws the field of a whole value, filled in, with what is wrong. `id` begins the ids of its elements. */
export function draw(root: Field, id: string, entries: Entries, issues: Placed): Html {
  return new FormRenderer(id, entries, issues).draw(root);
}

/** How many fields that need not be given stand open beside some that must. */
const MAX_OPEN = 3;
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

class FormRenderer {
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
    return markup`${others.length === 0 ? "" : list}${
      root.kind === "group" ? this.#whole(root) : this.#field(root, true)
    }`;
  }

  /** The fields of a value that is nothing but them need no group; those that need not be given stand aside if they are many. */
  #whole(root: GroupField): Html {
    const given = root.fields.filter(mustBeGiven);
    const rest = root.fields.filter((field) => field.kind !== "fixed" && !mustBeGiven(field));
    const fields = given.length === 0 || rest.length <= MAX_OPEN
      ? this.#fields(root.fields, true)
      : markup`${this.#fields(given, true)}${this.#aside(root, rest)}`;
    if (root.label !== UNTITLED) return this.#framed(root, fields);
    const text = root.fields.length === 0 ? "Nothing needs to be filled in." : root.help;
    return markup`${text === undefined ? NOTHING : markup`<p class="help">${text}</p>`}${fields}`;
  }

  /** Fields that are opened, unless there is something in them that has to be seen. */
  #aside(root: GroupField, fields: readonly Field[]): Html {
    const untouched = initialEntries(root);
    const isOpen = fields.some((field) =>
      isTouched(field, this.#entries, untouched) || [...allIn(field)].some((one) => this.#issues.at.has(one))
    );
    return markup`<details class="more"${attributes({ open: isOpen ? "" : undefined })}>
<summary>${fields.length} more fields</summary>
${this.#fields(fields, true)}</details>`;
  }

  #fields(fields: readonly Field[], always: boolean): readonly Html[] {
    return fields.map((field) => this.#field(field, always));
  }

  /** @param always Whether it is read whatever else is chosen: browsers may insist on no other field. */
  #field(field: Field, always: boolean): Html {
    switch (field.kind) {
      case "fixed":
        return NOTHING;
      case "group":
        return this.#framed(field, this.#fields(field.fields, always));
      case "variants":
        return this.#variants(field);
      case "choice":
        return field.choices.length > MAX_RADIOS ? this.#select(field, always) : this.#choice(field, always);
      default:
        return this.#labelled(field, always);
    }
  }

  #labelled(field: TextField | NumberField | ListField | JsonField, always: boolean): Html {
    const { id, help, issue, hasIssue, describedBy } = this.#marks(field);
    const control = controlOf(field, entryOf(this.#entries, field.name), {
      id,
      required: always && mustBeGiven(field) ? "" : undefined,
      "aria-describedby": describedBy,
      "aria-invalid": hasIssue ? "true" : undefined,
    }, hasIssue);
    return markup`<div class="field">
<label for="${id}">${field.label}${mark(field)}</label>${help}
${control}${issue}${field.kind === "json" ? NOTHING : this.#empty(field)}
</div>`;
  }

  /** What an empty text is to mean, where that is several things. */
  #empty(field: TextField | NumberField | ListField): Html {
    const meanings = meaningsOf(field);
    if (meanings.length < 2) return NOTHING;
    const chosen = meaningOf(field, this.#entries);
    const radios = meanings.map((value) => ({ value, label: MEANINGS[value] }));
    return markup`<fieldset class="choices"><legend>If ${field.label} is empty</legend>
${radios.map((radio) => this.#radio(chooserOf(field), radio, chosen))}</fieldset>`;
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
<legend>${field.label}${mark(field)}</legend>${help}
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
<label for="${id}">${field.label}${mark(field)}</label>${help}
<select id="${id}" name="${field.name}"${attributes(more)}>
${none}${field.choices.map(({ text, label }) => option(text, label))}</select>${issue}
</div>`;
  }

  #framed(field: GroupField, fields: Html | readonly Html[]): Html {
    const { help, issue, describedBy } = this.#marks(field);
    return markup`<fieldset class="field"${attributes({ "aria-describedby": describedBy })}>
<legend>${field.label}</legend>${help}${issue}
${fields}</fieldset>`;
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
<legend>${field.label}${mark(field)}</legend>${help}${issue}
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
      help: field.help === undefined ? NOTHING : markup`<p class="help" id="${id}-help">${field.help}</p>`,
      issue: messages.length === 0
        ? NOTHING
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

function mark(field: Field): Html {
  return mustBeGiven(field) ? markup` <small>(required)</small>` : NOTHING;
}

/** A default that is chosen beforehand is the same as nothing. */
function mayBeLeftOut({ required, initial }: ChoiceField): boolean {
  return !required && initial === undefined;
}
