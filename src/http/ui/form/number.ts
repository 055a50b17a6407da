/** Numbers as people type them and as JSON keeps them. */

import { type Json, toJson } from "../../../model/json.ts";

const NUMBER = /^-?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;
/** Longer than the text of any number that can be kept exactly and is written without need for more. */
const MAX_LENGTH = 400;

/** The number that a text stands for, as tagged JSON; or what is wrong with it. White space around it is no part of it. */
export function numberOf(
  typed: string,
  isInteger: boolean,
): { readonly value: Json } | { readonly problem: string } {
  const text = typed.trim();
  const value = text.length <= MAX_LENGTH && NUMBER.test(text) ? Number(text) : NaN;
  if (Number.isNaN(value)) return { problem: isInteger ? "give a whole number" : "give a number" };
  if (digitsOf(text) !== digitsOf(String(value))) {
    return { problem: "it has more digits, or is larger or smaller, than a number can keep" };
  }
  if (isInteger && !Number.isInteger(value)) return { problem: "give a whole number" };
  return { value: toJson(value) };
}

/** The text of a number that `numberOf` reads as that number; nothing for what is none. */
export function textOfNumber(value: Json): string | undefined {
  if (typeof value === "number") return String(value);
  return isMinusZero(value) ? "-0" : undefined;
}

function isMinusZero(value: Json): boolean {
  return typeof value === "object" && value !== null && "$number" in value && value["$number"] === "-0";
}

/** A number as its digits without zeros around them, and the power of ten of the last: the same for equal numbers. */
function digitsOf(text: string): string {
  const found = /^(-?)(\d*)\.?(\d*)(?:e([+-]?\d+))?$/i.exec(text);
  if (found === null) return text;
  const [, sign = "", whole = "", fraction = "", exponent = "0"] = found;
  const digits = (whole + fraction).replace(/^0+/, "");
  const kept = digits.replace(/0+$/, "");
  if (kept === "") return "0";
  return `${sign}${kept}e${Number(exponent) - fraction.length + digits.length - kept.length}`;
}
