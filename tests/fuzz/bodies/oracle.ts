import { setImmediate } from "node:timers";
import { type BodyWorld, type Effect, interpret, show } from "./interpret.ts";
import type { Block } from "./syntax.ts";

/** One numbered result of an execution, in the order of recording. */
export interface Recorded {
  /** What it is the result of: see {@link openingOf} and {@link onceOf}. */
  readonly key: string;
  readonly result: { readonly value: unknown } | { readonly expired: true };
}

/** What names an opening of a wait or timer. */
export function openingOf(
  kind: "answer" | "timer",
  name: string,
  key: string | undefined,
  n: number,
): string {
  return `${kind} ${name}${key === undefined ? "" : `/${key}`}:${n}`;
}

/** What names the result of a `once`. */
export function onceOf(name: string): string {
  return `once ${name}`;
}

/** What became of a body. */
export interface Told {
  readonly outcome: string;
  readonly trace: readonly string[];
}

/** What a body came to as plain JavaScript. */
export interface Foreseen extends Told {
  /** The names of `once` it asked for. */
  readonly onces: ReadonlySet<string>;
  readonly opened: ReadonlySet<string>;
  /** Those opened after the last result that it was given. */
  readonly openedLast: ReadonlySet<string>;
  /** Whether plain work was still under way when it settled. */
  readonly working: boolean;
  /** A result that was given although an earlier one was not asked for. */
  readonly outOfTurn?: string;
}

/** A body of which nothing can come any more. */
export const STUCK = "stuck";

/** How fast plain work is, compared with the delivery of results. */
export type Pace = "eager" | "lazy";

/**
 * The body as plain JavaScript, run once and without interruption, on promises that resolve in the recorded order (T2):
 *
 * 1. Each result comes in a macrotask of its own, when all that the one before has set off has run.
 * 2. The next in order comes first. While it is not asked for and plain work is under way, nothing comes; when the body is
 *    quiet, the earliest that is asked for.
 * 3. A `once` that has no recorded result has lost, or its function throws.
 */
export async function foresee(
  block: Block,
  results: readonly Recorded[],
  options: { readonly attempt: number; readonly pace: Pace },
): Promise<Foreseen> {
  return await new Oracle(results, options.attempt, options.pace).run(block);
}

/** In plain JavaScript an expiry that nobody awaits in time is unhandled; that is expected of the oracle alone. */
export function isForeseen(reason: unknown): boolean {
  return reason instanceof ForeseenExpiry ||
    reason instanceof AggregateError && reason.errors.every(isForeseen);
}

class ForeseenExpiry extends Error {
  constructor() {
    super("expired");
    this.name = "WaitExpiredError";
  }
}

interface Asked {
  resolve(value: never): void;
  reject(error: unknown): void;
}

interface PlainWork {
  left: number;
  readonly end: () => void;
}

class Oracle implements BodyWorld {
  readonly attempt: number;
  readonly #results: readonly Recorded[];
  readonly #pace: Pace;
  readonly #asked = new Map<string, Asked>();
  readonly #given = new Set<string>();
  readonly #uses = new Map<string, number>();
  readonly #trace: string[] = [];
  readonly #onces = new Set<string>();
  readonly #opened = new Set<string>();
  #openedLast = new Set<string>();
  readonly #short = new Set<PlainWork>();
  readonly #long = new Set<PlainWork>();
  #outOfTurn: string | undefined;

  constructor(results: readonly Recorded[], attempt: number, pace: Pace) {
    this.#results = results;
    this.attempt = attempt;
    this.#pace = pace;
  }

  async run(block: Block): Promise<Foreseen> {
    let outcome: string | undefined;
    void interpret(block, this).then((v) => outcome = v, (e) => outcome = `failed: ${show(e)}`);
    for (;;) {
      await new Promise<void>((resolve) => setImmediate(resolve));
      if (outcome !== undefined || !this.#turn()) break;
    }
    return {
      outcome: outcome ?? STUCK,
      trace: [...this.#trace],
      onces: this.#onces,
      opened: this.#opened,
      openedLast: this.#openedLast,
      working: this.#short.size + this.#long.size > 0,
      ...(this.#outOfTurn === undefined ? {} : { outOfTurn: this.#outOfTurn }),
    };
  }

  /** Lets one thing happen; `false` when nothing can. */
  #turn(): boolean {
    if (this.#pace === "eager" && this.#work(this.#short)) return true;
    const left = this.#results.filter((r) => !this.#given.has(r.key));
    const [next] = left;
    if (next !== undefined && this.#give(next)) return true;
    if (this.#work(this.#short)) return true;
    // Quiet: what is asked for comes, out of its turn.
    if (this.#pace === "eager" && this.#work(this.#long)) return true;
    const asked = left.find((r) => this.#asked.has(r.key));
    if (asked !== undefined) {
      this.#outOfTurn ??= asked.key;
      return this.#give(asked);
    }
    return this.#work(this.#long);
  }

  #give({ key, result }: Recorded): boolean {
    const asked = this.#asked.get(key);
    if (asked === undefined) return false;
    this.#given.add(key);
    this.#openedLast = new Set();
    if ("value" in result) asked.resolve(result.value as never);
    else asked.reject(new ForeseenExpiry());
    return true;
  }

  #work(works: Set<PlainWork>): boolean {
    if (works.size === 0) return false;
    for (const work of works) {
      work.left -= 1;
      if (work.left > 0) continue;
      works.delete(work);
      work.end();
      // What ends together ends one after the other.
      return true;
    }
    return true;
  }

  #ask<T>(key: string): Promise<T> {
    return new Promise<T>((resolve, reject) => this.#asked.set(key, { resolve, reject }));
  }

  #open<T>(kind: "answer" | "timer", name: string, key: string | undefined): Promise<T> {
    const use = `${kind} ${name}/${key}`;
    const n = (this.#uses.get(use) ?? 0) + 1;
    this.#uses.set(use, n);
    const opening = openingOf(kind, name, key, n);
    this.#opened.add(opening);
    this.#openedLast.add(opening);
    return this.#ask(opening);
  }

  waitFor({ name, key }: { readonly name: string; readonly key?: string }): Promise<string> {
    return this.#open("answer", name, key);
  }

  sleep(name: string): Promise<void> {
    return this.#open("timer", name, undefined);
  }

  once(name: string, effect: Effect): Promise<string> {
    this.#onces.add(name);
    if (!effect.fails) return this.#ask(onceOf(name));
    return this.#plain(this.#short, 2, "").then(() => Promise.reject(new Error(`${name} failed`)));
  }

  io(turns: number): Promise<string> {
    return this.#plain(this.#short, turns, "io");
  }

  long(): Promise<string> {
    return this.#plain(this.#long, 1, "long");
  }

  #plain(works: Set<PlainWork>, left: number, value: string): Promise<string> {
    return new Promise((resolve) => works.add({ left, end: () => resolve(value) }));
  }

  trace(line: string): void {
    this.#trace.push(line);
  }
}
