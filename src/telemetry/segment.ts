import {
  type Attributes,
  type Context,
  context,
  type HrTime,
  type Link,
  type Span,
} from "@opentelemetry/api";
import { type SpanContext, SpanStatusCode, trace, type Tracer } from "@opentelemetry/api";
import type { RunEvent, VertexStart } from "../engine/events.ts";
import { executionKey } from "../model/checkpoint.ts";
import { defined } from "../model/defined.ts";
import type { RunRecord } from "../model/run.ts";
import { fail, type Failing, identityOf, standingOf, timeOf, vertexOf } from "./attributes.ts";

type Of<T extends RunEvent["type"]> = Extract<RunEvent, { type: T }>;

/**
 * The spans of one stretch of work on a run in one process: the segment, its steps, and in them every run of a body.
 *
 * 1. A body's span is opened with the body and closed with the record that says what came of it; what is told of the
 *    execution by the same record still belongs to it.
 * 2. Whatever is open when the segment ends is closed with it, children first.
 */
export class Segment {
  readonly #tracer: Tracer;
  readonly #base: Context;
  readonly #span: Span;
  /** The revision that it began with. */
  readonly revision: number;
  /** Told of what a span processor threw. */
  readonly #blame: (error: unknown) => void;
  readonly #bodies = new Map<string, Span>();
  /** The newest closed span of each execution of the step. */
  readonly #former = new Map<string, SpanContext>();
  readonly #closing = new Map<Span, HrTime>();
  #step: { readonly index: number; readonly span: Span } | undefined;
  #at: HrTime;

  constructor(tracer: Tracer, parent: SpanContext, run: RunRecord, more: SegmentStart) {
    this.#tracer = tracer;
    this.#blame = more.blame;
    this.revision = run.revision;
    this.#at = timeOf(run.updatedAt);
    const base = context.active();
    const caller = trace.getSpanContext(base);
    this.#base = trace.setSpanContext(base, parent);
    this.#span = tracer.startSpan(`run ${run.graphId}`, {
      startTime: this.#at,
      attributes: { ...identityOf(run), ...more.attributes },
      ...(caller === undefined ? {} : { links: [{ context: caller }] }),
    }, this.#base);
  }

  /** A record of this time has become durable. */
  recorded(at: number): void {
    this.#at = timeOf(at);
  }

  /** Runs a body in a span of its own. */
  body(start: VertexStart, body: () => unknown): unknown {
    const key = executionKey(start.vertexId, start.item);
    const startTime = timeOf(start.startedAt);
    this.#flush();
    const outdated = this.#bodies.get(key);
    if (outdated !== undefined) this.#end(outdated, startTime);
    const former = this.#former.get(key);
    const links: Link[] = former === undefined ? [] : [{ context: former }];
    const parent = trace.setSpan(this.#base, this.#stepAt(start.step, startTime));
    const span = this.#tracer.startSpan(`vertex ${start.vertexId}`, {
      startTime,
      links,
      attributes: {
        "superstep.run.id": start.runId,
        "superstep.step": start.step,
        ...vertexOf(start),
        "superstep.vertex.run_id": start.vertexRunId,
        "superstep.vertex.attempt": start.attempt,
      },
    }, parent);
    this.#bodies.set(key, span);
    this.#former.set(key, span.spanContext());
    return context.with(trace.setSpan(this.#base, span), body);
  }

  attemptFailed(event: Of<"attemptFailed">): void {
    const span = this.#bodies.get(executionKey(event.vertexId, event.item));
    if (span === undefined) return;
    span.setAttribute("superstep.vertex.status", "retrying");
    span.addEvent(
      "superstep.retry",
      { "superstep.retry.at": new Date(event.nextAt).toISOString() },
      this.#at,
    );
    this.#close(span, this.#at, failingOf(event));
  }

  finished(event: Of<"vertexFinish">): void {
    const span = this.#bodies.get(executionKey(event.vertexId, event.item));
    const end = timeOf(event.endedAt);
    if (span !== undefined) {
      span.setAttribute("superstep.vertex.status", event.status);
      return this.#close(span, end, failingOf(event));
    }
    // What has no body of its own fails as a part of its step: a selector, a map vertex, a reducer.
    if (event.failure === undefined) return;
    const step = this.#stepAt(event.step, end);
    step.addEvent("superstep.vertex.failed", { ...vertexOf(event), "error.type": event.failure.name }, end);
    step.setStatus({ code: SpanStatusCode.ERROR, message: event.failure.message });
  }

  /** Notes an event on the execution that it is about, or on the step. */
  note(name: string, event: { readonly vertexId: string; readonly item?: number }, more: Attributes): void {
    const span = this.#bodies.get(executionKey(event.vertexId, event.item)) ?? this.#step?.span ?? this.#span;
    span.addEvent(name, { ...vertexOf(event), ...more }, this.#at);
  }

  stepped(event: Of<"step">): void {
    this.#stepAt(event.step, this.#at).setAttribute("superstep.step.vertices", [...event.vertices]);
    this.#endStep();
  }

  halted(event: Of<"halt">): void {
    const { kind, message } = event.halt;
    fail(this.#span, { name: "Halt", message, code: kind }, this.#at);
  }

  /** Ends everything with the run's end, or with its release. */
  end(run: RunRecord): void {
    this.#endStep();
    this.#span.setAttributes(standingOf(run));
    if (run.reason === "errored") {
      this.#span.setStatus({ code: SpanStatusCode.ERROR, message: "a vertex failed" });
    }
    this.#end(this.#span, this.#at);
  }

  /** Ends everything although the run goes on, by order or because it had to. */
  left(run: RunRecord, why: Failing, ordered: boolean): void {
    this.#endStep();
    if (ordered) this.#span.setAttribute("superstep.run.left", why.code ?? why.name);
    else fail(this.#span, why, this.#at);
    this.end(run);
  }

  #stepAt(index: number, at: HrTime): Span {
    if (this.#step?.index === index) return this.#step.span;
    this.#endStep();
    const span = this.#tracer.startSpan("step", {
      startTime: at,
      attributes: { "superstep.step": index },
    }, trace.setSpan(this.#base, this.#span));
    this.#step = { index, span };
    return span;
  }

  #endStep(): void {
    this.#flush();
    for (const span of this.#bodies.values()) this.#end(span, this.#at);
    this.#bodies.clear();
    this.#former.clear();
    if (this.#step !== undefined) this.#end(this.#step.span, this.#at);
    this.#step = undefined;
  }

  /** Ends a body's span once everything that its record tells has been told. */
  #close(span: Span, at: HrTime, failure: Failing | undefined): void {
    if (failure !== undefined) fail(span, failure, at);
    if (this.#closing.size === 0) queueMicrotask(() => this.#flush());
    this.#closing.set(span, at);
  }

  #flush(): void {
    for (const [key, span] of this.#bodies) {
      const at = this.#closing.get(span);
      if (at === undefined) continue;
      this.#bodies.delete(key);
      this.#end(span, at);
    }
    this.#closing.clear();
  }

  /** A processor that throws keeps no other span open. */
  #end(span: Span, at: HrTime): void {
    try {
      span.end(at);
    } catch (error) {
      this.#blame(error);
    }
  }
}

/** How a segment begins. */
export interface SegmentStart {
  readonly attributes: Attributes;
  /** Told of what a span processor threw. */
  readonly blame: (error: unknown) => void;
}

function failingOf({ failure, stack }: Of<"attemptFailed"> | Of<"vertexFinish">): Failing | undefined {
  return failure === undefined ? undefined : { ...failure, ...defined({ stack }) };
}
