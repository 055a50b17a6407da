import type { VertexFailure } from "../model/failure.ts";
import type { RecordEvent } from "../checkpoint/records.ts";
import type { Checkpoint } from "../model/checkpoint.ts";
import { type Hooks, type Logger, notify } from "./events.ts";
import { hookEventsOf } from "./hook_events.ts";
import { userFrame } from "../errors/user_frame.ts";

/** Tells observers, and the log where it is of failures, what a record tells; most records are told to nobody. */
export function announce(
  observers: readonly Hooks[],
  logger: Logger,
  before: Checkpoint,
  after: Checkpoint,
  events: readonly RecordEvent[],
): void {
  const all = events.some(isLogged) ? [failureLog(logger), ...observers] : observers;
  if (all.length === 0) return;
  for (const told of hookEventsOf(before, after, events)) notify(all, logger, told);
}

function isLogged(event: RecordEvent): boolean {
  const { type } = event;
  return type === "attempt_failed" || type === "failed" || type === "halted" ||
    (type === "claimed" && event.recovery);
}

/**
 * Writes one line for each attempt and vertex that fails, for each halt, and for each run that is recovered; the field
 * `event` names the hook that is told of it, for loggers that write it otherwise.
 */
function failureLog(logger: Logger): Hooks {
  return {
    attemptFailed: ({ failure, stack, nextAt, ...of }) =>
      logger.warn(
        `superstep: run ${of.runId}: attempt ${of.attempt} of ${
          nameOf(of)
        } failed, and there is another one: ${told(failure, stack)}`,
        { event: "attemptFailed", ...placeOf(of), nextAt },
      ),
    vertexFinish: ({ failure, stack, ...of }) => {
      if (failure === undefined) return;
      logger.warn(
        `superstep: run ${of.runId}: ${nameOf(of)} failed at attempt ${of.attempt}: ${told(failure, stack)}`,
        { event: "vertexFinish", ...placeOf(of) },
      );
    },
    halt: ({ run: { runId, graphId }, halt: { kind, step, message } }) =>
      logger.warn(`superstep: run ${runId} is halted at step ${step} (${kind}): ${oneLine(message)}`, {
        event: "halt",
        runId,
        graphId,
      }),
    runResume: ({ run: { runId, graphId }, recovery }) => {
      if (recovery) {
        logger.info(`superstep: run ${runId} goes on here, its process is dead`, {
          event: "runResume",
          runId,
          graphId,
        });
      }
    },
  };
}

interface OfVertex {
  readonly runId: string;
  readonly vertexId: string;
  readonly item?: number;
  readonly attempt: number;
}

function placeOf({ runId, vertexId, item, attempt }: OfVertex): Record<string, unknown> {
  return { runId, vertexId, ...(item === undefined ? {} : { item }), attempt };
}

function nameOf({ vertexId, item }: OfVertex): string {
  return item === undefined ? `vertex ${vertexId}` : `item ${item} of vertex ${vertexId}`;
}

function told({ name, message }: VertexFailure, stack: string | undefined): string {
  const frame = stack === undefined ? undefined : userFrame(stack);
  return `${name}: ${oneLine(message)}${frame === undefined ? "" : ` at ${frame}`}`;
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim().slice(0, MAX_MESSAGE);
}

const MAX_MESSAGE = 500;
