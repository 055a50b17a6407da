import { pathToFileURL } from "node:url";

/**
 * The file of a frame of the stack as the runtime writes it, 0 being the caller's own; `undefined` when it cannot be
 * told. Depths are fixed, because names and paths of frames do not survive bundlers; the three runtimes write frames
 * alike (`at name (file:line:column)`), only Bun writes plain paths, and those without the query of a module.
 *
 * No function between may call the next in tail position: Bun's engine drops the frames of tail calls.
 */
export function fileOfFrame(depth: number): string | undefined {
  const frames = (new Error().stack ?? "").split("\n").filter((line) => /^\s*at /.test(line));
  const frame = frames[depth + 1]?.trim();
  if (frame === undefined) return undefined;
  const place = /\((.*)\)$/.exec(frame)?.[1] ?? frame.replace(/^at (?:async )?/, "");
  return /^(.+?)(?::\d+){1,2}$/.exec(place)?.[1];
}

/** One spelling per module: a path as a file URL, without the query that a hot reload adds. */
export function moduleUrl(module: string): string {
  const bare = module.replace(/[?#].*$/, "");
  return /^(?:\/|[A-Za-z]:[\\/])/.test(bare) ? pathToFileURL(bare).href : bare;
}
