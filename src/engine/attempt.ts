import { canonical } from "../checkpoint/canonical.ts";
import { isSuperstepError, VertexTimeoutError } from "../errors.ts";
import type { Execution } from "../model/checkpoint.ts";
import type { Task } from "../model/definition.ts";
import type { FaultPhase } from "../model/failure.ts";
import type { Timer } from "../runtime/runtime.ts";
import type { BodyInfo, BodyPort } from "./body.ts";
import type { BodyState } from "./body_state.ts";
import { NO_RUN } from "./child_runs.ts";
import { BodyContext, STATE } from "./context.ts";

/**
 * One run of one body.
 *
 * 1. It settles at most once: with the body, or at its timeout; once it is abandoned nothing comes of it any more.
 * 2. The signal of a body is its own and is aborted with a typed reason whenever the attempt ends before the body does.
 * 3. The time in which the body is suspended is no time of the attempt.
 * 4. It never rejects.
 */
export class Attempt {
  info: AttemptInfo;
  /** Made when it is first asked for: most bodies never do. */
  #controller: AbortController | undefined;
  #reason: unknown;
  readonly #context: BodyContext;
  readonly #port: BodyPort;
  #done: (settlement: Settlement) => void;
  #startedAt = NaN;
  /** When the body began to work, by the clock that nobody sets; `undefined` while it is suspended. */
  #since: number | undefined;
  #ranMs = 0;
  #timer: Timer | undefined;
  #ended = false;
  /** Whether what the body still does is reported. */
  #reports = true;
  /** Called once there is nothing more to observe of the body for now. */
  #rested: () => void = () => {};

  constructor(
    info: AttemptInfo,
    port: Omit<BodyPort, "signal" | "failed">,
    done: (settlement: Settlement) => void,
  ) {
    this.info = info;
    this.#done = done;
    this.#port = { ...port, signal: () => this.#signal(), failed: (error) => this.#fail(error) };
    this.#context = new BodyContext(info, this.#port);
  }

  /** When the body was started. */
  get startedAt(): number {
    return this.#startedAt;
  }

  /** For how long the body has been at work. */
  get ranMs(): number {
    const { runtime } = this.info;
    return this.#ranMs + (this.#since === undefined ? 0 : Math.round(runtime.elapsed() - this.#since));
  }

  /** Whether the body is at work, at rest or suspended. */
  get state(): BodyState {
    return this.#context[STATE];
  }

  /** From now on its time counts, with that of a body whose place it takes. */
  begin(ranMs = 0): void {
    this.#ranMs = ranMs;
    this.#startedAt = this.info.runtime.now();
    this.#resume();
  }

  /** Runs the body, within `enclosed` where something surrounds it. */
  run(enclosed?: (body: () => unknown) => unknown): void {
    this.#setTimer();
    void this.#run(enclosed);
  }

  /** The body is suspended: its time stands still. */
  suspend(): void {
    this.#ranMs = this.ranMs;
    this.#since = undefined;
    this.#timer?.cancel();
    this.#rested();
  }

  /** The body that was suspended is at work again. */
  goOn(): void {
    if (this.#ended) return;
    this.#resume();
    this.#setTimer();
  }

  /** The run was released: the body does not go on here any more, and nothing of the engine is kept for it. */
  release(cameBack: () => void): void {
    this.#done = () => {};
    this.info = { ...this.info, callingRun: NO_RUN };
    Object.assign(this.#port, { ...DEAF, cameBack });
    this.#context.body = this.info;
  }

  /** The result of a `once` was recorded. */
  recorded(name: string, value: unknown): void {
    this.#context.recorded(name, value);
  }

  /** Ends the attempt for a reason of the engine's; what the body still does is reported, unless it was `replaced`. */
  abandon(reason: Error, replaced = false): void {
    if (this.#ended) return;
    this.#reports = !replaced;
    this.#end();
    this.#abort(reason);
  }

  /** Reports what a body does after its attempt has ended. */
  late(what: string): void {
    const { logger, runId, vertex } = this.info;
    logger.warn(`superstep: the body of vertex ${vertex.id} ${what} after its attempt; ignored`, {
      runId,
      vertexId: vertex.id,
    });
  }

  #resume(): void {
    this.#since = this.info.runtime.elapsed();
  }

  #signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#reason !== undefined) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  #abort(reason: unknown): void {
    this.#reason = reason;
    this.#controller?.abort(reason);
  }

  async #run(enclosed: ((body: () => unknown) => unknown) | undefined): Promise<void> {
    let outcome: Outcome;
    try {
      outcome = { output: await (enclosed === undefined ? this.#execute() : this.#observed(enclosed)) };
    } catch (error) {
      outcome = { error };
    }
    // A reaction is attached a microtask after its `await`.
    if ("output" in outcome && this.state.hasForgotten) await undefined;
    this.#rested();
    const isLate = this.#ended;
    const isInterrupted = this.state.settle("output" in outcome);
    const settlement = this.#settlement(outcome, isInterrupted);
    if (isLate && this.#reports && !this.#obeyed(settlement)) this.late("ended");
    // A body that was let go has come back by settling, or it failed for a wait that it had forgotten.
    if (this.#ended) return;
    this.#end();
    this.#done(settlement);
  }

  #execute(): unknown {
    const { task, input } = this.info;
    return task.execute(input, this.#context);
  }

  /** What surrounds a body sees it end when it is suspended; only the body's own outcome counts. */
  #observed(enclosed: (body: () => unknown) => unknown): unknown {
    let body: { readonly value: unknown } | { readonly error: unknown } | undefined;
    const rest = new Promise<void>((resolve) => this.#rested = resolve);
    const seen = enclosed(() => {
      try {
        body = { value: this.#execute() };
      } catch (error) {
        body = { error };
        throw error;
      }
      const { value } = body;
      if (!(value instanceof Promise)) return value;
      return Promise.race([value, rest]);
    });
    if (seen instanceof Promise) seen.catch(() => {});
    if (body !== undefined && "value" in body) return body.value;
    throw body?.error;
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

  #settlement(outcome: Outcome, isInterrupted: boolean): Settlement {
    if (isInterrupted) return { kind: "interrupted", ...this.#times() };
    if ("error" in outcome) return this.#fault(outcome.error);
    try {
      const output = canonical(outcome.output, `the output of vertex ${this.info.vertex.id}`);
      return { kind: "done", output, ...this.#times() };
    } catch (error) {
      return this.#fault(error);
    }
  }

  #fault(error: unknown): Settlement {
    return { kind: "failed", error, phase: phaseOf(error), ...this.#times() };
  }

  #times() {
    return {
      startedAt: this.#startedAt,
      endedAt: this.info.runtime.now(),
      ranMs: this.ranMs,
      attempt: this.#context.attempt,
    };
  }

  #setTimer(): void {
    const limit = this.#limit();
    if (limit === undefined) return;
    this.#timer = this.info.runtime.wakeIn(
      Math.max(0, limit.ms - this.#ranMs),
      () => this.#timeOut(limit),
    );
  }

  #limit(): Limit | undefined {
    const { attemptMs, totalMs } = this.info.vertex.timeout;
    const left = totalMs === undefined ? Infinity : totalMs - this.info.execution.spentMs;
    if (totalMs !== undefined && left < (attemptMs ?? Infinity)) {
      return { scope: "total", ms: left, of: totalMs };
    }
    return attemptMs === undefined ? undefined : { scope: "attempt", ms: attemptMs, of: attemptMs };
  }

  #timeOut(limit: Limit): void {
    if (this.#ended) return;
    const error = new VertexTimeoutError(this.info.vertex.id, limit.scope, limit.of);
    this.#fail(error);
  }

  /** Ends the attempt before its body. */
  #fail(error: unknown): void {
    if (this.#ended) return;
    const settlement = this.#fault(error);
    this.#end();
    this.#abort(error);
    this.#done(settlement);
  }

  #end(): void {
    this.#ended = true;
    this.#timer?.cancel();
    this.state.abandon(this.#reports ? (call) => this.late(`called ctx.${call}`) : undefined);
    this.#rested();
  }
}

/** Where calls of a body go whose run was released; the first one abandons it. */
const DEAF: Omit<BodyPort, "signal" | "cameBack"> = {
  now: () => NaN,
  once: () => {},
  isBusy: () => false,
  open: () => {},
  refuse: () => {},
  failed: () => {},
  emit: () => {},
  rested: () => {},
  suspended: () => {},
};

type Outcome = { readonly output: unknown } | { readonly error: unknown };

interface Limit {
  readonly scope: "attempt" | "total";
  readonly ms: number;
  readonly of: number;
}

/** What an attempt is made of. */
interface AttemptInfo extends BodyInfo {
  readonly task: Task<unknown, unknown>;
  readonly input: unknown;
}

/** How an attempt ended. */
export type Settlement =
  & {
    readonly startedAt: number;
    readonly endedAt: number;
    /** How long the body was at work, without the time in which it was suspended. */
    readonly ranMs: number;
    readonly attempt: number;
  }
  & (
    | { readonly kind: "done"; readonly output: unknown }
    | { readonly kind: "interrupted" }
    | { readonly kind: "failed"; readonly error: unknown; readonly phase: FaultPhase }
  );

function phaseOf(error: unknown): FaultPhase {
  if (isSuperstepError(error, "SERIALIZATION", "STATE_SIZE")) return "serialize";
  if (isSuperstepError(error, "VERTEX_TIMEOUT")) return "timeout";
  return isSuperstepError(error, "CONTEXT") ? "wait" : "execute";
}

/** A body that has been made and not started, with the execution that it is of. */
export interface Prepared {
  readonly execution: Execution;
  readonly attempt: Attempt;
}
