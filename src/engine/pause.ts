/**
 * How a body learns that a wait is open: its promise rejects with this signal. The engine never relies on the signal
 * reaching it; it knows on its own what was opened.
 */
export class PauseSignal extends Error {
  constructor(readonly waitId: string) {
    super("superstep: the vertex pauses here; let this signal pass through your code");
    this.name = "PauseSignal";
  }
}

/** Whether a body let the signal through. Anything can be thrown, a proxy that throws when it is looked at, too. */
export function isPauseSignal(error: unknown): error is PauseSignal {
  try {
    return error instanceof PauseSignal;
  } catch {
    return false;
  }
}

type Reaction = ((value: never) => unknown) | null | undefined;

/**
 * Tells a wait that lost a race from one whose pause user code swallowed. A pause stands unless it lost:
 *
 * 1. A wait beside which no result was delivered has lost to nothing: its pause stands.
 * 2. `Promise.race` and `any` hand one and the same reaction to every promise they are given. Once a delivered result
 *    has called it, the combinator is settled and an open wait under it cannot matter any more.
 * 3. `Promise.all` hands out one rejection and a fulfilment for each: an open wait under it matters until it rejects.
 * 4. Async functions around waits hide all that. There the pause stands iff its signal moved the body: while nothing
 *    else could run, the body settled or asked for something.
 */
export class Reactions {
  readonly #called = new Set<Reaction>();
  /** The fulfilments handed out with each rejection. */
  readonly #partners = new Map<Reaction, Set<Reaction>>();
  readonly #delivered = new Set<() => void>();
  #results = 0;
  #paused = false;

  /** The body has settled, or asked for something: whatever signal was delivered just now has moved it. */
  moved(): void {
    for (const mark of this.#delivered) mark();
  }

  /** A promise whose reactions are noted. */
  track<T>(): Tracked<T> {
    let resolve!: (value: T) => void;
    let reject!: (reason: unknown) => void;
    const promise = new Promise<T>((yes, no) => [resolve, reject] = [yes, no]);
    promise.catch(() => {});
    const uses: [Reaction, Reaction][] = [];
    const calledAt = this.#results;
    let outcome: "pending" | "fulfilled" | "rejected" | "paused" = "pending";
    let raced = false;
    let moved = false;
    const settle = () => {
      for (const [yes, no] of uses) {
        const called = outcome === "fulfilled" ? yes : outcome === "rejected" ? no : undefined;
        if (called) this.#called.add(called);
      }
    };
    Object.defineProperty(promise, "then", {
      value: (yes?: Reaction, no?: Reaction) => {
        uses.push([yes, no]);
        if (no) this.#partners.set(no, (this.#partners.get(no) ?? new Set()).add(yes));
        settle();
        return Promise.prototype.then.call(promise, yes as never, no as never);
      },
    });
    const deliver = (how: "fulfilled" | "rejected") => {
      outcome = how;
      this.#results += 1;
      settle();
    };
    return {
      promise,
      resolve: (value) => (deliver("fulfilled"), resolve(value)),
      reject: (reason) => (deliver("rejected"), reject(reason)),
      pause: (signal) => {
        outcome = "paused";
        this.#paused = true;
        raced = this.#results > calledAt;
        reject(signal);
        void this.#watch(() => moved = true);
      },
      forgotten: () =>
        outcome === "pending" && uses.length === 0 && this.#results === calledAt && !this.#paused,
      stands: () => {
        if (outcome !== "paused") return false;
        if (uses.length > 0 && uses.every(([yes, no]) => this.#called.has(yes) || this.#called.has(no))) {
          return false;
        }
        return !raced || moved || uses.some(([, no]) => (this.#partners.get(no)?.size ?? 0) > 1);
      },
    };
  }

  /** Nothing but the reactions to a signal runs in the microtasks after it. */
  async #watch(mark: () => void): Promise<void> {
    this.#delivered.add(mark);
    for (let tick = 0; tick < REACTION_TICKS; tick++) await undefined;
    this.#delivered.delete(mark);
  }
}

/** Microtasks in which a signal passes through the wrappers and combinators of a body. */
const REACTION_TICKS = 64;

/** A promise of {@link Reactions} with its handles. */
export interface Tracked<T> {
  readonly promise: Promise<T>;
  resolve(value: T): void;
  reject(reason: unknown): void;
  pause(signal: PauseSignal): void;
  /** Whether a pause was delivered and some code still depends on it. */
  stands(): boolean;
  /** Whether the body has gone on before any pause could be delivered, and nothing in it has looked at the promise. */
  forgotten(): boolean;
}
