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

type Reaction = ((value: never) => unknown) | null | undefined;

/**
 * Tells a wait that lost a race from one whose pause user code swallowed. `Promise.race`, `any` and `all` hand one and
 * the same reaction to every promise they are given; once a recorded result has called that reaction, the combinator is
 * settled and an open wait under it cannot matter any more. Every other open wait stands when its signal is delivered.
 */
export class Reactions {
  readonly #fulfilled = new Set<Reaction>();
  readonly #rejected = new Set<Reaction>();
  #deliveries = 0;

  /** A promise whose reactions are noted. */
  track<T>(): Tracked<T> {
    let resolve!: (value: T) => void;
    let reject!: (reason: unknown) => void;
    const promise = new Promise<T>((yes, no) => [resolve, reject] = [yes, no]);
    promise.catch(() => {});
    const uses: [Reaction, Reaction][] = [];
    const calledAt = this.#deliveries;
    let outcome: "pending" | "fulfilled" | "rejected" | "paused" = "pending";
    let raced = false;
    const settle = () => {
      for (const [yes, no] of uses) {
        if (outcome === "fulfilled" && yes) this.#fulfilled.add(yes);
        if (outcome === "rejected" && no) this.#rejected.add(no);
      }
    };
    Object.defineProperty(promise, "then", {
      value: (yes?: Reaction, no?: Reaction) => {
        uses.push([yes, no]);
        settle();
        return Promise.prototype.then.call(promise, yes as never, no as never);
      },
    });
    const deliver = (how: "fulfilled" | "rejected") => {
      outcome = how;
      this.#deliveries += 1;
      settle();
    };
    return {
      promise,
      resolve: (value) => (deliver("fulfilled"), resolve(value)),
      reject: (reason) => (deliver("rejected"), reject(reason)),
      pause: (signal) => {
        outcome = "paused";
        raced = this.#deliveries > calledAt;
        reject(signal);
      },
      // A plain `await` calls no `then`: such a wait has lost only if a result was delivered beside it.
      stands: () =>
        outcome === "paused" &&
        (uses.length === 0
          ? !raced
          : uses.some(([yes, no]) => !this.#fulfilled.has(yes) && !this.#rejected.has(no))),
    };
  }
}

/** A promise of {@link Reactions} with its handles. */
export interface Tracked<T> {
  readonly promise: Promise<T>;
  resolve(value: T): void;
  reject(reason: unknown): void;
  pause(signal: PauseSignal): void;
  /** Whether a pause was delivered and some code still depends on it. */
  stands(): boolean;
}
