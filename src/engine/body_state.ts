import { ContextError } from "../errors.ts";
import { mayBeHandledLater } from "../runtime/rejections.ts";
import { Scope } from "../runtime/scope.ts";
import type { BodyInfo, BodyPort } from "./body.ts";
import { Deliveries } from "./deliveries.ts";
import type { PendingWait } from "./pending_wait.ts";
import { Quiet } from "./quiet.ts";

/**
 * Whether a body is at work, at rest, suspended, or over.
 *
 * 1. A body is suspended when it awaits an open wait, no `once` and nothing held is at work, it has got every result that
 *    it has asked for, and it is quiet. Only whether a wait is awaited counts, not what is made of its promise.
 * 2. It is at rest also while a `once`, or what it holds, is at work: then results that have come may be recorded.
 * 3. A fault in using the context fails the vertex even when the body swallows it, and an interrupt pauses it.
 * 4. After the body has settled every call throws; in one that was abandoned every call stays pending.
 */
export class BodyState {
  readonly #vertexId: string;
  readonly #port: BodyPort;
  readonly #quiet: Quiet;
  readonly #opened: Opened[] = [];
  /** Results for the body. */
  readonly deliveries: Deliveries;
  #state: "live" | "settled" | "abandoned" = "live";
  #turn = 0;
  /** Whether it has come to await an open wait since it got something. */
  #awaits = false;
  #held = 0;
  #interrupted = false;
  #rests: "no" | "resting" | "suspended" = "no";
  /** Told of calls of a body that was abandoned. */
  #late: ((call: string) => void) | undefined;
  /** Told when the body comes to wait for nothing but open waits, and when it goes on by itself. */
  onRest: ((resting: boolean) => void) | undefined;

  constructor(body: BodyInfo, port: BodyPort, recorded: readonly string[]) {
    this.#vertexId = body.vertex.id;
    this.#port = port;
    this.deliveries = new Deliveries(body.runtime, recorded, () => this.got());
    this.#quiet = new Quiet(body.runtime, body.slowMs, (slow) => this.#rest(slow), () => this.watch());
  }

  get isLive(): boolean {
    return this.#state === "live";
  }

  /** Whether results that have come may be recorded, which runs the body again. */
  get isAtRest(): boolean {
    return this.#rests !== "no";
  }

  /** Whether it waits for nothing but open waits. */
  get isSuspended(): boolean {
    return this.#rests === "suspended";
  }

  /** Changes whenever the body gets something or is suspended. */
  get turn(): number {
    return this.#turn;
  }

  /** Whether a call acts; it throws when there is no body any more. */
  enter(call: string): boolean {
    if (this.#state === "settled") {
      throw new ContextError(
        `ctx.${call} was called after the body of vertex ${this.#vertexId} had settled; await it inside the body`,
        { vertexId: this.#vertexId },
      );
    }
    this.#move();
    if (this.#state === "live") return true;
    this.#late?.(call);
    return false;
  }

  /** Runs the function of a `once`; a wait inside of it is refused by {@link BodyState.checkOutsideOnce}. */
  inOnce<T>(name: string, run: () => T): T {
    return INSIDE_ONCE.enter({ of: this, name }, run);
  }

  checkOutsideOnce(call: string): void {
    const inside = INSIDE_ONCE.current;
    if (inside?.of !== this) return;
    throw this.misuse(
      `vertex ${this.#vertexId} called ctx.${call} inside once(${
        JSON.stringify(inside.name)
      }), whose function would run again after it; wait outside of the once`,
    );
  }

  /** A wait was opened, or is open still. */
  opened(opened: Opened): void {
    this.#opened.push(opened);
  }

  interrupted(): void {
    this.#interrupted = true;
    this.awaited();
  }

  get isInterrupted(): boolean {
    return this.#interrupted;
  }

  /** A reaction was attached to an open wait. */
  awaited(): void {
    if (!this.isLive) return;
    this.#move();
    if (!this.isLive) return;
    this.#awaits = true;
    this.watch();
  }

  hold(work: Promise<unknown>): void {
    this.#held++;
    const end = () => {
      this.#held--;
      if (!this.isLive) return;
      this.got();
      this.watch();
    };
    work.then(end, end);
  }

  /** The body gets something. */
  got(): void {
    this.#move();
    this.#turn++;
    this.#awaits = false;
  }

  /** Looks whether the body is to be suspended or given a result out of turn, once it is quiet. */
  watch(): void {
    if (!this.isLive || this.isSuspended) return;
    const pending = this.deliveries.arePending;
    if (pending || this.#awaitsOpenWait()) this.#quiet.watch(this.#awaits && !pending);
  }

  /** A fault of the body in using its context. */
  misuse(problem: string): unknown {
    return this.fault(new ContextError(problem, { vertexId: this.#vertexId }));
  }

  /** The body fails with this error at once, whatever it makes of it. */
  fault(error: unknown): unknown {
    if (this.isLive) this.#port.failed(error);
    return typeof error === "object" && error !== null ? mayBeHandledLater(error) : error;
  }

  /** Ends the body, which has returned or thrown; whether it was interrupted. */
  settle(returned: boolean): boolean {
    if (this.isLive) this.#move();
    if (returned && this.isLive) this.#noteForgotten();
    this.#end("settled");
    return this.#interrupted;
  }

  /** Ends the body at once: its calls stay pending, and `late` is told of them. */
  abandon(late?: (call: string) => void): void {
    if (!this.isLive) return;
    this.#end("abandoned");
    this.#late = late;
  }

  #end(state: "settled" | "abandoned"): void {
    if (!this.isLive) return;
    this.#state = state;
    this.#quiet.end();
    this.deliveries.end();
    this.#opened.length = 0;
    this.onRest = undefined;
  }

  /** Whether a wait was opened that nobody awaits yet. */
  get hasForgotten(): boolean {
    return this.#opened.some((o) => !o.promise.isAwaited);
  }

  /** A wait that nobody awaits would let the body go on as if it had been answered. */
  #noteForgotten(): void {
    const forgotten = this.#opened.find((o) => !o.promise.isAwaited);
    if (forgotten === undefined) return;
    const [what, call] = forgotten.kind === "timer" ? ["sleep", "sleep"] : ["wait", "waitFor"];
    this.misuse(
      `vertex ${this.#vertexId} ended without awaiting its ${what} ${
        JSON.stringify(forgotten.name)
      }; write \`await ctx.${call}(…)\``,
    );
  }

  /** The body does something; one that was suspended goes on, if it may. */
  #move(): void {
    if (!this.isLive) return;
    this.#quiet.moved();
    const before = this.#rests;
    this.#rests = "no";
    if (before !== "suspended") return;
    this.onRest?.(false);
    this.#port.cameBack();
  }

  #awaitsOpenWait(): boolean {
    return this.#interrupted || this.#opened.some((o) => o.promise.isAwaited);
  }

  /** The body is quiet, also for as long as it takes to be suspended if `slow`. */
  #rest(slow: boolean): void {
    if (!this.isLive || this.isSuspended) return;
    const works = this.#held > 0 || this.#port.isBusy();
    if (this.deliveries.arePending) {
      // What is at work may make the body ask for what comes first.
      if (!works) this.deliveries.deliverOutOfTurn();
      return;
    }
    if (!this.#awaitsOpenWait()) return;
    if (works || !slow) {
      this.#rests = "resting";
      return this.#port.rested();
    }
    this.#rests = "suspended";
    this.#turn++;
    this.onRest?.(true);
    this.#port.suspended();
  }
}

/** A wait that a body has opened. */
interface Opened {
  readonly kind: "answer" | "timer" | "interrupt";
  readonly name: string;
  readonly promise: PendingWait<unknown>;
}

/** The `once` that code runs within. */
const INSIDE_ONCE = new Scope<{ readonly of: BodyState; readonly name: string }>();
