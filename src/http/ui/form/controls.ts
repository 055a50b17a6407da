/**
 * Controls that take a text. Browsers clean what some of them hold: one that would not keep a text as it was submitted, or
 * that could not take what its schema wants, is a plain one instead. Patterns of schemas are not handed to browsers.
 */

import type { JsonField, ListField, NumberField, TextField } from "./fields.ts";
import { isDate, isLocalTime } from "./time.ts";
import { type Html, markup } from "../html.ts";

/** Attributes by name; those that are `undefined` are left out. */
export type Attributes = Readonly<Record<string, string | number | undefined>>;

/** Attributes as they stand in a tag. */
export function attributes(all: Attributes): readonly Html[] {
  return Object.entries(all).filter(([, value]) => value !== undefined)
    .map(([name, value]) => markup` ${name}="${value}"`);
}

/**
 * The control of a field.
 *
 * @param text What it holds.
 * @param wasRefused Whether something is wrong with that.
 */
export function controlOf(
  field: TextField | NumberField | ListField | JsonField,
  text: string,
  more: Attributes,
  wasRefused: boolean,
): Html {
  const { name } = field;
  switch (field.kind) {
    case "json":
      return area({ ...more, name, class: "json", rows: 4, spellcheck: "false" }, text);
    case "list":
      return area({ ...more, name, rows: 3 }, text);
    case "number":
      return input({ ...more, name, ...numberInput(field, text) }, text);
    case "text": {
      const lengths = { minlength: field.min, maxlength: field.max };
      if (field.input === "lines" || text.includes("\n")) {
        // One line that style sheets let grow.
        const rows = Math.min(text.split("\n").length, 10);
        return area({ ...more, name, class: "line", rows, ...lengths }, text);
      }
      if (field.input === "date") {
        return input({ ...more, name, type: isFit(isDate, text) ? "date" : "text" }, text);
      }
      if (field.input === "date-time") {
        // What cannot be picked, such as a fraction that is demanded, can be typed.
        const canBePicked = !wasRefused && isFit(isLocalTime, text);
        return input({
          ...more,
          name,
          ...(canBePicked ? { type: "datetime-local", step: "any" } : TYPED_TIME),
        }, text);
      }
      const type = text === text.trim() ? field.input : "text";
      return input({ ...more, name, type, ...lengths }, text);
    }
  }
}

const TYPED_TIME = { type: "text", placeholder: "2026-12-31T23:59:59Z" };

function isFit(test: (text: string) => boolean, text: string): boolean {
  return text === "" || test(text);
}

function input(all: Attributes, text: string): Html {
  return markup`<input${attributes(all)} value="${text}" />`;
}

/** The first line break in a text area is none of its text. */
function area(all: Attributes, text: string): Html {
  return markup`<textarea${attributes(all)}>${`\n${text}`}</textarea>`;
}

/** A number as HTML writes it. */
const NUMBER = /^-?(?:\d+|\d*\.\d+)(?:[eE][+-]?\d+)?$/;

function numberInput({ isInteger, min, max, step }: NumberField, text: string): Attributes {
  const inputmode = min !== undefined && min >= 0 ? isInteger ? "numeric" : "decimal" : undefined;
  if (!isFit((typed) => NUMBER.test(typed), text)) return { type: "text", inputmode };
  const wanted = step ?? (isInteger ? 1 : undefined);
  // Browsers count steps from the least value, else from the one that stands there.
  const isCounted = wanted !== undefined && Number.isInteger((min ?? Number(text)) / wanted);
  return { type: "number", step: isCounted ? wanted : "any", min, max, inputmode };
}
