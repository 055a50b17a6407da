/**
 * Schemas as judges of values. A schema may shape the input of a run, with defaults and coercions; after that it only
 * accepts or refuses, and the value stays the very object that a reducer made. What it would change, it refuses.
 */

import { messageOf, ValidationError } from "../errors.ts";
import type { Schema } from "../model/schema.ts";
import { canonical } from "./canonical.ts";
import { schemaChange } from "./changes.ts";
import { advance } from "./delta.ts";
import { validateChange } from "./validate_changes.ts";
import { type Issue, issueOf, parse, refusals } from "./schema.ts";

export { jsonSchemaOf } from "./json_schema.ts";
export type { Issue } from "./schema.ts";

/** The schema of a state, put to use. */
export interface StateValidator<S> {
  /**
   * The state that an input makes: parsed, with defaults, canonical.
   *
   * @throws {ValidationError} When the schema refuses it, is asynchronous, or would refuse or change its own output,
   * so that a state which it accepted now could not be loaded later.
   * @throws {SerializationError} When it cannot be stored.
   */
  input(value: unknown): S;
  /**
   * What the schema has against `next`, or `undefined` when it accepts it.
   *
   * @param prev A state that it has accepted, which saves looking at what is still the same; `undefined` for none.
   */
  check(prev: S | undefined, next: S): readonly Issue[] | undefined;
  /**
   * A stored state: the very object when the schema accepts it as it is, and one completed by defaults when it lacks
   * nothing but fields that the schema completes.
   *
   * @throws {ValidationError} When the schema refuses it, or would change anything else in it.
   */
  load(value: unknown): S;
}

/** The validator of a schema; without one, everything that can be stored is a state. */
export function stateValidator<S>(schema: Schema<unknown, S> | undefined): StateValidator<S> {
  if (schema === undefined) {
    return {
      input: (value) => canonical(value, "the input") as S,
      check: () => undefined,
      load: (value) => value as S,
    };
  }
  return {
    input: (value) => parseStable(schema, value, "the input", STATE_ADVICE),
    check: (prev, next) =>
      guarded(() => prev === undefined ? refusals(schema, next) : validateChange(schema, prev, next)),
    load: (value) => {
      let state = value as S;
      const issues = guarded(() => {
        const parsed = parse(schema, value);
        if (parsed.issues !== undefined) return parsed.issues;
        if (schemaChange(value, parsed.value) === undefined) return undefined;
        const change = schemaChange(value, parsed.value, "completed");
        if (change !== undefined) return [issueOf(change)];
        state = advance(value, parsed.value, STORED).value as S;
        return refusals(schema, state);
      });
      if (issues !== undefined) throw new ValidationError(STORED, issues);
      return state;
    },
  };
}

/**
 * What `schema` makes of `value`, canonical.
 *
 * @param what Names the value in errors, such as `the answer to wait verdict`.
 * @throws {ValidationError} When the schema refuses it or is asynchronous.
 * @throws {SerializationError} When the value, or what the schema makes of it, cannot be stored.
 */
export function parseWith<T>(schema: Schema<unknown, T>, value: unknown, what: string): T {
  const given = canonical(value, what);
  let issues: readonly Issue[];
  try {
    const result = parse(schema, given);
    if (result.issues === undefined) return canonical(result.value, what) as T;
    issues = result.issues;
  } catch (error) {
    if (error instanceof Error && error.name === "SerializationError") throw error;
    issues = [{ path: "", message: `its schema failed: ${messageOf(error)}` }];
  }
  throw new ValidationError(what, issues);
}

/**
 * What `schema` makes of `value`, and what is to be stored of it: that, where the schema takes it again as it is, so that
 * defaults are drawn once; else the value as given. Either way the schema makes the same of what is read back.
 *
 * @throws {ValidationError} When the schema refuses it or is asynchronous.
 * @throws {SerializationError} When the value, or what the schema makes of it, cannot be stored.
 */
export function shaped<T>(
  schema: Schema<unknown, T>,
  value: unknown,
  what: string,
): { readonly value: T; readonly stored: unknown } {
  const parsed = parseWith(schema, value, what);
  const isStable = guarded(() => refusals(schema, parsed)) === undefined;
  return { value: parsed, stored: isStable ? parsed : canonical(value, what) };
}

/**
 * What `schema` makes of `value`, when it would accept that again and leave it as it is: whatever is stored is validated
 * when it is read, too.
 *
 * @param advice Says what to do about a schema that does not.
 * @throws {ValidationError} When the schema refuses the value or its own output, or changes it.
 * @throws {SerializationError} When the value, or what the schema makes of it, cannot be stored.
 */
export function parseStable<T>(
  schema: Schema<unknown, T>,
  value: unknown,
  what: string,
  advice: string,
): T {
  const parsed = parseWith(schema, value, what);
  let again: T;
  try {
    again = parseWith(schema, parsed, what);
  } catch (error) {
    if (!(error instanceof ValidationError)) throw error;
    throw new ValidationError(
      what,
      error.issues.map(({ path, message }) => ({
        path,
        message: `the schema refuses its own output: ${message}. ${advice}`,
      })),
    );
  }
  const change = schemaChange(parsed, again);
  if (change === undefined) return parsed;
  throw new ValidationError(what, [{
    path: issueOf(change).path,
    message: `the schema changes its own output when it reads it again. ${advice}`,
  }]);
}

const STORED = "the stored state";

const STATE_ADVICE =
  "A state is validated again whenever it is loaded: move transforms out of the state's schema, into a " +
  "vertex or before start";

/** A schema is user code and may throw; that is a refusal too. */
function guarded(judge: () => readonly Issue[] | undefined): readonly Issue[] | undefined {
  try {
    return judge();
  } catch (error) {
    return [{ path: "", message: `its schema failed: ${messageOf(error)}` }];
  }
}
