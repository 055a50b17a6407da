import { bodyOf } from "../client.ts";
import type { InboxWait, RunBody, RunWait } from "../wire.ts";
import { fieldsOf, type Filled } from "./form/mod.ts";
import { type Html, markup, NOTHING } from "./html.ts";
import { alert, facts, live, notice, page } from "./page.ts";
import { select } from "./run_list.ts";
import type { Visit } from "./site.ts";
import { counted, infoBlock, nameOf, time } from "./words.ts";

/** What the inbox is narrowed to, as its form sends it: fields that were left alone are empty. */
export interface WaitFilter {
  readonly graph_id?: string;
  readonly name?: string;
  readonly cursor?: string;
}

/** More waits than these are folded: a list to look through first. */
const UNFOLDED = 3;

/** The inbox: the open waits of all runs, oldest first. */
export async function inboxPage(visit: Visit, filter: WaitFilter, done: string | undefined): Promise<Html> {
  const { api, link } = visit;
  const { graph_id = "", name = "", cursor = "" } = filter;
  const given = (fields: Readonly<Record<string, string>>) =>
    Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== ""));
  const { graphs } = await bodyOf(api.v1.graphs.$get());
  const query = { ...given({ graph_id, name, cursor }), limit: "20" };
  const { waits, next_cursor } = await bodyOf(api.v1.waits.$get({ query }));
  const more = new URLSearchParams(given({ graph_id, name, cursor: next_cursor ?? "" })).toString();
  const folded = waits.length > UNFOLDED;
  return page(visit, {
    title: "Inbox",
    section: "waits",
    poll: true,
    main: markup`<h1>Inbox</h1>
${notice(done)}
<form method="get" action="${link("waits")}" class="filters" role="search">
${select("Graph", "graph_id", graph_id, graphs.map(({ graphId }) => graphId))}
<div class="field"><label for="name">Wait</label><input id="name" name="name" value="${name}" autocomplete="off"></div>
<button type="submit">Filter</button>
</form>
${
      live(
        "inbox",
        markup`<p class="quiet">${counted(waits.length, "open wait")}${
          next_cursor === undefined ? "" : " and more"
        }, oldest first</p>`,
        ...waits.map((wait) => openWait(visit, wait, { inInbox: true, folded })),
        waits.length === 0 ? markup`<p class="empty">Nothing waits for an answer.</p>` : NOTHING,
        next_cursor === undefined
          ? NOTHING
          : markup`<p><a href="${link(`waits?${more}`)}" rel="next">More waits</a></p>`,
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
  & { readonly graphId?: string; readonly deadline?: number; readonly due?: number };

/** How a wait is shown. */
interface Shown {
  readonly filled?: Filled;
  /** Among those of other runs. */
  readonly inInbox?: boolean;
  readonly folded?: boolean;
}

function openWait(
  visit: Visit,
  wait: OpenWait,
  { inInbox = false, folded = false, ...shown }: Shown = {},
): Html {
  const { waitId, name, key } = wait;
  const id = `wait-${waitId}`;
  const title = markup`<h3 id="${id}-name">${name}${key === undefined ? "" : ` · ${key}`}</h3>
${waitFacts(visit, wait, inInbox)}`;
  const body = waitForm(visit, wait, { inInbox, ...shown });
  return markup`<article class="card wait" id="${id}" data-keep aria-labelledby="${id}-name">
${folded ? markup`<details><summary>${title}</summary>${body}</details>` : markup`${title}${body}`}
<p class="gone" role="status" hidden>It was answered, or it is open no longer.</p>
</article>
`;
}

function waitFacts({ link }: Visit, wait: OpenWait, inInbox: boolean): Html {
  const { runId, graphId, openedAt } = wait;
  const until = wait.deadline ?? wait.due;
  return facts(
    ["Graph", inInbox ? graphId : undefined],
    ["Run", inInbox ? markup`<a href="${link(`runs/${runId}`)}">${runId}</a>` : undefined],
    ["Vertex", nameOf(wait)],
    ["Open since", time(openedAt)],
    ["Until", until === undefined ? undefined : time(until)],
  );
}

function waitForm({ link }: Visit, wait: OpenWait, { filled, inInbox = false }: Shown): Html {
  const { waitId, runId, name, info, schema } = wait;
  return markup`${info === undefined ? "" : infoBlock(info, `What ${name} is about`)}
<form method="post" action="${link(`runs/${runId}/waits/${waitId}`)}">
${inInbox ? markup`<input type="hidden" name="back" value="waits">` : NOTHING}
${fieldsOf(schema, waitId, filled)}
<p><button type="submit">Answer</button></p>
</form>
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
