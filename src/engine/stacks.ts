import { errorText } from "../model/texts.ts";

const MAX_CAUSES = 10;

/**
 * Where an error was thrown, with the chain of what caused it, as text of at most 16 KiB.
 *
 * @returns `undefined` for what is no error
 */
export function stackOf(error: unknown): string | undefined {
  const told: string[] = [];
  const seen = new Set<unknown>();
  try {
    for (let e = error; e instanceof Error && !seen.has(e) && told.length <= MAX_CAUSES; e = e.cause) {
      seen.add(e);
      const stack = typeof e.stack === "string" ? e.stack : "";
      const text = stack.startsWith(e.name) ? stack : `${e.name}: ${e.message}\n${stack}`;
      told.push(told.length === 0 ? text : `Caused by: ${text}`);
    }
  } catch {
    // A getter of the user's error: what was read before is kept.
  }
  return told.length === 0 ? undefined : errorText(told.join("\n"));
}
