import { html } from "hono/html";
import type { HtmlEscapedString } from "hono/utils/html";

export { raw } from "hono/html";

/** A piece of a page. Whatever was put into it has been escaped. */
export type Html = HtmlEscapedString | Promise<HtmlEscapedString>;

/** Writes HTML; whatever is put into it is escaped. Not named `html`, which formatters would fill with space. */
export const markup = html;

/** Nothing. */
export const NOTHING: Html = markup``;
