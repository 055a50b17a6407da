/**
 * The promise of a wait. It reports the first reaction that is attached to it, by `await`, `then` or a combinator, which
 * all call `then`: so the engine knows that a body awaits it. What is derived from it are ordinary promises.
 */
export class WaitPromise<T> extends Promise<T> {
  static override get [Symbol.species](): PromiseConstructor {
    return Promise;
  }

  #awaited = false;
  #onAwait: (() => void) | undefined;

  /** A wait that is settled by its handles; without any it stays pending. */
  static make<T>(onAwait: () => void): WaitHandles<T> {
    let resolve!: (value: T) => void;
    let reject!: (reason: unknown) => void;
    const promise = new WaitPromise<T>((yes, no) => [resolve, reject] = [yes, no]);
    promise.#onAwait = onAwait;
    return { promise, resolve, reject };
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
      this.#onAwait?.();
    }
    return super.then(yes, no);
  }

  /** Keeps a rejection from being reported as unhandled; that is no reaction of a body. */
  ignoreRejection(): void {
    super.then(undefined, () => {});
  }
}

/** A {@link WaitPromise} and what settles it. */
interface WaitHandles<T> {
  readonly promise: WaitPromise<T>;
  resolve(value: T): void;
  reject(reason: unknown): void;
}
