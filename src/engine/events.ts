import type { VertexFailure } from "../model/failure.ts";
import type { Halt, Route, RunRecord } from "../model/run.ts";
import type { WaitCloseReason, WaitKind } from "../model/wait.ts";

/** What a run tells its observers: hooks, and the readers of `handle.events()`. `type` names the hook. */
export type RunEvent =
  /** The run is at work for the first time. */
  | { readonly type: "runStart"; readonly run: RunRecord }
  /** This process goes on with the run; `recovery` when its former process is dead. */
  | { readonly type: "runResume"; readonly run: RunRecord; readonly recovery: boolean }
  /** The run completed, was cancelled, or was interrupted and released. */
  | { readonly type: "runFinish"; readonly run: RunRecord }
  /** This process no longer works on the run, which is not over: it was aborted or replaced, or the store failed. */
  | { readonly type: "runLeave"; readonly run: RunRecord; readonly error: unknown }
  | {
    readonly type: "step";
    readonly run: RunRecord;
    readonly step: number;
    readonly vertices: readonly string[];
  }
  /** `items`: of an item of a map vertex, how many there are. */
  | ({ readonly type: "vertexStart"; readonly startedAt: number; readonly items?: number } & OfVertex)
  | (
    & {
      readonly type: "vertexFinish";
      readonly status: "done" | "failed" | "suspended";
      readonly startedAt: number;
      readonly endedAt: number;
      readonly failure?: VertexFailure;
      /** Where the error was thrown, with what caused it. */
      readonly stack?: string;
    }
    & OfVertex
  )
  | (
    & {
      readonly type: "attemptFailed";
      readonly failure: VertexFailure;
      readonly nextAt: number;
      /** Where the error was thrown, with what caused it. */
      readonly stack?: string;
    }
    & OfVertex
  )
  | { readonly type: "edge"; readonly run: RunRecord; readonly route: Route }
  /** A record has become durable; what follows from it is told next. */
  | {
    readonly type: "checkpoint";
    readonly runId: string;
    readonly revision: number;
    readonly step: number;
    readonly at: number;
  }
  | {
    readonly type: "wait";
    readonly runId: string;
    readonly vertexId: string;
    readonly item?: number;
    readonly waitId: string;
    readonly kind: WaitKind;
    readonly name: string;
    readonly key?: string;
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
  /** A wait is over without an answer: its time has come, or nobody waits for it any more. */
  | {
    readonly type: "waitClosed";
    readonly runId: string;
    readonly vertexId: string;
    readonly item?: number;
    readonly waitId: string;
    readonly reason: Exclude<WaitCloseReason, "answered">;
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

/** @internal */
interface OfVertex {
  readonly runId: string;
  readonly vertexId: string;
  readonly item?: number;
  readonly vertexRunId: string;
  readonly step: number;
  readonly attempt: number;
}

/** An execution that begins. */
export type VertexStart = Extract<RunEvent, { type: "vertexStart" }>;

/** Observers of a run. They are called synchronously, never awaited, and what they throw is logged. */
export type Hooks =
  & { readonly [T in RunEvent["type"]]?: (event: Extract<RunEvent, { type: T }>) => void }
  & {
    /**
     * Runs `body` within whatever surrounds it, such as an `AsyncLocalStorage`: every run of a body of a vertex, also
     * those after a wait or a failed attempt. What the body comes to is its own, whatever is thrown or returned here; a
     * body that is not run here is run afterwards, and one that is run twice gives what it gave the first time.
     */
    readonly around?: (start: VertexStart, body: () => unknown) => void;
  };

/** Hooks as given in options, as a list. */
export function hooksOf(hooks: Hooks | readonly Hooks[] | undefined): readonly Hooks[] {
  if (hooks === undefined) return [];
  return isList(hooks) ? hooks : [hooks];
}

function isList(hooks: Hooks | readonly Hooks[]): hooks is readonly Hooks[] {
  return Array.isArray(hooks);
}

/** Where the engine and `ctx.log` write. */
export interface Logger {
  /** Something that is worth knowing, such as what `ctx.log` writes. */
  info(message: string, fields: Readonly<Record<string, unknown>>): void;
  /** Something that somebody should look at, such as a hook that failed. */
  warn(message: string, fields: Readonly<Record<string, unknown>>): void;
}

/** Warnings on the console, and what bodies log; what the line of an event says is not said again. */
export const consoleLogger: Logger = {
  info: (message, fields) =>
    fields["event"] === undefined ? console.info(message, fields) : console.info(message),
  warn: (message, fields) =>
    fields["event"] === undefined ? console.warn(message, fields) : console.warn(message),
};

/** A logger that neither throws nor rejects: what a user's logger fails with has nowhere left to be reported. */
export function safeLogger(logger: Logger): Logger {
  const write = (level: keyof Logger): Logger[keyof Logger] => (message, fields) => {
    try {
      const answer: unknown = logger[level](message, fields);
      if (answer instanceof Promise) answer.catch(() => {});
    } catch {
      // See above.
    }
  };
  return { info: write("info"), warn: write("warn") };
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
      if (answer instanceof Promise) answer.catch((error) => faulty(logger, event.type, error));
    } catch (error) {
      faulty(logger, event.type, error);
    }
  }
}

/** Reports what a hook threw. */
export function faulty(logger: Logger, hook: string, error: unknown): void {
  logger.warn(`superstep: a hook failed on ${hook}`, { error });
}
