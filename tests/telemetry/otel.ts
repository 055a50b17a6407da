import { context, type HrTime, type Tracer } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
  type SpanProcessor,
} from "@opentelemetry/sdk-trace-base";

/** A finished span as plain data, so that several processes can hand theirs over. */
export interface SpanOf {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentId: string | undefined;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly events: readonly {
    readonly name: string;
    readonly attributes: Readonly<Record<string, unknown>>;
  }[];
  /** Span ids. */
  readonly links: readonly string[];
  readonly error: string | undefined;
  readonly start: number;
  readonly end: number;
}

/** Spans in memory, in order of their end. */
export interface Recorded {
  readonly tracer: Tracer;
  spans(): Promise<readonly SpanOf[]>;
}

/** A provider of its own; the context manager is the process's, for there can be only one. */
export function recording(...more: readonly SpanProcessor[]): Recorded {
  context.setGlobalContextManager(manager);
  const exporter = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter), ...more] });
  return {
    tracer: provider.getTracer("tests"),
    spans: async () => {
      await provider.forceFlush();
      return exporter.getFinishedSpans().map(plain);
    },
  };
}

const manager = new AsyncLocalStorageContextManager().enable();

function plain(span: ReadableSpan): SpanOf {
  return {
    name: span.name,
    traceId: span.spanContext().traceId,
    spanId: span.spanContext().spanId,
    parentId: span.parentSpanContext?.spanId,
    attributes: span.attributes,
    events: span.events.map((e) => ({ name: e.name, attributes: e.attributes ?? {} })),
    links: span.links.map((link) => link.context.spanId),
    error: span.status.code === 2 ? span.status.message ?? "" : undefined,
    start: ms(span.startTime),
    end: ms(span.endTime),
  };
}

function ms([seconds, nanos]: HrTime): number {
  return seconds * 1_000 + nanos / 1e6;
}

/** Spans as an indented tree by name, children in order of their start, then of their name. */
export function treeOf(spans: readonly SpanOf[]): string[] {
  const ids = new Set(spans.map((span) => span.spanId));
  const below = (parent: SpanOf | undefined, depth: number): string[] =>
    spans
      .filter((s) => parent === undefined ? !ids.has(s.parentId ?? "") : s.parentId === parent.spanId)
      .toSorted((a, b) => a.start - b.start || (a.name < b.name ? -1 : 1))
      .flatMap((s) => [`${"  ".repeat(depth)}${s.name}`, ...below(s, depth + 1)]);
  return below(undefined, 0);
}
