import { pathToFileURL } from "node:url";

/** Where an annotation stands. */
export interface Origin {
  /** The URL of its module, without what a hot reload adds; `undefined` when it cannot be told. */
  readonly module: string | undefined;
  /** The same with the query that tells one evaluation of the module from another, where the runtime shows it. */
  readonly evaluation: string | undefined;
}

/**
 * The module that called the decorator whose body calls this: the explicit `module` option, or else the file of the
 * calling frame. The depth is fixed, because names and paths of frames do not survive bundlers; the three runtimes
 * write frames alike (`at name (file:line:column)`), only Bun writes plain paths, and those without their query.
 *
 * A decorator must not call it in tail position: Bun's engine drops the frames of tail calls.
 */
export function callerOrigin(explicit: string | undefined): Origin {
  const evaluation = explicit ?? callingFile();
  return { module: evaluation === undefined ? undefined : normalised(evaluation), evaluation };
}

function callingFile(): string | undefined {
  const frames = (new Error().stack ?? "").split("\n").filter((line) => /^\s*at /.test(line));
  const frame = frames[3]?.trim();
  if (frame === undefined) return undefined;
  const place = /\((.*)\)$/.exec(frame)?.[1] ?? frame.replace(/^at (?:async )?/, "");
  return /^(.+?)(?::\d+){1,2}$/.exec(place)?.[1];
}

/** One spelling per module: a path as a file URL, without the query that a hot reload adds. */
function normalised(module: string): string {
  const bare = module.replace(/[?#].*$/, "");
  return /^(?:\/|[A-Za-z]:[\\/])/.test(bare) ? pathToFileURL(bare).href : bare;
}
