import { canonical } from "../checkpoint/canonical.ts";
import { parseWith } from "../checkpoint/validate.ts";
import type { WaitOpened } from "../checkpoint/records.ts";
import { ContextError, isSuperstepError, WaitExpiredError } from "../errors.ts";
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
import { openingKey, type OpeningName, type WaitDefinition, type WaitState } from "../model/wait.ts";
import type { BodyEnd, BodyInfo, BodyPort } from "./body.ts";
import { CALLERS } from "./called.ts";
import { idempotencyKey, vertexRunId, waitIdOf } from "./ids.ts";
import { PauseSignal, Reactions, type Tracked } from "./pause.ts";

/**
 * What one run of a body sees.
 *
 * 1. Results recorded before the body began are delivered in the order of their numbers, whatever order they are asked
 *    for in; results that come later re-run the body instead.
 * 2. The n-th use of a name is its n-th opening. Opening the next one closes the one before.
 * 3. A fault in using the context fails the vertex even when the body swallows it, and so does a pause pause it.
 * 4. Nothing is accepted after the body has settled.
 */
export class BodyContext implements TaskContext {
  readonly #body: BodyInfo;
  readonly #port: BodyPort;
  readonly #uses = new Map<string, number>();
  readonly #onces = new Map<string, Promise<unknown>>();
  /** Made with the first wait: most bodies have none. */
  #reactions: Reactions | undefined;
  readonly #opened: (Tracked<unknown> & Pick<OpeningName, "kind" | "name">)[] = [];
  #deliverable: { readonly seq: number; deliver(): void }[] = [];
  #interrupted = false;
  #closed = false;
  #fault: unknown;

  readonly graphId: string;
  readonly runId: string;
  readonly vertexId: string;
  readonly step: number;
  readonly attempt: number;
  declare readonly item?: number;
  readonly idempotencyKey: string;

  constructor(body: BodyInfo, port: BodyPort) {
    this.#body = body;
    this.#port = port;
    const { execution, vertex } = body;
    this.graphId = body.graphId;
    this.runId = body.runId;
    this.vertexId = vertex.id;
    this.step = body.step;
    this.attempt = execution.failedAttempts.length + 1;
    if (execution.item !== undefined) this.item = execution.item;
    this.idempotencyKey = idempotencyKey(body.graphId, body.runId, body.step, vertex.id, execution.item);
  }

  get signal(): AbortSignal {
    return this.#port.signal();
  }

  /** For runs that are called with this context. */
  get [CALLERS](): readonly number[] {
    return this.#body.callers();
  }

  get vertexRunId(): string {
    return vertexRunId(this.idempotencyKey, this.#body.execution.generation);
  }

  once<T>(name: string, fn: (once: OnceContext) => T | Promise<T>, options: OnceOptions<T> = {}): Promise<T> {
    this.#enter("once");
    if (this.#onces.has(name)) {
      throw new ContextError(
        `vertex ${this.vertexId} used once(${
          JSON.stringify(name)
        }) twice in one body; give each its own name`,
      );
    }
    const { once } = this.#body.execution;
    const what = `the result of once(${JSON.stringify(name)}) in vertex ${this.vertexId}`;
    const result: Promise<T> = once.has(name)
      ? Promise.resolve(once.get(name) as T).then((value) => check(options.schema, value, what))
      : this.#runOnce(name, fn, options, what);
    result.catch(() => {});
    this.#onces.set(name, result);
    return result;
  }

  async #runOnce<T>(
    name: string,
    fn: (once: OnceContext) => T | Promise<T>,
    options: OnceOptions<T>,
    what: string,
  ): Promise<T> {
    const result = await fn({ signal: this.signal, idempotencyKey: `${this.idempotencyKey}/once=${name}` });
    const value = this.#storable(() => check(options.schema, canonical(result, what) as T, what));
    await this.#port.record({ type: "once", ...this.#of(), name, value });
    return value;
  }

  sleep(name: string, until: Duration | Date): Promise<void> {
    this.#enter("sleep");
    this.#named("sleep", name);
    if (until === undefined) {
      throw this.#misuse(
        `sleep in vertex ${this.vertexId} takes a name and a time; write ctx.sleep("reminder", ${
          JSON.stringify(name)
        })`,
      );
    }
    return this.#use<void>(
      { kind: "timer", name },
      (openedAt) => ({ due: this.#due(until, openedAt, `sleep(${JSON.stringify(name)})`) }),
      () => undefined,
    );
  }

  waitFor<T>(wait: WaitDefinition<T>, options: WaitForOptions = {}): Promise<T> {
    this.#enter("waitFor");
    if (typeof wait?.name !== "string") {
      throw this.#misuse(
        `waitFor in vertex ${this.vertexId} was given ${
          JSON.stringify(wait) ?? String(wait)
        }; give what defineWait returned`,
      );
    }
    const declared = this.#body.vertex.waits.get(wait.name);
    if (declared === undefined) {
      const names = [...this.#body.vertex.waits.keys()].join(", ");
      throw this.#misuse(
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
    }), (value) => value as T);
  }

  waitId(wait: WaitDefinition | string, n = 1, key?: string): string {
    const name = typeof wait === "string" ? wait : wait.name;
    return this.#id({ kind: "answer", name, ...(key === undefined ? {} : { key }), n });
  }

  interrupt(info?: unknown, options: InterruptOptions = {}): never {
    this.#enter("interrupt");
    const past = this.#interrupts();
    const open = past.find((w) => w.result === undefined && w.closed === undefined);
    const n = past.length + 1;
    const opening = { kind: "interrupt", name: INTERRUPT, n } as const;
    const id = open?.id ?? this.#id(opening);
    this.#interrupted = true;
    if (open === undefined) {
      const openedAt = this.#body.runtime.now();
      this.#open(opening, id, openedAt, {
        ...(info === undefined ? {} : {
          info: this.#storable(() => canonical(info, `the info of an interrupt of vertex ${this.vertexId}`)),
        }),
        ...("continuation" in options
          ? {
            continuation: this.#storable(() =>
              canonical(options.continuation, `the continuation of vertex ${this.vertexId}`)
            ),
          }
          : {}),
        ...(options.deadline === undefined
          ? {}
          : { due: this.#due(options.deadline, openedAt, "the deadline of an interrupt") }),
      });
    }
    throw new PauseSignal(id);
  }

  answer<T = unknown>(schema?: Schema<unknown, T>): { readonly value: T } | undefined {
    this.#enter("answer");
    const latest = this.#interrupts().findLast((w) => w.result !== undefined);
    if (latest?.result?.kind === "expired") {
      throw new WaitExpiredError(INTERRUPT, latest.id);
    }
    if (latest?.result?.kind !== "answered") return undefined;
    const { value } = latest.result;
    try {
      return { value: check(schema, value, `the answer to the interrupt of vertex ${this.vertexId}`) as T };
    } catch (error) {
      this.#port.refuse(latest.id, error);
      throw this.#note(error);
    }
  }

  continuation<T = unknown>(schema?: Schema<unknown, T>): { readonly value: T } | undefined {
    this.#enter("continuation");
    const latest = this.#interrupts().findLast((w) => "continuation" in w);
    if (latest === undefined) return undefined;
    return { value: check(schema, latest.continuation, `the continuation of vertex ${this.vertexId}`) as T };
  }

  emit(type: string, data?: unknown): void {
    if (!this.#closed) this.#port.emit(type, data);
  }

  log(message: string, fields: Readonly<Record<string, unknown>> = {}): void {
    this.#port.log(message, { runId: this.runId, vertexId: this.vertexId, attempt: this.attempt, ...fields });
  }

  /** Ends the body, which has returned or thrown: what it was. Every `once` that has begun is finished first. */
  settle(returned: boolean): BodyEnd | Promise<BodyEnd> {
    this.#reactions?.moved();
    if (returned) this.#noteForgotten();
    if (this.#onces.size === 0) return this.#end();
    return Promise.allSettled(this.#onces.values()).then(() => this.#end());
  }

  #end(): BodyEnd {
    this.#closed = true;
    if (this.#fault !== undefined) return { kind: "fault", error: this.#fault };
    return { kind: this.#interrupted || this.#opened.some((o) => o.stands()) ? "paused" : "free" };
  }

  /** A wait that nobody awaits would let the body go on as if it had been answered. */
  #noteForgotten(): void {
    const forgotten = this.#opened.find((o) => o.forgotten());
    if (forgotten === undefined) return;
    const [what, call] = forgotten.kind === "timer" ? ["sleep", "sleep"] : ["wait", "waitFor"];
    this.#misuse(
      `vertex ${this.vertexId} ended without awaiting its ${what} ${
        JSON.stringify(forgotten.name)
      }; write \`await ctx.${call}(…)\``,
    );
  }

  /** Ends the body at once: whatever it still does is ignored. */
  abandon(): void {
    this.#closed = true;
  }

  #use<T>(
    which: Omit<OpeningName, "n">,
    describe: (openedAt: number) => Pick<WaitOpened, "due" | "info">,
    value: (recorded: unknown) => T,
  ): Promise<T> {
    const use = openingKey({ ...which, n: 0 });
    const n = (this.#uses.get(use) ?? 0) + 1;
    this.#uses.set(use, n);
    const opening = { ...which, n };
    const id = this.#id(opening);
    const wait = this.#body.execution.waits.get(id);
    this.#reactions ??= new Reactions();
    const tracked = this.#reactions.track<T>();
    if (wait?.result !== undefined) {
      this.#deliver(wait, tracked, value);
      return tracked.promise;
    }
    if (wait === undefined) {
      const openedAt = this.#body.runtime.now();
      this.#open(opening, id, openedAt, describe(openedAt));
    }
    // One that a later opening has closed lost its race when the body first ran; its pause stands for nothing.
    if (wait?.closed === undefined) {
      this.#opened.push({ ...tracked as Tracked<unknown>, kind: which.kind, name: which.name });
    }
    this.#body.runtime.macrotask(() => {
      if (!this.#closed) tracked.pause(new PauseSignal(id));
    });
    return tracked.promise;
  }

  #deliver<T>(wait: WaitState, tracked: Tracked<T>, value: (recorded: unknown) => T): void {
    const deliver = () => {
      const result = wait.result!;
      if (result.kind === "expired") return tracked.reject(new WaitExpiredError(wait.name, wait.id));
      if (result.kind === "fired") return tracked.resolve(value(undefined));
      const schema = this.#body.vertex.waits.get(wait.name)?.schema;
      try {
        tracked.resolve(value(check(schema, result.value, `the answer to wait ${wait.name}`)));
      } catch (error) {
        this.#port.refuse(wait.id, error);
        tracked.reject(this.#note(error));
      }
    };
    if (this.#deliverable.length === 0) queueMicrotask(() => this.#deliverAll());
    this.#deliverable.push({ seq: wait.seq!, deliver });
  }

  /** In the order of recording, far enough apart that a reaction to the first result runs before the second comes. */
  async #deliverAll(): Promise<void> {
    const ready = this.#deliverable.sort((a, b) => a.seq - b.seq);
    this.#deliverable = [];
    for (const [i, { deliver }] of ready.entries()) {
      if (i > 0) { for (let tick = 0; tick < DELIVERY_SPACING; tick++) await undefined; }
      deliver();
    }
  }

  #open(
    opening: OpeningName,
    id: string,
    openedAt: number,
    more: Pick<WaitOpened, "due" | "info" | "continuation">,
  ): void {
    const { n } = opening;
    const before = n > 1 ? this.#id({ ...opening, n: n - 1 }) : undefined;
    this.#storable(() =>
      this.#port.open({ type: "opened", ...this.#of(), id, ...opening, openedAt, ...more }, before)
    );
  }

  #interrupts(): WaitState[] {
    return [...this.#body.execution.waits.values()].filter((w) => w.kind === "interrupt");
  }

  #id(opening: OpeningName): string {
    const refusals = this.#body.execution.refusals.get(openingKey(opening)) ?? 0;
    return waitIdOf(this.runId, this.idempotencyKey, opening, refusals);
  }

  #due(until: Duration | Date, openedAt: number, what: string): number {
    const at = until instanceof Date ? until.getTime() : openedAt + (toMs(until) ?? NaN);
    if (Number.isFinite(at)) return at;
    throw this.#misuse(
      `${what} in vertex ${this.vertexId} is ${
        String(until)
      }, not a time; use milliseconds, a text such as "30s", or a Date`,
    );
  }

  #named(what: string, name: unknown): void {
    if (isId(name)) return;
    throw this.#misuse(
      `${what} in vertex ${this.vertexId} has the name ${
        JSON.stringify(name)
      }; use letters, digits and . _ : -`,
    );
  }

  #storable<T>(make: () => T): T {
    try {
      return make();
    } catch (error) {
      const refused = isSuperstepError(error, "SERIALIZATION") || isSuperstepError(error, "STATE_SIZE");
      throw refused ? this.#note(error) : error;
    }
  }

  #misuse(problem: string): unknown {
    return this.#note(new ContextError(problem, { vertexId: this.vertexId }));
  }

  #note(error: unknown): unknown {
    this.#fault ??= error;
    return error;
  }

  #enter(what: string): void {
    if (!this.#closed) return this.#reactions?.moved();
    throw new ContextError(
      `ctx.${what} was called after the body of vertex ${this.vertexId} had settled or its attempt had ended; await it inside the body`,
      { vertexId: this.vertexId },
    );
  }

  #of(): { readonly vertexId: string; readonly item?: number } {
    return this.item === undefined
      ? { vertexId: this.vertexId }
      : { vertexId: this.vertexId, item: this.item };
  }
}

const INTERRUPT = "interrupt";

/** Microtasks between two deliveries: more than an `await` through a few wrappers takes. */
const DELIVERY_SPACING = 16;

function check<T>(schema: Schema<unknown, T> | undefined, value: T, what: string): T;
function check(schema: Schema | undefined, value: unknown, what: string): unknown;
function check(schema: Schema | undefined, value: unknown, what: string): unknown {
  return schema === undefined ? value : parseWith(schema, value, what);
}
