import type { Activity } from "../../engine/activity.ts";
import type { InterruptReason, RunStatus } from "../../model/run.ts";
import type { ExecutionStatus } from "../../model/checkpoint.ts";
import { type Html, markup } from "./html.ts";
import { jsonText } from "./json_text.ts";

export { bytes, counted, span } from "../../model/amounts.ts";

/** A time, in UTC: the same for everybody who looks at the page. */
export function time(at: number): Html {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return markup`<span>${String(at)}</span>`;
  const iso = date.toISOString();
  return markup`<time datetime="${iso}">${iso.slice(0, 19).replace("T", " ")} UTC</time>`;
}

interface Stand {
  readonly status: RunStatus;
  readonly reason?: InterruptReason | "queued";
  readonly queued?: string | { readonly permit: string };
  readonly activity?: Activity;
}

/** What a run is at, in one word where it is not queued. */
function standOf(run: Stand): string {
  if (run.queued !== undefined) {
    return `queued for ${typeof run.queued === "string" ? run.queued : run.queued.permit}`;
  }
  return run.status === "interrupted" ? run.reason ?? run.status : run.status;
}

/** What a run is at, as a coloured word. */
export function badge(run: Stand): Html {
  const stand = standOf(run);
  const word = markup`<span class="badge ${run.queued === undefined ? stand : "queued"}">${stand}</span>`;
  const { activity } = run;
  const says = activity === "stranded" || (activity === "queued" && run.queued === undefined);
  return says ? markup`${word} <span class="badge ${activity}">${activity}</span>` : word;
}

/** How a vertex stands, as a coloured word. */
export function vertexBadge(status: ExecutionStatus | undefined): Html {
  return status === undefined
    ? markup`<span class="quiet">not reached</span>`
    : markup`<span class="badge ${status}">${status}</span>`;
}

/** The name of an execution: its vertex, and its item in a map vertex. */
export function nameOf({ vertexId, item }: { readonly vertexId: string; readonly item?: number }): string {
  return item === undefined ? vertexId : `${vertexId} [${item}]`;
}

/** A value as JSON that can be read; a long one is cut. */
function valueText(value: unknown): string {
  const { text, cut } = jsonText(value, LONGEST, "  ");
  return cut ? `${text}${MORE}` : text;
}

const MORE = "\n… and more";

const LONGEST = 64 * 1024;

/** A value on a page. */
export function valueBlock(value: unknown, label: string): Html {
  return markup`<pre class="value" tabindex="0" role="region" aria-label="${label}">${
    valueText(value)
  }</pre>`;
}

/** What a wait tells: texts as they are, so that people can read them, and everything else as JSON. */
export function infoBlock(info: unknown, label: string): Html {
  if (typeof info === "string") return textBlock(info);
  const fields = typeof info === "object" && info !== null && !Array.isArray(info)
    ? Object.entries(info)
    : [];
  if (fields.length === 0 || fields.length > 20) return valueBlock(info, label);
  return markup`<dl class="info">${
    fields.map(([name, value]) =>
      markup`<dt>${name}</dt><dd>${fieldBlock(value, `${label}: ${name}`)}</dd>
`
    )
  }</dl>
`;
}

function fieldBlock(value: unknown, label: string): Html {
  if (typeof value === "string") return textBlock(value);
  const date = typeof value === "object" && value !== null ? (value as { $date?: unknown }).$date : undefined;
  return typeof date === "string" ? time(Date.parse(date)) : valueBlock(value, label);
}

function textBlock(text: string): Html {
  return markup`<p class="text">${text.length <= LONGEST ? text : `${text.slice(0, LONGEST)}${MORE}`}</p>`;
}

/** A value within a line. */
export function shortValue(value: unknown): string {
  const { text, cut } = jsonText(value, 120);
  return cut ? `${text}…` : text;
}
