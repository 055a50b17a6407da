import { bodyOf, type Client, createClient, events } from "../../src/http/client.ts";

/** What a load came to. */
export interface LoadReport {
  readonly runs: number;
  /** Records that were told of. */
  readonly events: number;
  /** Streams that were left and taken up again. */
  readonly resumed: number;
  /** Revisions that the reader of a run was not told of. */
  readonly lost: number;
  /** Revisions that the reader of a run was told of twice, or after a later one. */
  readonly doubled: number;
  /** Runs that did not complete. */
  readonly unfinished: number;
}

/** How much is done. */
export interface LoadOptions {
  readonly runs: number;
  /** How many readers follow runs at once. */
  readonly clients: number;
  /** What idempotency keys begin with. @default "load" */
  readonly key?: string;
  /** The reader of every so many runs leaves its stream at the pause and comes back. @default 4 */
  readonly leaving?: number;
}

/**
 * Starts runs of `approval` over HTTP, follows each by its event stream, answers what it waits for, and follows it to its
 * end.
 */
export async function load(
  url: string,
  { runs, clients, key = "load", leaving = 4 }: LoadOptions,
): Promise<LoadReport> {
  const client = createClient(url);
  const sum = { runs, events: 0, resumed: 0, lost: 0, doubled: 0, unfinished: 0 };
  let next = 0;
  const reader = async () => {
    for (let i = next++; i < runs; i = next++) {
      const { seen, resumed, status } = await one(client, `${key}-${i}`, i % leaving === 0);
      sum.events += seen.length;
      sum.resumed += resumed;
      sum.lost += Math.max(...seen) + 1 - new Set(seen).size;
      sum.doubled += seen.filter((revision, at) => at > 0 && revision <= seen[at - 1]!).length;
      if (status !== "completed") sum.unfinished++;
    }
  };
  await Promise.all(Array.from({ length: clients }, reader));
  return sum;
}

/** One run from its start to its end, as its reader sees it. */
async function one(client: Client, key: string, leaves: boolean) {
  const started = await bodyOf(client.v1.graphs[":graph_id"].runs.$post({
    param: { graph_id: "approval" },
    header: { "idempotency-key": key },
    json: { input: { question: key } },
  }));
  if (!("runId" in started)) throw new Error("a start without wait answered with a result");
  const { runId } = started;
  const seen: number[] = [];
  let status = "";
  let resumed = 0;
  for (let over = false; !over;) {
    over = true;
    const after = seen.length === 0 ? {} : { after: `${seen.at(-1)}` };
    for await (const checkpoint of events(client, runId, { ...after, retry: 20 })) {
      if (checkpoint.type !== "checkpoint") continue;
      seen.push(checkpoint.revision);
      status = checkpoint.status;
      const opened = checkpoint.events.find(({ type, kind }) => type === "opened" && kind === "answer");
      if (opened === undefined) continue;
      await bodyOf(client.v1.runs[":run_id"].waits[":wait_id"].answer.$post({
        param: { run_id: runId, wait_id: String(opened.id) },
        json: { value: { approve: true } },
      }));
      if (!leaves) continue;
      over = false;
      resumed++;
      break;
    }
  }
  return { seen, resumed, status };
}
