import { pathToFileURL } from "node:url";

/**
 * The module that called the decorator whose body calls this: the explicit `module` option, or else the file of the
 * calling frame. The depth is fixed, because names and paths of frames do not survive bundlers; the three runtimes
 * write frames alike (`at name (file:line:column)`), only Bun writes plain paths. `undefined` when it cannot be told.
 *
 * A decorator must not call it in tail position: Bun's engine drops the frames of tail calls.
 */
export function callerModule(explicit: string | undefined): string | undefined {
  if (explicit !== undefined) return normalised(explicit);
  const frames = (new Error().stack ?? "").split("\n").filter((line) => /^\s*at /.test(line));
  const frame = frames[2]?.trim();
  if (frame === undefined) return undefined;
  const place = /\((.*)\)$/.exec(frame)?.[1] ?? frame.replace(/^at (?:async )?/, "");
  const file = /^(.+?)(?::\d+){1,2}$/.exec(place)?.[1];
  return file === undefined ? undefined : normalised(file);
}

/** One spelling per module: a path as a file URL, without the query that a hot reload adds. */
function normalised(module: string): string {
  const bare = module.replace(/[?#].*$/, "");
  return /^(?:\/|[A-Za-z]:[\\/])/.test(bare) ? pathToFileURL(bare).href : bare;
}
