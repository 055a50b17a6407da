import { bodyOf } from "../client.ts";
import type { InboxWait, RunBody, RunWait } from "../wire.ts";
import { fieldsOf, type Filled } from "./form/mod.ts";
import { type Html, markup, NOTHING } from "./html.ts";
import { alert, facts, live, page } from "./page.ts";
import type { Visit } from "./site.ts";
import { infoBlock, nameOf, time } from "./words.ts";

/** The inbox: every open wait of every run, oldest first. */
export async function inboxPage(visit: Visit, cursor: string | undefined): Promise<Html> {
  const query = { limit: "20", ...(cursor === undefined ? {} : { cursor }) };
  const { waits, next_cursor } = await bodyOf(visit.api.v1.waits.$get({ query }));
  const more = new URLSearchParams({ cursor: next_cursor ?? "" }).toString();
  return page(visit, {
    title: "Inbox",
    section: "waits",
    poll: true,
    main: markup`<h1>Inbox</h1>
<p class="quiet">What runs wait for, oldest first</p>
${
      live(
        "inbox",
        ...waits.map((wait) => openWait(visit, wait, { withRun: true })),
        waits.length === 0 ? markup`<p class="empty">Nothing waits for an answer.</p>` : NOTHING,
        next_cursor === undefined
          ? NOTHING
          : markup`<p><a href="${visit.link(`waits?${more}`)}" rel="next">More waits</a></p>`,
      )
    }`,
  });
}

/** One open wait, by itself; where its answer was refused, with what was sent. */
export async function waitPage(
  visit: Visit,
  runId: string,
  waitId: string,
  refused?: { readonly filled: Filled; readonly problem: string },
): Promise<Html> {
  const wait = await findWait(visit, runId, waitId);
  const run = markup`<p><a href="${visit.link(`runs/${runId}`)}">Run ${runId}</a></p>`;
  if (wait === undefined) {
    return page(visit, {
      title: "Closed wait",
      section: "waits",
      main: markup`<h1>This wait is not open</h1>
${run}
<p>It was answered, it has expired, or its run went on without it.</p>`,
    });
  }
  return page(visit, {
    title: wait.name,
    section: "waits",
    main: markup`<h1>Answer ${wait.name}</h1>
${run}
${alert(refused?.problem)}
${openWait(visit, wait, refused === undefined ? {} : { filled: refused.filled })}`,
  });
}

/** A wait of the inbox, if it is open. */
export async function findWait(
  { api }: Visit,
  runId: string,
  waitId: string,
): Promise<InboxWait | undefined> {
  let cursor: string | undefined;
  for (;;) {
    const query = { run_id: runId, limit: "1000", ...(cursor === undefined ? {} : { cursor }) };
    const { waits, next_cursor } = await bodyOf(api.v1.waits.$get({ query }));
    const found = waits.find((wait) => wait.waitId === waitId);
    if (found !== undefined || next_cursor === undefined) return found;
    cursor = next_cursor;
  }
}

/** The waits of a run: timers too when it is paused, and those that the inbox has while it is worked on. */
export async function waitsOfRun(
  visit: Visit,
  { run, status, waits = [], answered = [] }: RunBody,
): Promise<readonly Html[]> {
  const { runId } = run;
  const asks = status === "running" || waits.some((wait) => wait.kind !== "timer");
  const query = { run_id: runId, limit: "1000" };
  const inbox = asks ? (await bodyOf(visit.api.v1.waits.$get({ query }))).waits : [];
  const known = new Map(inbox.map((wait) => [wait.waitId, wait]));
  const open = status === "running" ? inbox : waits.filter((wait) => wait.kind !== "timer");
  return [
    ...open.map((wait) => openWait(visit, { ...wait, ...known.get(wait.waitId) })),
    ...waits.filter((wait) => wait.kind === "timer").map(timer),
    ...answered.map((id) =>
      markup`<p class="card quiet" id="answered-${id}">An answer is accepted, and taken in by whoever goes on with the run.</p>
`
    ),
  ];
}

/** What is shown of a wait that is open. */
type OpenWait =
  & Pick<
    InboxWait,
    "waitId" | "runId" | "vertexId" | "item" | "name" | "key" | "openedAt" | "info" | "schema"
  >
  & { readonly deadline?: number; readonly due?: number };

function openWait(
  { link }: Visit,
  wait: OpenWait,
  { filled, withRun = false }: { readonly filled?: Filled; readonly withRun?: boolean } = {},
): Html {
  const { waitId, runId, name, key, openedAt, info, schema } = wait;
  const until = wait.deadline ?? wait.due;
  const id = `wait-${waitId}`;
  return markup`<article class="card wait" id="${id}" data-keep aria-labelledby="${id}-name">
<h3 id="${id}-name">${name}${key === undefined ? "" : ` · ${key}`}</h3>
${
    facts(
      ["Run", withRun ? markup`<a href="${link(`runs/${runId}`)}">${runId}</a>` : undefined],
      ["Vertex", nameOf(wait)],
      ["Open since", time(openedAt)],
      ["Until", until === undefined ? undefined : time(until)],
    )
  }${info === undefined ? "" : infoBlock(info, `What ${name} is about`)}
<form method="post" action="${link(`runs/${runId}/waits/${waitId}`)}">
${fieldsOf(schema, waitId, filled)}
<p><button type="submit">Answer</button></p>
</form>
</article>
`;
}

function timer(wait: RunWait): Html {
  return markup`<article class="card wait" id="wait-${wait.waitId}">
<h3>${wait.name}</h3>
${
    facts(
      ["Vertex", nameOf(wait)],
      ["Sleeps since", time(wait.openedAt)],
      ["Until", wait.due === undefined ? undefined : time(wait.due)],
    )
  }</article>
`;
}
