import type { Line, Mode, Sample, Target } from "./types.ts";

/** One line for each figure, in the order in which they came. */
export function linesOf(samples: readonly Sample[], on: string, mode: Mode): Line[] {
  const figures = new Map<string, Sample[]>();
  for (const sample of samples) {
    const key = JSON.stringify([sample.id, sample.name]);
    figures.set(key, [...figures.get(key) ?? [], sample]);
  }
  return [...figures.values()].map((repeats) => lineOf(repeats, on, mode));
}

function lineOf(repeats: readonly Sample[], on: string, mode: Mode): Line {
  const { id, name, unit, target, keys } = repeats[0]!;
  const values = repeats.map(({ value }) => value);
  const ratios = repeats.flatMap(({ value, bound }) => bound === undefined ? [] : [value / bound]);
  const value = quantile(values, 0.5);
  const ratio = ratios.length === 0 ? undefined : quantile(ratios, 0.5);
  const judged = target?.of === "ratio" ? ratio : value;
  return {
    id,
    name,
    on,
    mode,
    unit,
    value: round(value),
    low: round(quantile(values, 0.25)),
    high: round(quantile(values, 0.75)),
    repeats: repeats.length,
    ...medianOf("bound", repeats),
    ...(ratio === undefined ? {} : { ratio: round(ratio) }),
    ...(target === undefined || judged === undefined ? {} : {
      target: shown(target),
      ok: judged <= (target.max ?? Infinity) && judged >= (target.min ?? -Infinity),
    }),
    ...medianOf("commits", repeats),
    ...medianOf("mutations", repeats),
    ...medianOf("reads", repeats),
    ...medianOf("bytes", repeats),
    ...medianOf("heap", repeats),
    ...(keys === undefined ? {} : { keys }),
  };
}

function medianOf(
  field: "bound" | "commits" | "mutations" | "reads" | "bytes" | "heap",
  repeats: readonly Sample[],
): Partial<Record<typeof field, number>> {
  const values = repeats.flatMap((sample) => sample[field] ?? []);
  return values.length === 0 ? {} : { [field]: round(quantile(values, 0.5)) };
}

function shown({ of, max, min }: Target): string {
  return max === undefined ? `${of} >= ${min}` : `${of} <= ${max}`;
}

/** The value below which that part of all values is, between the two nearest. */
export function quantile(values: readonly number[], part: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  const place = part * (sorted.length - 1);
  const below = sorted[Math.floor(place)]!;
  return below + (sorted[Math.ceil(place)]! - below) * (place % 1);
}

export const median = (values: readonly number[]) => quantile(values, 0.5);

function round(value: number): number {
  return Number(value.toPrecision(4));
}
