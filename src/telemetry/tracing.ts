import { trace, type Tracer } from "@opentelemetry/api";
import type { Hooks, Logger } from "../engine/events.ts";
import { isSuperstepError } from "../errors.ts";
import type { RunRecord } from "../model/run.ts";
import { VERSION } from "../runtime/version.ts";
import { failing } from "./attributes.ts";
import { Segment } from "./segment.ts";
import { traceOf } from "./trace_ids.ts";

/** Options of {@link tracing}. */
export interface TracingOptions {
  /** Makes the spans. @default `trace.getTracer("superstep")` of the provider that is registered globally */
  readonly tracer?: Tracer;
  /** Whether a run is traced. It must say the same of a run in every process. @default every run is */
  readonly sample?: (run: RunRecord) => boolean;
  /** Where faults of span processors and exporters are written; `false` or `null` for nowhere. @default the console */
  readonly logger?: Pick<Logger, "warn"> | false | null;
}

/**
 * Hooks that trace runs with OpenTelemetry. Give them to `compile`; the SDK, its exporter and a context manager are set
 * up by the program, as for any other library.
 *
 * A run is one trace, whatever it waits for and however many processes work on it: the trace id is derived from the run.
 * In it lie, one in another,
 *
 * - `run <graph>`: one stretch of work in one process, linked to the span that called `run`, `resume` or `recover`
 * - `step`: one super-step, or the part of it that this process did
 * - `vertex <id>`: one run of a body, linked to the one before it of the same execution. Spans that the task starts, and
 *   whatever instruments its clients, lie in this one.
 *
 * Waits, answers, retries and routes are events of the span that they belong to. Failures, halts and lost stores set the
 * status `ERROR`; an abort does not. Inputs, states, outputs, infos and answers are never recorded. Nothing that happens
 * in here can harm a run.
 *
 * @example
 * ```ts
 * const graph = new GraphBuilder({ id: "hello", schema: z.object({ name: z.string() }) })
 *   .addVertex({ id: "greet", task: { execute: (name: string) => `Hello ${name}` }, select: (s) => s.name, reduce: () => {} })
 *   .build({ entry: "greet", finish: "greet" });
 *
 * const runner = compile(graph, { store: memoryStore(), hooks: tracing() });
 * assert.equal((await runner.run({ name: "Ada" })).status, "completed");
 * ```
 */
export function tracing(options: TracingOptions = {}): Hooks {
  const { tracer = trace.getTracer("superstep", VERSION), sample = () => true, logger = console } = options;
  const segments = new Map<string, Segment>();
  const of = (event: { readonly runId: string }) => segments.get(event.runId);

  const begin = (run: RunRecord, attributes: Readonly<Record<string, boolean>> = {}): Segment => {
    const blame = (error: unknown) => {
      if (logger) logger.warn("superstep: a span processor failed", { error });
    };
    return new Segment(tracer, traceOf(run, sample(run)), run, { attributes, blame });
  };
  const open = (run: RunRecord, attributes?: Readonly<Record<string, boolean>>) => {
    // A takeover within one process is told before the work that it replaces has ended.
    segments.get(run.runId)?.end(run);
    segments.delete(run.runId);
    segments.set(run.runId, begin(run, attributes));
  };

  return {
    checkpoint: (e) => of(e)?.recorded(e.at),
    runStart: ({ run }) => open(run),
    runResume: ({ run, recovery }) => open(run, { "superstep.run.recovery": recovery }),
    around: (start, body) => {
      const segment = of(start);
      return segment === undefined ? body() : segment.body(start, body);
    },
    attemptFailed: (e) => of(e)?.attemptFailed(e),
    vertexFinish: (e) => of(e)?.finished(e),
    wait: (e) =>
      of(e)?.note("superstep.wait", e, {
        "superstep.wait.id": e.waitId,
        "superstep.wait.name": e.name,
        "superstep.wait.kind": e.kind,
        ...(e.due === undefined ? {} : { "superstep.wait.due": new Date(e.due).toISOString() }),
      }),
    answer: (e) => of(e)?.note("superstep.answer", e, { "superstep.wait.id": e.waitId }),
    waitClosed: (e) =>
      of(e)?.note("superstep.wait.closed", e, {
        "superstep.wait.id": e.waitId,
        "superstep.wait.reason": e.reason,
      }),
    edge: ({ run, route: { from, to, kind } }) =>
      of(run)?.note("superstep.edge", { vertexId: from }, {
        "superstep.edge.to": to,
        "superstep.edge.kind": kind,
      }),
    step: (e) => of(e.run)?.stepped(e),
    halt: (e) => of(e.run)?.halted(e),
    runFinish: ({ run }) => {
      // A run that nobody was at work on is cancelled or halted in no time.
      const segment = segments.get(run.runId) ?? begin(run);
      segments.delete(run.runId);
      segment.end(run);
    },
    runLeave: ({ run, error }) => {
      const segment = segments.get(run.runId);
      // Work that was replaced within this process learns of it when its place is taken.
      if (segment === undefined || segment.revision > run.revision) return;
      segments.delete(run.runId);
      segment.left(run, failing(error), isSuperstepError(error, "RUN_ABORTED"));
    },
  };
}
