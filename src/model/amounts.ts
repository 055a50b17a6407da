/** Amounts, as people read them. */

/** A span of time for people, such as `12 ms`, `3.4 s`, `2 m 05 s`, `3 h 10 m` or `4 d 2 h`. */
export function span(ms: number): string {
  const whole = Math.max(0, Math.round(ms));
  if (whole < 1_000) return `${whole} ms`;
  if (whole < 60_000) return `${(whole / 1_000).toFixed(whole < 10_000 ? 2 : 1)} s`;
  const seconds = Math.floor(whole / 1_000);
  const [d, h, m, s] = [
    Math.floor(seconds / 86_400),
    Math.floor(seconds / 3_600) % 24,
    Math.floor(seconds / 60) % 60,
    seconds % 60,
  ];
  if (d > 0) return `${d} d ${h} h`;
  if (h > 0) return `${h} h ${two(m)} m`;
  return `${m} m ${two(s)} s`;
}

/** A number of bytes. */
export function bytes(count: number): string {
  if (count < 1_024) return `${count} B`;
  const kib = count / 1_024;
  return kib < 1_024 ? `${kib.toFixed(1)} KiB` : `${(kib / 1_024).toFixed(1)} MiB`;
}

/** `1 run`, `2 runs`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

function two(value: number): string {
  return String(value).padStart(2, "0");
}
