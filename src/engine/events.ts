import type { VertexFailure } from "../model/failure.ts";
import type { Halt, Route, RunRecord } from "../model/run.ts";
import type { WaitKind } from "../model/wait.ts";

/** What a run tells its observers: hooks, and the readers of `handle.events()`. `type` names the hook. */
export type RunEvent =
  | { readonly type: "runStart"; readonly run: RunRecord }
  /** The run completed, was cancelled, or was interrupted and released. */
  | { readonly type: "runFinish"; readonly run: RunRecord }
  | {
    readonly type: "step";
    readonly run: RunRecord;
    readonly step: number;
    readonly vertices: readonly string[];
  }
  | ({ readonly type: "vertexStart"; readonly startedAt: number } & OfVertex)
  | (
    & {
      readonly type: "vertexFinish";
      readonly status: "done" | "failed" | "suspended";
      readonly startedAt: number;
      readonly endedAt: number;
      readonly failure?: VertexFailure;
    }
    & OfVertex
  )
  | ({ readonly type: "attemptFailed"; readonly failure: VertexFailure; readonly nextAt: number } & OfVertex)
  | { readonly type: "edge"; readonly run: RunRecord; readonly route: Route }
  | { readonly type: "checkpoint"; readonly runId: string; readonly revision: number; readonly step: number }
  | {
    readonly type: "wait";
    readonly runId: string;
    readonly vertexId: string;
    readonly item?: number;
    readonly waitId: string;
    readonly kind: WaitKind;
    readonly name: string;
    readonly due?: number;
    readonly info?: unknown;
  }
  | {
    readonly type: "answer";
    readonly runId: string;
    readonly vertexId: string;
    readonly item?: number;
    readonly waitId: string;
  }
  | { readonly type: "halt"; readonly run: RunRecord; readonly halt: Halt }
  /** Sent by `ctx.emit`; recorded nowhere. */
  | {
    readonly type: "emit";
    readonly runId: string;
    readonly vertexId: string;
    readonly item?: number;
    readonly name: string;
    readonly data: unknown;
  };

interface OfVertex {
  readonly runId: string;
  readonly vertexId: string;
  readonly item?: number;
  readonly vertexRunId: string;
  readonly step: number;
  readonly attempt: number;
}

/** Observers of a run. They are called synchronously, never awaited, and what they throw is logged. */
export type Hooks = {
  readonly [T in RunEvent["type"]]?: (event: Extract<RunEvent, { type: T }>) => void;
};

/** Where the engine and `ctx.log` write. */
export interface Logger {
  info(message: string, fields: Readonly<Record<string, unknown>>): void;
  warn(message: string, fields: Readonly<Record<string, unknown>>): void;
}

/** Sends one event to every observer in order of registration. */
export function notify(
  observers: readonly Hooks[],
  logger: Logger,
  event: RunEvent,
): void {
  for (const hooks of observers) {
    try {
      const hook = hooks[event.type] as ((event: RunEvent) => unknown) | undefined;
      const answer = hook?.call(hooks, event);
      if (answer instanceof Promise) answer.catch((error) => faulty(logger, event, error));
    } catch (error) {
      faulty(logger, event, error);
    }
  }
}

function faulty(logger: Logger, event: RunEvent, error: unknown): void {
  try {
    logger.warn(`superstep: a hook failed on ${event.type}`, { error });
  } catch {
    // A logger that throws has nowhere left to be reported.
  }
}
