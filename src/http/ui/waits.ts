import { bodyOf } from "../client.ts";
import type { InboxWait, RunBody, RunWait } from "../wire.ts";
import { fieldsOf, type Filled } from "./form/mod.ts";
import { type Html, markup, NOTHING } from "./html.ts";
import { alert, facts, given, live, notice, page, select } from "./page.ts";
import type { PageContext } from "./site.ts";
import { counted, infoBlock, nameOf, time } from "./format.ts";

/** What the inbox is narrowed to, as its form sends it: fields that were left alone are empty. */
interface WaitFilter {
  readonly graph_id?: string;
  /** Only a link says it. */
  readonly run_id?: string;
  readonly name?: string;
  readonly cursor?: string;
}

/** So many waits are on a page; what they tell and ask for may make it fewer. */
const MOST = 20;

/** More waits than these are folded: a list to look through first. */
const UNFOLDED = 3;

/** The inbox: the open waits of all runs, oldest first. */
export async function inboxPage(
  visit: PageContext,
  filter: WaitFilter,
  done: string | undefined,
): Promise<Html> {
  const { api, link } = visit;
  const { graph_id = "", run_id = "", name = "", cursor = "" } = filter;
  const { graphs } = await bodyOf(api.v1.graphs.$get());
  const query = { ...given({ graph_id, run_id, name, cursor }), limit: String(MOST) };
  const { waits, next_cursor } = await bodyOf(api.v1.waits.$get({ query }));
  const more = new URLSearchParams(given({ graph_id, run_id, name, cursor: next_cursor ?? "" })).toString();
  const folded = waits.length > UNFOLDED;
  return page(visit, {
    title: "Inbox",
    section: "waits",
    poll: true,
    main: markup`<h1>Inbox</h1>
${notice(done)}
${run_id === "" ? NOTHING : markup`<p>Of run <a href="${link(`runs/${run_id}`)}">${run_id}</a> alone</p>`}
<form method="get" action="${link("waits")}" class="filters" role="search">
${select("Graph", "graph_id", graph_id, graphs.map(({ graphId }) => graphId))}
<div class="field"><label for="name">Wait</label><input id="name" name="name" value="${name}" autocomplete="off"></div>
${run_id === "" ? NOTHING : markup`<input type="hidden" name="run_id" value="${run_id}">`}
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
  visit: PageContext,
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
  { api }: PageContext,
  runId: string,
  waitId: string,
): Promise<InboxWait | undefined> {
  const query = { run_id: runId, wait_id: waitId };
  return (await bodyOf(api.v1.waits.$get({ query }))).waits[0];
}

/** The waits of a run: those that the inbox has, with a form each, and where it is paused, its timers. */
export async function waitsOfRun(
  visit: PageContext,
  { run, status, waits = [], answered = [] }: RunBody,
): Promise<readonly Html[]> {
  const { runId, caller } = run;
  const timers = waits.filter((wait) => wait.kind === "timer");
  const asked = waits.length - timers.length;
  const asks = caller === undefined && (status === "running" || asked > 0);
  const query = { run_id: runId, limit: String(MOST) };
  const { waits: open, next_cursor } = asks
    ? await bodyOf(visit.api.v1.waits.$get({ query }))
    : { waits: [], next_cursor: undefined };
  return [
    ...open.map((wait) => openWait(visit, wait)),
    next_cursor === undefined
      ? NOTHING
      : markup`<p><a href="${visit.link(`waits?run_id=${runId}`)}">All${
        asked === 0 ? "" : ` ${asked}`
      } waits of this run</a></p>
`,
    ...(caller === undefined || asked === 0 ? [] : [askedThrough(visit, caller)]),
    ...timers.slice(0, MOST).map(timer),
    timers.length <= MOST ? NOTHING : markup`<p class="quiet">… and ${timers.length - MOST} more timers</p>
`,
    ...answered.slice(0, MOST).map((id) =>
      markup`<p class="card quiet" id="answered-${id}">An answer is accepted, and taken in by whoever goes on with the run.</p>
`
    ),
    answered.length <= MOST
      ? NOTHING
      : markup`<p class="quiet">… and ${answered.length - MOST} more accepted answers</p>
`,
  ];
}

/** The waits of a run of a version that is not served, which are answered by the schemas that are stored with them. */
export async function waitsOfForeign(visit: PageContext, runId: string): Promise<readonly Html[]> {
  const { waits } = await bodyOf(visit.api.v1.waits.$get({ query: { run_id: runId, limit: String(MOST) } }));
  return waits.map((wait) => openWait(visit, wait));
}

/** A run that works for another one asks through that. */
function askedThrough({ link }: PageContext, { runId }: NonNullable<RunBody["run"]["caller"]>): Html {
  return markup`<p class="card wait">What it waits for is answered in <a href="${
    link(`runs/${runId}`)
  }">the run that called it</a>.</p>
`;
}

/** How a wait is shown. */
interface Shown {
  readonly filled?: Filled;
  /** Among those of other runs. */
  readonly inInbox?: boolean;
  readonly folded?: boolean;
}

function openWait(
  visit: PageContext,
  wait: InboxWait,
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

function waitFacts({ link }: PageContext, wait: InboxWait, inInbox: boolean): Html {
  const { runId, graphId, openedAt, deadline, activity } = wait;
  return facts(
    ["Graph", inInbox ? graphId : undefined],
    ["Run", inInbox ? markup`<a href="${link(`runs/${runId}`)}">${runId}</a>` : undefined],
    ["Vertex", nameOf(wait)],
    ["Open since", time(openedAt)],
    ["Until", deadline === undefined ? undefined : time(deadline)],
    ["Stranded", activity === "stranded" ? "no living worker serves the version of this run" : undefined],
  );
}

function waitForm({ link }: PageContext, wait: InboxWait, { filled, inInbox = false }: Shown): Html {
  const { waitId, runId, name, info, schema, unanswerable } = wait;
  if (unanswerable !== undefined) {
    return markup`${info === undefined ? "" : infoBlock(info, `What ${name} is about`)}
<p class="alert">It cannot be answered here: ${unanswerable}.</p>
`;
  }
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
