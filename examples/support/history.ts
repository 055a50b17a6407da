import type { HistoryEntry, Runner } from "superstep";

/** Prints the records of a run, one line each, and the path that the run took. */
export async function printHistory<S>(runner: Runner<S>, runId: string): Promise<void> {
  for await (const { revision, at, step, phase, events } of historyOf(runner, runId)) {
    const time = new Date(at).toISOString().slice(11, 23);
    const said = events.map(describe).filter((text) => text !== "").join(" · ");
    console.log(`${String(revision).padStart(4)}  ${time}  step ${step}  ${phase.padEnd(7)}  ${said}`);
  }
  const { status, path } = await runner.get(runId);
  console.log(`${status}: ${path.join(" → ")}`);
}

/** Every record of a run, read page by page. */
export async function* historyOf<S>(runner: Runner<S>, runId: string): AsyncIterable<HistoryEntry> {
  let cursor: string | undefined;
  do {
    const page = await runner.history(runId, cursor === undefined ? {} : { cursor });
    yield* page.rows;
    cursor = page.cursor;
  } while (cursor !== undefined);
}

function describe(event: HistoryEntry["events"][number]): string {
  switch (event.type) {
    case "created":
      return `created, begins at ${event.entry}`;
    case "claimed":
      return event.recovery ? "taken over from a dead process" : "claimed";
    case "attempt_failed":
      return `${event.vertexId} failed attempt ${event.failure.attempt}: ${event.failure.message}`;
    case "once":
      return `${event.vertexId} did ${event.name} once`;
    case "opened":
      return `${event.vertexId} waits for ${event.name}`;
    case "resolved":
      return event.result.kind === "answered"
        ? `${event.vertexId} got ${JSON.stringify(event.result.value)}`
        : `${event.vertexId}: ${event.result.kind}`;
    case "done":
      return `${event.vertexId} done`;
    case "failed":
      return `${event.vertexId} failed: ${event.failure.message}`;
    case "routed":
      return event.routes.map(({ from, to, kind }) => `${from} → ${to} (${kind})`).join(", ");
    case "released":
      return event.reason === undefined ? "let go" : `let go, ${event.reason}`;
    case "completed":
      return "completed";
    default:
      return "";
  }
}
