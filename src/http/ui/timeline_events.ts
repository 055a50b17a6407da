import { span } from "../../model/amounts.ts";
import type { ExecutionStatus } from "../../model/checkpoint.ts";
import { END } from "../../model/ids.ts";
import type { Checkpoint, CheckpointEvent } from "../wire.ts";
import { type Html, markup } from "./html.ts";
import type { PageContext } from "./site.ts";
import { nameOf, shortValue, time } from "./format.ts";

/** What happened in a record, a line each; no more than `most` of them. */
export function timelineEvents(
  { events }: Checkpoint,
  { link }: Pick<PageContext, "link">,
  most: number,
): readonly Html[] {
  const lines: Html[] = [];
  for (const event of events) {
    const told = tell(event, link);
    if (told === undefined) continue;
    if (lines.length === most) return [...lines, markup`<li>… and more</li>`];
    const tone = TONES[event.type];
    lines.push(tone === undefined ? markup`<li>${told}</li>` : markup`<li class="${tone}">${told}</li>`);
  }
  return lines;
}

/** Events that look like what a vertex is at after them. */
const TONES: Readonly<Record<string, ExecutionStatus | undefined>> = {
  attempt_failed: "backoff",
  cancelled: "failed",
  completed: "done",
  done: "done",
  failed: "failed",
  halted: "failed",
  opened: "suspended",
};

/** An event in words. Its fields are what the API shows of it: those that the reader may not see are absent. */
function tell(event: CheckpointEvent, link: PageContext["link"]): unknown {
  const { type } = event;
  const text = (field: string) => String(event[field] ?? "");
  const number = (field: string) => Number(event[field]);
  const who = event.vertexId === undefined
    ? ""
    : markup`<b>${nameOf({ ...event, vertexId: event.vertexId })}</b>`;
  switch (type) {
    case "created": {
      const { deadline, owner } = event;
      return markup`created${owner === undefined ? "" : `, owner ${owner}`}${
        typeof deadline === "number" ? markup`, to be over by ${time(deadline)}` : ""
      }`;
    }
    case "forked": {
      const { runId = "", revision = "" } = objectOf(event["parent"]);
      return markup`begins where <a href="${link(`runs/${String(runId)}`)}">${
        String(runId)
      }</a> was at revision ${String(revision)}`;
    }
    case "adopted":
      return `moved from version ${text("from")} to ${text("to")}${
        event["entry"] === undefined ? "" : " before it began"
      }`;
    case "migrated":
      return `migrated from version ${text("from")} to ${text("to")}${
        event["entry"] === undefined ? "" : " before it began"
      }`;
    case "updated":
      return "the state was changed from outside";
    case "claimed":
      return `${event["recovery"] === true ? "taken over from a dead process" : "claimed"} by ${
        text("owner")
      }`;
    case "released":
      return `let go${event["reason"] === undefined ? "" : `, ${text("reason")}`}`;
    case "retried":
      return "resumed";
    case "mapped":
      return markup`${who} has ${text("count")} items`;
    case "attempt_failed":
      return markup`${who} attempt ${attemptOf(event)} failed: ${problemOf(event["failure"])}; again after ${
        span(number("nextAt") - number("at"))
      }`;
    case "once":
      return markup`${who} did <b>${text("name")}</b> once${
        "value" in event ? `: ${shortValue(event["value"])}` : ""
      }`;
    case "opened":
      return markup`${who} ${text("kind") === "timer" ? "sleeps" : "waits for"} <b>${text("name")}</b>${
        typeof event["due"] === "number"
          ? markup`
            until ${time(event["due"])}
          `
          : ""
      }`;
    case "resolved": {
      const { kind, value } = objectOf(event["result"]);
      if (kind !== "answered") {
        return markup`${who}: ${kind === "fired" ? "the timer fired" : "the wait expired"}`;
      }
      return markup`${who} got the answer${value === undefined ? "" : ` ${shortValue(value)}`}`;
    }
    case "closed":
      return markup`${who}: a wait was closed (${text("reason")})`;
    case "reopened":
      return markup`${who}: an answer was refused, and the wait is open again`;
    case "suspended":
      return markup`${who} paused after ${span(number("at") - number("startedAt"))}`;
    case "returned":
      return markup`${who} ${
        event["posted"] === true ? "came back after the run was let go" : "came back by itself"
      }`;
    case "done": {
      const attempt = number("attempt") > 1 ? `, attempt ${text("attempt")}` : "";
      return markup`${who} done in ${span(number("at") - number("startedAt"))}${attempt}`;
    }
    case "failed":
      return markup`${who} failed for good, attempt ${attemptOf(event)}: ${problemOf(event["failure"])}`;
    case "folded":
      return undefined;
    case "routed": {
      const routes = Array.isArray(event["routes"]) ? event["routes"].map(objectOf) : [];
      return routes.length === 0
        ? undefined
        : routes.map(({ from, to, kind }) =>
          `${String(from)} → ${to === END ? "END" : String(to)}${
            kind === "static" ? "" : ` (${String(kind)})`
          }`
        ).join(", ");
    }
    case "halted": {
      const { kind, message } = objectOf(event["halt"]);
      return `halted (${String(kind)})${message === undefined ? "" : `: ${String(message)}`}`;
    }
    case "cancelled":
      return `cancelled: ${text("reason")}`;
    case "queued":
      return markup`waits for ${text("permit")}${
        typeof event["until"] === "number" ? markup` until ${time(event["until"])}` : ""
      }`;
    case "granted":
      return `got ${text("permit")} (${text("n")})`;
    case "freed":
      return `gave ${text("permit")} back (${text("n")})`;
    default:
      return type;
  }
}

function attemptOf(event: CheckpointEvent): string {
  return String(objectOf(event["failure"])["attempt"] ?? "");
}

/** A failure by its kind, and in the words of what was thrown where these may be seen. */
export function problemOf(failure: unknown): string {
  const { name, message } = objectOf(failure);
  return `${String(name)}: ${message === undefined ? "(its message is not shown here)" : String(message)}`;
}

function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? value as Readonly<Record<string, unknown>> : {};
}
