import type { Colours } from "../colours.ts";
import type { VertexFailure } from "../../model/failure.ts";
import { userFrame } from "../../errors/user_frame.ts";
import type { RunEvent } from "../../engine/events.ts";
import { dateTime, span } from "../format.ts";
import type { OutStream } from "../io.ts";
import { line, shortJson } from "../printable.ts";
import { MARKS, PAINT } from "./marks.ts";
import type { RowState } from "./model.ts";

/** One line per event, for files and pipes. */
export class PlainView {
  readonly #stream: OutStream;
  readonly #colours: Colours;

  constructor(stream: OutStream, colours: Colours) {
    this.#stream = stream;
    this.#colours = colours;
  }

  apply(event: RunEvent): void {
    const told = tell(event);
    if (told === undefined) return;
    const [state, text] = told;
    this.print(state === undefined ? `· ${text}` : `${PAINT[state](this.#colours)(MARKS[state])} ${text}`);
  }

  print(text: string): void {
    this.#stream.write(`${text}\n`);
  }

  close(): void {}
}

function tell(event: RunEvent): readonly [RowState | undefined, string] | undefined {
  switch (event.type) {
    case "vertexStart":
      return ["running", nameOf(event)];
    case "vertexFinish": {
      const { status, startedAt, endedAt, attempt } = event;
      if (status === "suspended") return undefined;
      if (status === "failed") return ["failed", `${nameOf(event)}  ${problemOf(event)}`];
      return [
        "done",
        `${nameOf(event)}  ${span(endedAt - startedAt)}${attempt > 1 ? `, attempt ${attempt}` : ""}`,
      ];
    }
    case "attemptFailed": {
      const { attempt, nextAt } = event;
      return [
        "backoff",
        `${nameOf(event)}  attempt ${attempt} failed: ${problemOf(event)}; again in ${
          span(nextAt - Date.now())
        }`,
      ];
    }
    case "wait": {
      const { name, kind, waitId, due } = event;
      const until = due === undefined ? "" : `, until ${dateTime(due)}`;
      return [
        "waiting",
        `${nameOf(event)}  ${
          kind === "timer" ? `sleeps (${line(name)})` : `waits for ${line(name)} ${waitId}`
        }${until}`,
      ];
    }
    case "emit":
      return [undefined, `${nameOf(event)}  ${line(event.name)} ${shortJson(event.data)}`];
    default:
      return undefined;
  }
}

/** What was thrown, and where in the user's code. */
function problemOf(
  { failure, stack = "" }: { readonly failure?: VertexFailure; readonly stack?: string },
): string {
  const frame = userFrame(stack);
  return `${line(failure?.message ?? "failed", 200)}${frame === undefined ? "" : `, at ${line(frame)}`}`;
}

/** A vertex, or an item of one. */
export function nameOf({ vertexId, item }: { readonly vertexId: string; readonly item?: number }): string {
  return item === undefined ? vertexId : `${vertexId}[${item}]`;
}
