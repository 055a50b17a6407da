import type { Runtime, Timer } from "../runtime/runtime.ts";

/** Times of a stream, in milliseconds. */
export interface StreamTimes {
  readonly heartbeat: number;
  readonly stall: number;
  readonly lifetime: number;
}

/** A message of a stream. */
export interface StreamMessage {
  /** After which the reader goes on when it comes back. */
  readonly id: string;
  readonly event: string;
  /** JSON. */
  readonly data: unknown;
}

/** What a stream sends, and how it is ended from outside. */
export interface StreamSource<T> {
  /** What happens to the run, in order; ends when the run does, or with the signal. */
  events(signal: AbortSignal): AsyncIterableIterator<T>;
  /** An event as the reader may see it. */
  show(event: T): StreamMessage;
  /** Aborting it closes the stream. */
  readonly signal: AbortSignal | undefined;
  /** Called once, when nothing of the stream is left. */
  closed(): void;
  /** Told of a fault that ends the stream; its reader comes back for the rest. */
  failed(error: unknown): void;
}

/**
 * What happens to a run as server-sent events.
 *
 * 1. Everything is done when the reader asks, one message at a time: nothing piles up for one that reads slowly, and of
 *    one that never reads nothing is kept but its timers.
 * 2. The stream ends with the events, when the reader leaves, stalls or has had its time, when the
 *    signal is aborted, and on a fault; then no timer, listener or reading is left. What was sent last can be resumed after.
 */
export function eventStream<T>(
  source: StreamSource<T>,
  times: StreamTimes,
  runtime: Runtime,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  const leaving = new AbortController();
  const events = source.events(leaving.signal);
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  let wanted: (() => void) | undefined;
  let ready: string | undefined = "retry: 1000\n\n";
  let reading = false;
  let over = false;
  let heartbeat: Timer | undefined;
  const lifetime = after(times.lifetime, end);
  // A stream that nobody begins to read is one whose reader stalls.
  let stall: Timer | undefined = after(times.stall, end);
  source.signal?.addEventListener("abort", end);
  return new ReadableStream<Uint8Array>({
    start(given) {
      controller = given;
      if (source.signal?.aborted) end();
    },
    async pull() {
      stall?.cancel();
      while (ready === undefined && !over) await next();
      if (ready === undefined || over) return;
      controller?.enqueue(encoder.encode(ready));
      ready = undefined;
      stall = after(times.stall, end);
    },
    cancel() {
      controller = undefined;
      end();
    },
  }, { highWaterMark: 0 });

  /** Resolves when there is something to send, or the stream is over. */
  function next(): Promise<void> {
    return new Promise<void>((resolve) => {
      wanted = resolve;
      heartbeat = after(times.heartbeat, () => offer(": alive\n\n"));
      if (!reading) void read();
    });
  }

  async function read(): Promise<void> {
    reading = true;
    try {
      const { done, value } = await events.next();
      if (done === true) return end();
      const { id, event, data } = source.show(value);
      offer(`id: ${id}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
    } catch (error) {
      if (!over) source.failed(error);
      end();
    } finally {
      reading = false;
    }
  }

  function offer(message: string): void {
    ready = message;
    wake();
  }

  function wake(): void {
    heartbeat?.cancel();
    wanted?.();
    wanted = undefined;
  }

  function end(): void {
    if (over) return;
    over = true;
    for (const timer of [stall, lifetime]) timer?.cancel();
    source.signal?.removeEventListener("abort", end);
    leaving.abort();
    events.return?.().catch(() => {});
    wake();
    controller?.close();
    source.closed();
  }

  function after(ms: number, run: () => void): Timer {
    return runtime.wakeIn(ms, run, { keepAlive: false });
  }
}
