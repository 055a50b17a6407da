import { utf8Length } from "../runtime/bytes.ts";

/** The most bytes of a text of an error that are stored. */
const MAX_ERROR_TEXT = 16 * 1024;

/** A text of unknown origin as it is stored: lone surrogates become U+FFFD, and what is too long ends in a mark. */
export function errorText(text: string): string {
  const whole = text.toWellFormed();
  const bytes = utf8Length(whole);
  if (bytes <= MAX_ERROR_TEXT) return whole;
  const mark = `… [cut: ${bytes} bytes, at most ${MAX_ERROR_TEXT} are kept]`;
  const room = new Uint8Array(MAX_ERROR_TEXT - utf8Length(mark));
  return whole.slice(0, new TextEncoder().encodeInto(whole, room).read) + mark;
}
