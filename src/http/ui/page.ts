import { type Html, markup, raw } from "./html.ts";
import type { PageContext } from "./site.ts";

/** A page of the dashboard. */
export interface PageOptions {
  readonly title: string;
  /** The entry of the menu that it belongs to. */
  readonly section?: Section;
  /** A stream of events, each of which says that the page is out of date. */
  readonly events?: string;
  /** Whether it is out of date after some seconds. */
  readonly poll?: boolean;
  readonly main: Html;
}

/** The entries of the menu. */
type Section = "runs" | "waits" | "graphs" | "workers";

const MENU = [["runs", "Runs"], ["waits", "Inbox"], ["graphs", "Graphs"], ["workers", "Workers"]] as const;

/** A whole page. Parts of it that are marked `data-live` are brought up to date by the script, where there is one. */
export function page({ link }: Pick<PageContext, "link">, options: PageOptions): Html {
  const { title, section, events = "", poll = false, main } = options;
  const entries = MENU.map(([id, label]) =>
    markup`<li><a href="${link(id)}"${id === section ? raw(' aria-current="page"') : ""}>${label}</a></li>`
  );
  return markup`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} · superstep</title>
<link rel="icon" href="${link("icon.svg")}" type="image/svg+xml">
<link rel="stylesheet" href="${link("style.css")}">
<script type="module" src="${link("live.js")}"></script>
</head>
<body data-events="${events}" data-poll="${poll ? "yes" : ""}">
<a class="skip" href="#main">Skip to content</a>
<header>
<a class="brand" href="${link("runs")}">superstep</a>
<nav aria-label="Main"><ul>${entries}</ul></nav>
</header>
<p id="away" class="alert" role="status" hidden>The server does not answer: this page may be out of date.</p>
<main id="main" tabindex="-1">
${main}
</main>
</body>
</html>
`;
}

/** A part of a page that is brought up to date by itself. */
export function live(id: string, ...content: readonly Html[]): Html {
  return markup`<div id="${id}" data-live>${content}</div>
`;
}

/** A table with a caption, which scrolls by itself where it is too wide. */
export function table(
  caption: string,
  heads: readonly string[],
  rows: readonly (readonly unknown[])[],
): Html {
  const head = heads.map((text) => markup`<th scope="col">${text}</th>`);
  const body = rows.map(([first, ...cells]) =>
    markup`<tr><th scope="row">${first}</th>${cells.map((cell) => markup`<td>${cell}</td>`)}</tr>
`
  );
  return markup`<div class="wide" tabindex="0" role="region" aria-label="${caption}">
<table><caption class="unseen">${caption}</caption>
<thead><tr>${head}</tr></thead>
<tbody>
${body}</tbody></table></div>
`;
}

/** Names and values, without those that have none. */
export function facts(...entries: readonly (readonly [string, unknown])[]): Html {
  const known = entries.filter(([, value]) => value !== undefined && value !== "");
  return markup`<dl class="facts">${
    known.map(([name, value]) =>
      markup`<div><dt>${name}</dt><dd>${value}</dd></div>
`
    )
  }</dl>
`;
}

/** What came of what was asked for, if anything did. */
export function notice(text: string | undefined): Html {
  return text === undefined ? markup`` : markup`<p class="notice" role="status">${text}</p>
`;
}

/** Why something was refused, if it was. */
export function alert(text: string | undefined): Html {
  return text === undefined ? markup`` : markup`<p class="alert" role="alert">${text}</p>
`;
}

/** A list to choose from. */
export function select(label: string, name: string, chosen: string, options: readonly string[]): Html {
  const entries = ["", ...options].map((value) => {
    const text = value === "" ? "any" : value;
    return value === chosen
      ? markup`<option value="${value}" selected>${text}</option>`
      : markup`<option value="${value}">${text}</option>`;
  });
  return markup`<div class="field"><label for="${name}">${label}</label>
<select id="${name}" name="${name}">${entries}</select></div>`;
}

/** The fields of a form that hold something: those that were left alone are empty. */
export function given(fields: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== ""));
}
