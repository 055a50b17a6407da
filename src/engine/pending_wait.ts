/**
 * The promise of an open wait, which never settles: its result runs the body again. It reports the first reaction that is
 * attached to it, by `await`, `then` or a combinator, which all call `then`: so the engine knows that a body awaits it.
 */
export class PendingWait<T> extends Promise<T> {
  static override get [Symbol.species](): PromiseConstructor {
    return Promise;
  }

  readonly #onAwait: () => void;
  #awaited = false;

  constructor(onAwait: () => void) {
    super(() => {});
    this.#onAwait = onAwait;
  }

  /** Whether a reaction was attached. */
  get isAwaited(): boolean {
    return this.#awaited;
  }

  override then<A = T, B = never>(
    yes?: ((value: T) => A | PromiseLike<A>) | null,
    no?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    if (!this.#awaited) {
      this.#awaited = true;
      this.#onAwait();
    }
    return super.then(yes, no);
  }
}
