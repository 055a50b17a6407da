import { type Attributes, type Exception, type HrTime, type Span, SpanStatusCode } from "@opentelemetry/api";
import { isSuperstepError } from "../errors.ts";
import { defined } from "../model/defined.ts";
import type { RunRecord } from "../model/run.ts";

/** A time of the engine's clock, in a form that no SDK takes for an offset from the start of the process. */
export function timeOf(ms: number): HrTime {
  const seconds = Math.floor(ms / 1_000);
  return [seconds, Math.round((ms - seconds * 1_000) * 1e6)];
}

/** What names a run. */
export function identityOf(run: RunRecord): Attributes {
  return {
    "superstep.graph.id": run.graphId,
    "superstep.graph.version": run.graphVersion,
    "superstep.run.id": run.runId,
  };
}

/** How a run stands. */
export function standingOf(run: RunRecord): Attributes {
  return {
    "superstep.run.status": run.status,
    ...(run.reason === undefined ? {} : { "superstep.run.reason": run.reason }),
    ...(run.cancelReason === undefined ? {} : { "superstep.run.cancel_reason": run.cancelReason }),
    "superstep.run.revision": run.revision,
    "superstep.step": run.step,
  };
}

/** What names a vertex, or an item of it. */
export function vertexOf(event: { readonly vertexId: string; readonly item?: number }): Attributes {
  return {
    "superstep.vertex.id": event.vertexId,
    ...(event.item === undefined ? {} : { "superstep.vertex.item": event.item }),
  };
}

/** Marks a span as failed. */
export function fail(span: Span, error: Failing, at: HrTime): void {
  const type = error.code ?? error.name;
  span.setAttribute("error.type", type);
  span.setStatus({ code: SpanStatusCode.ERROR, message: error.message });
  const { name, message, stack } = error;
  span.recordException({ name, message, code: type, ...defined({ stack }) } satisfies Exception, at);
}

/** An error, or its recorded likeness. */
export interface Failing {
  readonly name: string;
  readonly message: string;
  readonly code?: string;
  readonly stack?: string;
}

/** Whatever was thrown, as an error. */
export function failing(error: unknown): Failing {
  if (isSuperstepError(error)) return { name: error.name, message: error.message, code: error.code };
  return error instanceof Error
    ? { name: error.name, message: error.message }
    : { name: "Error", message: String(error) };
}
