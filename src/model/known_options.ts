import { closestId } from "./closest.ts";

/** The names of all options of a kind; `satisfies KnownOptions<keyof TheOptions>` keeps it and the type together. */
export type KnownOptions<K extends PropertyKey> = Readonly<Record<K, true>>;

/**
 * What is wrong with an options object that has an option which nobody reads, and what to do; `undefined` when nothing is.
 * Without type checks a slip of the pen would else be told, if at all, by what is missing elsewhere.
 *
 * @param elsewhere Where options of other calls belong, by name
 */
export function optionProblem(
  options: unknown,
  known: KnownOptions<string>,
  elsewhere: Readonly<Record<string, string>> = {},
): string | undefined {
  if (typeof options !== "object" || options === null) return undefined;
  const unknown = Object.keys(options).find((name) => !Object.hasOwn(known, name));
  if (unknown === undefined) return undefined;
  const said = `there is no option ${JSON.stringify(unknown.slice(0, 200))}`;
  if (Object.hasOwn(elsewhere, unknown)) return `${said} here; ${elsewhere[unknown]}`;
  const names = Object.keys(known);
  const near = closestId(unknown, names);
  return near === undefined
    ? `${said}; the options are ${names.join(", ")}`
    : `${said}; did you mean ${JSON.stringify(near)}?`;
}
