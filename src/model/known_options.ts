import { closestId } from "./closest.ts";

/**
 * The names of all options of a kind, each with the values that it may have where these are few; `satisfies
 * KnownOptions<keyof TheOptions>` keeps it and the type together.
 */
export type KnownOptions<K extends PropertyKey> = Readonly<Record<K, true | readonly unknown[]>>;

/** The values of an option that is on or off. */
export const ON_OFF: readonly unknown[] = [true, false];

/**
 * What is wrong with an options object that has an option which nobody reads, or a value that means nothing, and what to do;
 * `undefined` when nothing is. Without type checks a slip of the pen would else show, if at all, by what is missing elsewhere.
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
  if (unknown === undefined) return valueProblem(options, known);
  const said = `there is no option ${JSON.stringify(unknown.slice(0, 200))}`;
  if (Object.hasOwn(elsewhere, unknown)) return `${said} here; ${elsewhere[unknown]}`;
  const names = Object.keys(known);
  const near = closestId(unknown, names);
  return near === undefined
    ? `${said}; the options are ${names.join(", ")}`
    : `${said}; did you mean ${JSON.stringify(near)}?`;
}

function valueProblem(options: object, known: KnownOptions<string>): string | undefined {
  for (const [name, value] of Object.entries(options)) {
    const allowed = known[name];
    if (value === undefined || allowed === undefined || allowed === true || allowed.includes(value)) continue;
    const given = typeof value === "string" ? JSON.stringify(value.slice(0, 200)) : typeof value;
    const choices = allowed.map((each) => JSON.stringify(each));
    return `${name} is ${given}; give ${choices.slice(0, -1).join(", ")} or ${choices.at(-1)}`;
  }
  return undefined;
}
