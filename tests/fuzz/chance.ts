import process from "node:process";

/** A number from 0 to 2^32 - 1 that depends on nothing but its parts. */
export function hash(...parts: readonly (string | number)[]): number {
  let h = 0x811c9dc5;
  for (const char of parts.join("\u0000")) h = Math.imul(h ^ char.codePointAt(0)!, 0x01000193);
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}

/** Whether a decision in so many falls this way; it depends on nothing but its parts. */
export function oneIn(n: number, ...parts: readonly (string | number)[]): boolean {
  return hash("one in", ...parts) % n === 0;
}

/** A sequence of decisions that is the same for the same seed. */
export class Chance {
  readonly #seed: string;
  #drawn = 0;

  constructor(...seed: readonly (string | number)[]) {
    this.#seed = seed.join("/");
  }

  /** A whole number from 0 to `n` - 1. */
  below(n: number): number {
    return hash(this.#seed, this.#drawn++) % n;
  }

  /** True in `percent` of 100 cases. */
  percent(percent: number): boolean {
    return this.below(100) < percent;
  }

  pick<T>(from: readonly T[]): T {
    return from[this.below(from.length)]!;
  }

  shuffle<T>(from: readonly T[]): T[] {
    const all = [...from];
    for (let i = all.length - 1; i > 0; i--) {
      const j = this.below(i + 1);
      [all[i], all[j]] = [all[j]!, all[i]!];
    }
    return all;
  }
}

/** The seeds of one test: `count` of them, or those that `FUZZ_SEEDS` names as `from-to`, or one. */
export function seedsOf(count: number): readonly number[] {
  const wish = process.env["FUZZ_SEEDS"];
  if (wish === undefined) return Array.from({ length: count }, (_, i) => i + 1);
  const [from = 1, to = from] = wish.split("-").map(Number);
  return Array.from({ length: to - from + 1 }, (_, i) => from + i);
}
