import { canonical } from "../checkpoint/canonical.ts";
import type { EventOf } from "../checkpoint/records.ts";
import { parseWith } from "../checkpoint/validate.ts";
import { isSuperstepError, WaitExpiredError } from "../errors.ts";
import { refOf } from "../model/checkpoint.ts";
import type {
  InterruptOptions,
  OnceContext,
  OnceOptions,
  TaskContext,
  WaitForOptions,
} from "../model/context.ts";
import { type Duration, toMs } from "../model/durations.ts";
import { isId } from "../model/ids.ts";
import type { Schema } from "../model/schema.ts";
import { isOpen, openingKey, type OpeningName, type WaitDefinition, type WaitState } from "../model/wait.ts";
import { mayBeHandledLater } from "../runtime/rejections.ts";
import type { BodyInfo, BodyPort } from "./body.ts";
import { BodyState } from "./body_state.ts";
import { CALLING_RUN, type CallingRun } from "./child_runs.ts";
import { emittable } from "./emits.ts";
import { vertexRunId, waitIdOf } from "./ids.ts";
import { InterruptSignal } from "./interrupt_signal.ts";
import { PendingWait } from "./pending_wait.ts";

/** Under this the context of a body has its {@link BodyState}, for who observes bodies. */
export const STATE: unique symbol = Symbol("superstep.state") as never;

/**
 * What one run of a body sees.
 *
 * 1. A wait that is open stays pending. Recorded results come in the order of their numbers; one that is recorded while the
 *    body is at work is that of a `once`, whatever else is recorded runs the body again.
 * 2. The n-th use of a name is its n-th opening. Opening the next one closes the one before, and is refused when the body
 *    could not have got anything since.
 */
export class BodyContext implements TaskContext {
  /** @internal Replaced when the run is released. */
  body: BodyInfo;
  readonly #port: BodyPort;
  readonly #state: BodyState;
  readonly #uses = new Map<string, Use>();
  /** The results of `once` by name; `undefined` where the body has used one that has none yet. */
  readonly #once: Map<string, unknown>;
  readonly #usedOnce = new Set<string>();

  readonly graphId: string;
  readonly runId: string;
  readonly vertexId: string;
  readonly step: number;
  readonly attempt: number;
  declare readonly item?: number;
  readonly idempotencyKey: string;

  constructor(body: BodyInfo, port: BodyPort) {
    this.body = body;
    this.#port = port;
    const { execution, vertex } = body;
    this.graphId = body.graphId;
    this.runId = body.runId;
    this.vertexId = vertex.id;
    this.step = body.step;
    this.attempt = execution.failedAttempts.length + 1;
    if (execution.item !== undefined) this.item = execution.item;
    this.idempotencyKey = body.key;
    this.#once = new Map(execution.once);
    this.#state = new BodyState(body, port, resultsOf(execution));
  }

  /** Whether the body is at work. */
  get [STATE](): BodyState {
    return this.#state;
  }

  get signal(): AbortSignal {
    return this.#port.signal();
  }

  /** For runs that are called with this context. */
  get [CALLING_RUN](): CallingRun {
    return this.body.callingRun;
  }

  get vertexRunId(): string {
    return vertexRunId(this.idempotencyKey, this.body.execution.generation);
  }

  once<T>(name: string, fn: (once: OnceContext) => T | Promise<T>, options: OnceOptions<T> = {}): Promise<T> {
    const state = this.#state;
    if (!state.enter("once")) return never();
    const shown = typeof name === "string" ? JSON.stringify(name) : String(name);
    if (typeof name !== "string" || name === "" || !name.isWellFormed()) {
      throw state.misuse(
        `vertex ${this.vertexId} used once with the name ${shown}; give it a text of whole characters`,
      );
    }
    if (this.#usedOnce.has(name)) {
      throw state.misuse(
        `vertex ${this.vertexId} used once(${shown}) twice in one body; give each its own name`,
      );
    }
    this.#usedOnce.add(name);
    const what = `the result of once(${shown}) in vertex ${this.vertexId}`;
    const key = onceKey(name);
    const result = new Promise<T>((resolve, reject) => {
      state.deliveries.ask(key, () => {
        try {
          resolve(check(options.schema, this.#once.get(name) as T, what));
        } catch (error) {
          reject(state.fault(error));
        }
        state.watch();
      });
      if (state.deliveries.has(key)) return state.watch();
      const idempotencyKey = `${this.idempotencyKey}/once=${name}`;
      const run = async (signal: AbortSignal) => {
        const value = await state.inOnce(name, () => fn({ signal, idempotencyKey }));
        return check(options.schema, canonical(value, what) as T, what);
      };
      this.#port.once(name, run, (error) => {
        if (!state.isLive) return;
        state.deliveries.forget(key);
        state.got();
        reject(isRefusal(error) ? state.fault(error) : error);
        state.watch();
      });
    });
    result.catch(() => {});
    return result;
  }

  /** The result of a `once` was recorded while the body is at work. */
  recorded(name: string, value: unknown): void {
    if (!this.#state.isLive) return;
    this.#once.set(name, value);
    this.#state.deliveries.add(onceKey(name));
    this.#state.watch();
  }

  sleep(name: string, until: Duration | Date): Promise<void> {
    if (!this.#state.enter("sleep")) return never();
    this.#state.checkOutsideOnce("sleep");
    this.#named("sleep", name);
    if (until === undefined) {
      throw this.#state.misuse(
        `sleep in vertex ${this.vertexId} takes a name and a time; write ctx.sleep("reminder", ${
          JSON.stringify(name)
        })`,
      );
    }
    return this.#use<void>({ kind: "timer", name }, (openedAt) => ({
      due: this.#due(until, openedAt, `sleep(${JSON.stringify(name)})`),
    }));
  }

  waitFor<T>(wait: WaitDefinition<T>, options: WaitForOptions = {}): Promise<T> {
    if (!this.#state.enter("waitFor")) return never();
    this.#state.checkOutsideOnce("waitFor");
    if (typeof wait?.name !== "string") {
      throw this.#state.misuse(
        `waitFor in vertex ${this.vertexId} was given ${
          JSON.stringify(wait) ?? String(wait)
        }; give what defineWait returned`,
      );
    }
    const { waits } = this.body.vertex;
    if (!waits.has(wait.name)) {
      const names = [...waits.keys()].join(", ");
      throw this.#state.misuse(
        `vertex ${this.vertexId} waits for ${JSON.stringify(wait.name)}, which its \`waits\` do not declare` +
          ` (declared: ${
            names === "" ? "none" : names
          }); add it there, so that any process can check the answer`,
      );
    }
    const deadline = options.deadline ?? wait.deadline;
    const { key } = options;
    if (key !== undefined) this.#named(`the key of wait ${wait.name}`, key);
    const which = { kind: "answer", name: wait.name, ...(key === undefined ? {} : { key }) } as const;
    return this.#use<T>(which, (openedAt) => ({
      ...(deadline === undefined
        ? {}
        : { due: this.#due(deadline, openedAt, `the deadline of wait ${wait.name}`) }),
      ...("info" in options
        ? { info: this.#storable(() => canonical(options.info, `the info of wait ${wait.name}`)) }
        : {}),
    }));
  }

  waitId(wait: WaitDefinition | string, n = 1, key?: string): string {
    const name = typeof wait === "string" ? wait : wait.name;
    return this.#id({ kind: "answer", name, ...(key === undefined ? {} : { key }), n });
  }

  hold<T>(work: Promise<T>): Promise<T> {
    if (this.#state.enter("hold")) this.#state.hold(work);
    return work;
  }

  interrupt(info?: unknown, options: InterruptOptions = {}): never {
    if (!this.#state.enter("interrupt")) throw new InterruptSignal();
    this.#state.checkOutsideOnce("interrupt");
    const past = this.#interrupts();
    const isOpenNow = past.some(isOpen);
    if (!isOpenNow && !this.#state.isInterrupted) {
      const opening = { kind: "interrupt", name: INTERRUPT, n: past.length + 1 } as const;
      const openedAt = this.#port.now();
      const what = `an interrupt of vertex ${this.vertexId}`;
      const { continuation, deadline } = options;
      this.#open(opening, this.#id(opening), openedAt, {
        ...(info === undefined ? {} : { info: this.#storable(() => canonical(info, `the info of ${what}`)) }),
        ...("continuation" in options
          ? { continuation: this.#storable(() => canonical(continuation, `the continuation of ${what}`)) }
          : {}),
        ...(deadline === undefined ? {} : { due: this.#due(deadline, openedAt, `the deadline of ${what}`) }),
      });
    }
    this.#state.interrupted();
    throw new InterruptSignal();
  }

  answer<T = unknown>(schema?: Schema<unknown, T>): { readonly value: T } | undefined {
    if (!this.#state.enter("answer")) return undefined;
    const latest = this.#interrupts().findLast((w) => w.result !== undefined);
    if (latest?.result?.kind === "expired") throw expiry(latest);
    if (latest?.result?.kind !== "answered") return undefined;
    const { value } = latest.result;
    try {
      return { value: check(schema, value, `the answer to the interrupt of vertex ${this.vertexId}`) as T };
    } catch (error) {
      this.#port.refuse(latest.id, error);
      throw error;
    }
  }

  continuation<T = unknown>(schema?: Schema<unknown, T>): { readonly value: T } | undefined {
    if (!this.#state.enter("continuation")) return undefined;
    const latest = this.#interrupts().at(-1);
    if (latest === undefined || !("continuation" in latest)) return undefined;
    return { value: check(schema, latest.continuation, `the continuation of vertex ${this.vertexId}`) as T };
  }

  emit(type: string, data?: unknown): void {
    if (!this.#state.enter("emit")) return;
    this.#port.emit(type, this.#storable(() => emittable(this.vertexId, type, data)));
  }

  log(message: string, fields: Readonly<Record<string, unknown>> = {}): void {
    const { runId, vertexId, attempt } = this;
    this.body.logger.info(message, { runId, vertexId, attempt, ...fields });
  }

  #use<T>(
    which: Omit<OpeningName, "n">,
    describe: (openedAt: number) => Pick<EventOf<"opened">, "due" | "info">,
  ): Promise<T> {
    const key = openingKey({ ...which, n: 0 });
    const before = this.#uses.get(key);
    const n = (before?.n ?? 0) + 1;
    const opening = { ...which, n };
    const id = this.#id(opening);
    const recorded = this.body.execution.waits.get(id);
    // One that a failure has closed opens again.
    const wait = recorded?.closed === "settled" ? undefined : recorded;
    if (before?.openedIn === this.#state.turn) {
      throw this.#state.misuse(
        which.kind === "timer"
          ? `vertex ${this.vertexId} opened two timers named ${which.name} side by side; give each its own name`
          : `vertex ${this.vertexId} opened the wait ${which.name} twice side by side; give each its own \`key\``,
      );
    }
    this.#uses.set(key, { n, openedIn: wait === undefined ? this.#state.turn : undefined });
    if (wait !== undefined && !isOpen(wait)) return this.#resultOf(wait);
    if (wait === undefined) {
      const openedAt = this.#port.now();
      this.#open(opening, id, openedAt, describe(openedAt));
    }
    const promise = new PendingWait<T>(() => this.#state.awaited());
    this.#state.opened({ promise, kind: which.kind, name: which.name });
    return promise;
  }

  /** The promise of a wait that is over, an ordinary one: its result comes in its turn; one that was closed has none. */
  #resultOf<T>(wait: WaitState): Promise<T> {
    const promise = new Promise<T>((resolve, reject) => {
      if (wait.result === undefined) return;
      this.#state.deliveries.ask(wait.id, () => {
        this.#deliver(wait, resolve as (value: unknown) => void, reject);
        this.#state.watch();
      });
      this.#state.watch();
    });
    promise.catch(() => {});
    return promise;
  }

  #deliver(wait: WaitState, resolve: (value: unknown) => void, reject: (error: unknown) => void): void {
    const result = wait.result!;
    if (result.kind === "expired") return reject(expiry(wait));
    if (result.kind === "fired") return resolve(undefined);
    const schema = this.body.vertex.waits.get(wait.name)?.schema;
    let value: unknown;
    try {
      value = check(schema, result.value, `the answer to wait ${wait.name}`);
    } catch (error) {
      return this.#port.refuse(wait.id, error);
    }
    resolve(value);
  }

  #open(
    opening: OpeningName,
    id: string,
    openedAt: number,
    more: Pick<EventOf<"opened">, "due" | "info" | "continuation">,
  ): void {
    const before = opening.n > 1 ? this.#id({ ...opening, n: opening.n - 1 }) : undefined;
    const of = refOf(this.body.execution);
    this.#storable(() =>
      this.#port.open({ type: "opened", ...of, id, ...opening, openedAt, ...more }, before)
    );
  }

  #interrupts(): WaitState[] {
    const { waits } = this.body.execution;
    return [...waits.values()].filter((w) => w.kind === "interrupt" && w.closed !== "settled");
  }

  #id(opening: OpeningName): string {
    const refusals = this.body.execution.refusals.get(openingKey(opening)) ?? 0;
    return waitIdOf(this.body, this.idempotencyKey, opening, refusals);
  }

  #due(until: Duration | Date, openedAt: number, what: string): number {
    const at = until instanceof Date ? until.getTime() : openedAt + (toMs(until) ?? NaN);
    if (Number.isFinite(at)) return at;
    throw this.#state.misuse(
      `${what} in vertex ${this.vertexId} is ${
        String(until)
      }, not a time; use milliseconds, a text such as "30s", or a Date`,
    );
  }

  #named(what: string, name: unknown): void {
    if (isId(name)) return;
    throw this.#state.misuse(
      `${what} in vertex ${this.vertexId} has the name ${
        JSON.stringify(name)
      }; use letters, digits and . _ : -`,
    );
  }

  #storable<T>(make: () => T): T {
    try {
      return make();
    } catch (error) {
      throw isRefusal(error) ? this.#state.fault(error) : error;
    }
  }
}

/** Whether a value cannot be stored: that is a fault of the body, whatever it makes of it. */
function isRefusal(error: unknown): boolean {
  return isSuperstepError(error, "SERIALIZATION", "STATE_SIZE");
}

/** One name of waits or timers. */
interface Use {
  readonly n: number;
  /** The turn of the body in which it was opened for the first time; `undefined` when that was an earlier body. */
  readonly openedIn: number | undefined;
}

const INTERRUPT = "interrupt";

/** Calls `told` whenever the body of this context comes to wait for nothing but open waits, and when it goes on by itself. */
export function whenAtRest(ctx: TaskContext, told: (resting: boolean) => void): void {
  if (ctx instanceof BodyContext) ctx[STATE].onRest = told;
}

const onceKey = (name: string) => `once=${name}`;

/** The keys of the results of an execution, in the order of their numbers. */
function resultsOf({ waits, once, onceSeq }: BodyInfo["execution"]): string[] {
  const results = [...once.keys()].map((name) => ({ key: onceKey(name), seq: onceSeq?.get(name) ?? 0 }));
  for (const { id, seq } of waits.values()) if (seq !== undefined) results.push({ key: id, seq });
  return results.sort((a, b) => a.seq - b.seq).map(({ key }) => key);
}

function expiry({ name, id }: WaitState): WaitExpiredError {
  return mayBeHandledLater(new WaitExpiredError(name, id));
}

const never = <T>() => new Promise<T>(() => {});

function check<T>(schema: Schema<unknown, T> | undefined, value: T, what: string): T;
function check(schema: Schema | undefined, value: unknown, what: string): unknown;
function check(schema: Schema | undefined, value: unknown, what: string): unknown {
  return schema === undefined ? value : parseWith(schema, value, what);
}
