import { type SpanContext, TraceFlags } from "@opentelemetry/api";
import type { RunRecord } from "../model/run.ts";
import { sha256Hex } from "../runtime/hash.ts";

/**
 * The trace of a run, and the parent of its segments in every process. Both ids are derived from what the run's record
 * holds, so that any process goes on with the trace without asking another; no span of its own has the parent's id.
 */
export function traceOf(run: RunRecord, sampled: boolean): SpanContext {
  const hex = sha256Hex(`superstep/graph=${run.graphId}/run=${run.runId}/created=${run.createdAt}`);
  return {
    traceId: hex.slice(0, 32),
    spanId: hex.slice(32, 48),
    traceFlags: sampled ? TraceFlags.SAMPLED : TraceFlags.NONE,
    isRemote: true,
  };
}
