import { utf8Length } from "../runtime/bytes.ts";

/** The most bytes of a text of an error that are stored. */
export const MAX_ERROR_TEXT = 16 * 1024;

/** The most characters of a name that a body gives to something recorded. */
const MAX_NAME = 1_024;

/** A text of unknown origin as it is stored: lone surrogates become U+FFFD, and what is too long ends in a mark. */
export function errorText(text: string): string {
  const whole = text.toWellFormed();
  const bytes = utf8Length(whole);
  if (bytes <= MAX_ERROR_TEXT) return whole;
  const mark = `… [cut: ${bytes} bytes, at most ${MAX_ERROR_TEXT} are kept]`;
  const room = new Uint8Array(MAX_ERROR_TEXT - utf8Length(mark));
  return whole.slice(0, new TextEncoder().encodeInto(whole, room).read) + mark;
}

/** What keeps `name` from being the name of something recorded; `undefined` when nothing does. */
export function nameProblem(name: unknown): string | undefined {
  if (typeof name !== "string") return `a name of type ${typeof name}; give a text`;
  if (!name.isWellFormed()) {
    return `a name with a lone surrogate, ${JSON.stringify(name)}; repair it with toWellFormed()`;
  }
  if (name.length <= MAX_NAME) return undefined;
  return `a name of ${name.length} characters; give one of at most ${MAX_NAME}`;
}
