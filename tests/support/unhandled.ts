import process from "node:process";

interface RejectionEvent {
  readonly reason: unknown;
  readonly defaultPrevented: boolean;
  preventDefault: () => void;
}

/** Collects rejections that nobody handles, as long as it is not ended; those that the engine takes care of do not count. */
export class Unhandled {
  readonly reasons: string[] = [];
  readonly #isDeno = "Deno" in globalThis;
  readonly #onEvent = (event: unknown) => {
    const rejection = event as RejectionEvent;
    if (rejection.defaultPrevented) return;
    rejection.preventDefault();
    let isTaken = false;
    rejection.preventDefault = () => void (isTaken = true);
    setTimeout(() => isTaken || this.#note(rejection.reason), 0);
  };
  readonly #onReason = (reason: unknown) => {
    // With a listener of its own the engine takes care of what it caused.
    const isCaused = reason instanceof Error && reason.name === "WaitExpiredError";
    if (!isCaused || process.listenerCount("unhandledRejection") === 1) this.#note(reason);
  };

  readonly #isExpected: (reason: unknown) => boolean;

  /** `isExpected` says which are none of the engine's. */
  constructor(isExpected: (reason: unknown) => boolean = () => false) {
    this.#isExpected = isExpected;
    if (this.#isDeno) globalThis.addEventListener("unhandledrejection", this.#onEvent);
    else process.on("unhandledRejection", this.#onReason);
  }

  #note(reason: unknown): void {
    if (this.#isExpected(reason)) return;
    this.reasons.push(reason instanceof Error ? reason.stack ?? reason.message : String(reason));
  }

  async end(): Promise<void> {
    await new Promise<void>((resolve) => setTimeout(resolve, 5));
    if (this.#isDeno) globalThis.removeEventListener("unhandledrejection", this.#onEvent);
    else process.off("unhandledRejection", this.#onReason);
  }
}
