import { routeOf } from "../engine/handlers.ts";
import type { EventOf } from "../checkpoint/records.ts";
import type { HistoryEntry, RecordEvent } from "../engine/history.ts";
import { userFrame } from "../errors/user_frame.ts";
import type { Cli } from "./cli.ts";
import { dateTime, span } from "./format.ts";
import { line, shortJson } from "./printable.ts";
import { END } from "../model/ids.ts";
import { MARKS, PAINT } from "./progress/marks.ts";
import type { RowState } from "./progress/model.ts";
import { nameOf } from "./progress/plain.ts";

/** Earlier releases recorded an error handler by its index. */
function routeName(handler: string | number): string {
  return typeof handler === "number" ? `handler ${handler + 1}` : `the route to ${line(routeOf(handler))}`;
}

/** Items of one vertex that did the same in one record are told together from this number on. */
const TOGETHER = 4;

/** What happened in a record, a line each. */
export function timelineEvents(cli: Cli, { events, frontier, phase }: HistoryEntry): readonly string[] {
  const told: string[] = [];
  for (const group of grouped(events)) {
    const [event] = group;
    if (event === undefined) continue;
    const text = group.length < TOGETHER ? undefined : together(cli, group);
    if (text !== undefined) told.push(text);
    else told.push(...group.map((e) => tell(cli, e)).filter((t) => t !== ""));
  }
  if (
    phase === "routed" && frontier.length > 0 &&
    events.some((e) => e.type === "created" || e.type === "forked")
  ) {
    told.push(cli.colours.dim(`next: ${frontier.map((id) => line(id)).join(", ")}`));
  }
  return told;
}

/** Runs of events of one type and vertex. */
function grouped(events: readonly RecordEvent[]): readonly (readonly RecordEvent[])[] {
  const groups: RecordEvent[][] = [];
  for (const event of events) {
    const last = groups.at(-1);
    const same = last?.[0]?.type === event.type && "item" in event && "item" in last[0] &&
      event.vertexId === last[0].vertexId;
    if (same) last.push(event);
    else groups.push([event]);
  }
  return groups;
}

function together(cli: Cli, group: readonly RecordEvent[]): string | undefined {
  const [event] = group;
  if (event?.type !== "done") return undefined;
  const times = group.flatMap((e) => e.type === "done" ? [e.at - e.startedAt] : []);
  const range = `${span(Math.min(...times))} to ${span(Math.max(...times))}`;
  return mark(cli, "done", `${line(event.vertexId)}: ${group.length} items, ${range}`);
}

function tell(cli: Cli, event: RecordEvent): string {
  const { dim, red, yellow } = cli.colours;
  switch (event.type) {
    case "created": {
      const tags = event.tags.length === 0 ? "" : `, tags ${line(event.tags.join(" "))}`;
      const until = event.deadline === undefined ? "" : `, deadline ${dateTime(event.deadline)}`;
      return `created${owned(event.owner)}${until}${tags}`;
    }
    case "forked":
      return `begins where ${line(event.parent.runId)} was at revision ${event.parent.revision}`;
    case "adopted":
      return yellow(
        `moved from version ${line(event.from)} to ${line(event.to)}${
          event.entry === undefined ? "" : " before it began"
        }`,
      );
    case "migrated": {
      const names = [...event.vertices].map(([old, now]) =>
        `${old} ${now === null ? "is gone" : `is ${now}`}`
      );
      const more = names.length === 0 ? "" : `: ${line(names.join(", "))}`;
      return yellow(`migrated from version ${line(event.from)} to ${line(event.to)}${more}`);
    }
    case "updated":
      return yellow("the state was changed from outside");
    case "claimed":
      return `${event.recovery ? yellow("taken over from a dead process") : "claimed"}${owned(event.owner)}`;
    case "released":
      return `let go${event.reason === undefined ? "" : `, ${event.reason}`}`;
    case "retried":
      return event.executions.length === 0
        ? "resumed"
        : `resumed with fresh attempts of ${event.executions.map(nameOf).map((n) => line(n)).join(", ")}`;
    case "mapped":
      return dim(`${line(event.vertexId)} has ${event.count} items`);
    case "attempt_failed": {
      const { failure, nextAt, at } = event;
      const next = `; again after ${span(nextAt - at)}`;
      return mark(cli, "backoff", `${name(event)} × ${failure.attempt}: ${problem(event)}${next}`);
    }
    case "once":
      return `${name(event)} did ${line(event.name)} once: ${shortJson(event.value)}`;
    case "opened": {
      const until = event.due === undefined ? "" : ` until ${dateTime(event.due)}`;
      const what = event.kind === "timer"
        ? `sleeps${until} (${line(event.name)})`
        : `waits for ${line(event.name)}${until}`;
      return mark(
        cli,
        "waiting",
        `${name(event)} ${what}${event.kind === "timer" ? "" : ` ${dim(line(event.id))}`}`,
      );
    }
    case "resolved":
      return event.result.kind === "answered"
        ? `${name(event)} got the answer ${shortJson(event.result.value)}`
        : `${name(event)}: ${event.result.kind === "fired" ? "the timer fired" : "the wait expired"}`;
    case "closed":
      return dim(`${name(event)}: a wait was closed (${event.reason})`);
    case "reopened":
      return yellow(
        `${name(event)}: an answer was refused (${line(event.problem)}); open again as ${line(event.newId)}`,
      );
    case "suspended":
      return dim(`${name(event)} paused after ${span(event.at - event.startedAt)}`);
    case "returned":
      return dim(
        `${name(event)} ${
          event.posted === true ? "came back after the run was let go" : "came back by itself"
        }`,
      );
    case "done": {
      const attempt = event.attempt > 1 ? ` × ${event.attempt}` : "";
      return mark(cli, "done", `${name(event)}${attempt}  ${span(event.at - event.startedAt)}`);
    }
    case "failed": {
      const { failure, handler } = event;
      const taken = handler === undefined ? "" : `, taken by ${routeName(handler)}`;
      return mark(cli, "failed", `${name(event)} × ${failure.attempt}: ${problem(event)}${taken}`);
    }
    case "folded":
      return "";
    case "routed":
      return event.routes.map(({ from, to, kind }) =>
        dim(`${line(from)} → ${to === END ? "END" : line(to)}${kind === "static" ? "" : ` (${kind})`}`)
      ).join(", ");
    case "halted":
      return red(`halted (${event.halt.kind}): ${line(event.halt.message)}`);
    case "completed":
      return "completed";
    case "cancelled":
      return `cancelled: ${line(event.reason)}`;
    case "queued":
      return `waits for ${line(event.permit)}${
        event.until === undefined ? "" : ` until ${dateTime(event.until)}`
      }`;
    case "granted":
      return dim(`got ${line(event.permit)} (${event.n})`);
    case "freed":
      return dim(`gave ${line(event.permit)} back (${event.n})`);
    default:
      // A newer version wrote it.
      return line((event satisfies never as { readonly type: string }).type);
  }
}

function name(event: { readonly vertexId: string; readonly item?: number }): string {
  return line(nameOf(event));
}

/** What was thrown, and where in the user's code. */
function problem({ failure, stack = "" }: EventOf<"failed" | "attempt_failed">): string {
  const frame = userFrame(stack);
  const where = frame === undefined ? "" : `, at ${line(frame)}`;
  return `${line(failure.name)}: ${line(failure.message, 200)}${where}`;
}

function owned(owner: string | undefined): string {
  return owner === undefined ? "" : `, owner ${line(owner)}`;
}

function mark(cli: Cli, state: RowState, text: string): string {
  return `${PAINT[state](cli.colours)(MARKS[state])} ${text}`;
}
