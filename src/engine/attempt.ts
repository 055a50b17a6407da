import { canonical } from "../checkpoint/canonical.ts";
import { ContextError, isSuperstepError, VertexTimeoutError } from "../errors.ts";
import type { Task } from "../model/definition.ts";
import type { FaultPhase } from "../model/failure.ts";
import type { Timer } from "../runtime/runtime.ts";
import type { BodyEnd, BodyInfo, BodyPort } from "./body.ts";
import { BodyContext } from "./context.ts";
import { isPauseSignal } from "./pause.ts";

/**
 * One run of one body.
 *
 * 1. It settles exactly once: with the body, at its timeout, or when it is abandoned; whatever comes later is ignored.
 * 2. Its signal is its own and is aborted with a typed reason whenever it ends before the body does.
 * 3. It never rejects.
 */
export class Attempt {
  /** Made when it is first asked for: most bodies never do. */
  #controller: AbortController | undefined;
  #reason: Error | undefined;
  readonly #context: BodyContext;
  readonly #info: AttemptInfo;
  readonly #done: (settlement: Settlement) => void;
  #startedAt = NaN;
  #begunAt = NaN;
  #timer: Timer | undefined;
  #ended = false;

  constructor(info: AttemptInfo, port: Omit<BodyPort, "signal">, done: (settlement: Settlement) => void) {
    this.#info = info;
    this.#done = done;
    const live: BodyPort = {
      signal: () => this.#signal(),
      record: (event) => this.#ended ? new Promise(() => {}) : port.record(event),
      open: (event, before) => this.#ended || port.open(event, before),
      refuse: (waitId, error) => this.#ended || port.refuse(waitId, error),
      emit: (type, data) => this.#ended || port.emit(type, data),
      log: port.log,
    };
    this.#context = new BodyContext(info, live);
  }

  /** When the body was started. */
  get startedAt(): number {
    return this.#startedAt;
  }

  /** From now on its time counts. */
  begin(): void {
    this.#startedAt = this.#info.runtime.now();
    this.#begunAt = this.#info.runtime.elapsed();
  }

  /** Runs the body, within `enclosed` where something surrounds it. */
  run(enclosed?: (body: () => unknown) => unknown): void {
    const limit = this.#limit();
    if (limit !== undefined) {
      this.#timer = this.#info.runtime.wakeIn(limit.ms, () => this.#timeOut(limit));
    }
    void this.#run(enclosed);
  }

  /** Ends the attempt for a reason of the engine's; nothing is reported. */
  abandon(reason: Error): void {
    if (this.#ended) return;
    this.#end();
    this.#abort(reason);
  }

  #signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#reason !== undefined) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  #abort(reason: Error): void {
    this.#reason = reason;
    this.#controller?.abort(reason);
  }

  async #run(enclosed: ((body: () => unknown) => unknown) | undefined): Promise<void> {
    const { task, input } = this.#info;
    let body: Body;
    try {
      body = {
        output: await (enclosed === undefined
          ? task.execute(input, this.#context)
          : enclosed(() =>
            task.execute(input, this.#context)
          )),
      };
    } catch (error) {
      body = { error };
    }
    const end = this.#context.settle("output" in body);
    const settlement = this.#settlement(body, end instanceof Promise ? await end : end);
    if (this.#ended) return this.#obeyed(settlement) ? undefined : this.#info.late(settlement);
    this.#end();
    this.#done(settlement);
  }

  /** Whether the body ended because its signal told it to: then there is nothing to report. */
  #obeyed(settlement: Settlement): boolean {
    const reason = this.#reason;
    if (reason === undefined || settlement.kind !== "failed") return false;
    try {
      return settlement.error === reason || (settlement.error as Error).name === "AbortError";
    } catch {
      return false;
    }
  }

  #settlement(body: Body, end: BodyEnd): Settlement {
    if (end.kind === "fault") return this.#fault(end.error);
    if (end.kind === "paused") return { kind: "suspended", ...this.#times() };
    if ("error" in body) {
      const { error } = body;
      if (!isPauseSignal(error)) return this.#fault(error);
      return this.#info.isOpen(error.waitId) ? { kind: "suspended", ...this.#times() } : this.#fault(
        new ContextError(
          `the body of vertex ${this.#info.vertex.id} asked again for a wait that a later opening has closed; ` +
            `a body must ask for its waits in the same order whenever it runs`,
        ),
      );
    }
    try {
      const output = canonical(body.output, `the output of vertex ${this.#info.vertex.id}`);
      return { kind: "done", output, ...this.#times() };
    } catch (error) {
      return this.#fault(error);
    }
  }

  #fault(error: unknown): Settlement {
    return { kind: "failed", error, phase: phaseOf(error), ...this.#times() };
  }

  #times() {
    const { runtime } = this.#info;
    return {
      startedAt: this.#startedAt,
      endedAt: runtime.now(),
      tookMs: Math.round(runtime.elapsed() - this.#begunAt),
      attempt: this.#context.attempt,
    };
  }

  #limit(): { readonly scope: "attempt" | "total"; readonly ms: number; readonly of: number } | undefined {
    const { attemptMs, totalMs } = this.#info.vertex.timeout;
    const left = totalMs === undefined ? Infinity : totalMs - this.#info.execution.spentMs;
    if (totalMs !== undefined && left < (attemptMs ?? Infinity)) {
      return { scope: "total", ms: left, of: totalMs };
    }
    return attemptMs === undefined ? undefined : { scope: "attempt", ms: attemptMs, of: attemptMs };
  }

  #timeOut(limit: { readonly scope: "attempt" | "total"; readonly of: number }): void {
    if (this.#ended) return;
    const error = new VertexTimeoutError(this.#info.vertex.id, limit.scope, limit.of);
    const settlement = this.#fault(error);
    this.#end();
    this.#abort(error);
    this.#done(settlement);
  }

  #end(): void {
    this.#ended = true;
    this.#timer?.cancel();
    this.#context.abandon();
  }
}

type Body = { readonly output: unknown } | { readonly error: unknown };

/** What an attempt is made of. */
export interface AttemptInfo extends BodyInfo {
  readonly task: Task<unknown, unknown>;
  readonly input: unknown;
  /** Whether this wait of the execution is open now. */
  isOpen(waitId: string): boolean;
  /** Told of a body that settled after its attempt had ended. */
  late(settlement: Settlement): void;
}

/** How an attempt ended. */
export type Settlement =
  & {
    readonly startedAt: number;
    readonly endedAt: number;
    /** How long the body was at work, however the clock was set meanwhile. */
    readonly tookMs: number;
    readonly attempt: number;
  }
  & (
    | { readonly kind: "done"; readonly output: unknown }
    | { readonly kind: "suspended" }
    | { readonly kind: "failed"; readonly error: unknown; readonly phase: FaultPhase }
  );

function phaseOf(error: unknown): FaultPhase {
  if (isSuperstepError(error, "SERIALIZATION") || isSuperstepError(error, "STATE_SIZE")) return "serialize";
  if (isSuperstepError(error, "VERTEX_TIMEOUT")) return "timeout";
  return isSuperstepError(error, "CONTEXT") ? "wait" : "execute";
}
