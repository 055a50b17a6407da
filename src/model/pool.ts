import { type Duration, toMs } from "./durations.ts";
import { isId } from "./ids.ts";

/** What limits the bodies of a pool. One of them at least is given. */
export interface PoolOptions {
  /** The most bodies at work at once, over all graphs and workers of a store. A whole number from 1. @default any number */
  readonly concurrency?: number;
  /** How many bodies begin in any period of a length; `limit` is a whole number from 1 to 500. @default any number */
  readonly rate?: { readonly limit: number; readonly per: Duration };
}

/** A pool of permits that bodies of any graph share; made by `definePool`. */
export interface Pool {
  /** Its name in the store. */
  readonly name: string;
  /** The most bodies at work at once. */
  readonly concurrency?: number;
  /** How many bodies begin in any period of that length. */
  readonly rate?: { readonly limit: number; readonly perMs: number };
}

/** More would not fit into what is stored of a rate. */
const MAX_RATE = 500;

/** A pool whose options have been judged, or what is wrong with them. */
export function compiledPool(name: unknown, options: PoolOptions): Pool | string {
  if (!isId(name)) {
    return `the name of a pool is ${
      JSON.stringify(name)
    }; use a letter or digit, then letters, digits and . _ : -`;
  }
  const { concurrency, rate } = options;
  if (concurrency === undefined && rate === undefined) {
    return `the pool ${name} limits nothing; give concurrency, rate, or both`;
  }
  if (concurrency !== undefined && !isWhole(concurrency, Infinity)) {
    return `the pool ${name}: concurrency is ${String(concurrency)}; give a whole number from 1`;
  }
  if (rate === undefined) return Object.freeze({ name, concurrency: concurrency! });
  const perMs = toMs(rate?.per);
  if (!isWhole(rate?.limit, MAX_RATE)) {
    return `the pool ${name}: rate.limit is ${
      String(rate?.limit)
    }; give a whole number from 1 to ${MAX_RATE}`;
  }
  if (perMs === undefined || perMs <= 0) {
    return `the pool ${name}: rate.per is ${String(rate.per)}; give milliseconds or a text such as "1m"`;
  }
  const limits = { name, rate: Object.freeze({ limit: rate.limit, perMs }) };
  return Object.freeze(concurrency === undefined ? limits : { ...limits, concurrency });
}

/** What is wrong with what is given as a pool, if anything is. */
export function poolProblem(pool: unknown): string | undefined {
  const { name, concurrency, rate } = (pool ?? {}) as Partial<Pool>;
  if (typeof pool === "object" && typeof name === "string" && (concurrency ?? rate) !== undefined) {
    return undefined;
  }
  return "the pool is none; give what definePool answers";
}

/** Whether two definitions limit the same. */
export function isSamePool(a: Pool, b: Pool): boolean {
  return a.concurrency === b.concurrency && a.rate?.limit === b.rate?.limit &&
    a.rate?.perMs === b.rate?.perMs;
}

function isWhole(value: unknown, most: number): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 1 && (value as number) <= most;
}
