import type { FaultAnswer } from "../faults.ts";
import { type Html, markup, NOTHING } from "./html.ts";
import { page } from "./page.ts";
import type { PageContext } from "./site.ts";

/** A page in the place of the one that cannot be shown. */
export function errorPage(link: PageContext["link"], { status, body: { error } }: FaultAnswer): Html {
  const { code, message, issues = [], retryable } = error;
  const title = TITLES.get(status) ?? "This did not work";
  const list = issues.map(({ path, message }) =>
    markup`<li>${path === "" ? message : `${path}: ${message}`}</li>`
  );
  return page({ link }, {
    title,
    main: markup`<h1>${title}</h1>
<p>${message.charAt(0).toUpperCase()}${message.slice(1)}.</p>
${list.length === 0 ? NOTHING : markup`<ul>${list}</ul>`}
${retryable ? markup`<p>The same may work in a moment.</p>` : NOTHING}
<p class="quiet"><code>${code}</code></p>
<p><a href="${link("runs")}">To the runs</a></p>`,
  });
}

const TITLES = new Map<number, string>([
  [401, "Who are you?"],
  [403, "You may not do this"],
  [404, "There is nothing here"],
  [500, "The server failed"],
  [503, "Not now"],
]);
