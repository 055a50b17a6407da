import { errorText } from "../model/texts.ts";

const MAX_CAUSES = 10;
/** Where the code of this package is, as its stack frames name it. */
const OWN = new URL("..", import.meta.url).href;
const FOREIGN = /node_modules|\bnode:|\bext:|\binternal\/|\bnative:|\[native code\]|<anonymous>\)?$/;

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

/** The first frame of a stack that is neither of this package nor of another one nor of the runtime. */
export function userFrame(stack: string): string | undefined {
  for (const line of stack.split("\n")) {
    const frame = /^\s*at (.*)$/.exec(line)?.[1]?.trim();
    if (frame !== undefined && !FOREIGN.test(frame) && !isOwn(frame)) return frame;
  }
  return undefined;
}

function isOwn(frame: string): boolean {
  return frame.includes(OWN) || frame.includes(OWN.replace(/^file:\/\//, ""));
}
