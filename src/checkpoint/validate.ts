/**
 * Schemas as judges of values. A schema may shape the input of a run, with defaults and coercions; after that it only
 * accepts or refuses, and the value stays the very object that a reducer made.
 */

import { messageOf, ValidationError } from "../errors.ts";
import type { Schema } from "../model/schema.ts";
import { canonical } from "./canonical.ts";
import { advance } from "./delta.ts";
import { digest } from "./digest.ts";
import { judgeChange } from "./judge.ts";
import { ARRAY, type Patch, RECORD } from "./patch.ts";
import { type Issue, parse } from "./schema.ts";

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
  /** A stored state, when the schema accepts it. Defaults do not apply: the state stays what the history says. */
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
      prev === undefined ? refusals(schema, next) : guarded(() => judgeChange(schema, prev, next)),
    load(value) {
      const issues = refusals(schema, value);
      if (issues !== undefined) throw new ValidationError("the stored state", issues);
      return value as S;
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
  const { patch } = advance(parsed, again, what);
  // Objects that are keys of a map are other ones in every copy: only their values tell whether anything has changed.
  if (patch === undefined || digest(parsed) === digest(again)) return parsed;
  throw new ValidationError(what, [{
    path: firstChange(patch),
    message: `the schema changes its own output when it reads it again. ${advice}`,
  }]);
}

const STATE_ADVICE =
  "A state is validated again whenever it is loaded: move transforms out of the state's schema, into a " +
  "vertex or before start";

function firstChange(patch: Patch): string {
  const first = patch[0] === RECORD
    ? patch[1][0] ?? patch[2][0] ?? patch[3][0]
    : patch[0] === ARRAY
    ? `[${String(patch[2][0] ?? patch[3])}]`
    : undefined;
  return first === undefined ? "" : String(first);
}

function refusals(schema: Schema, value: unknown): readonly Issue[] | undefined {
  return guarded(() => parse(schema, value).issues);
}

/** A schema is user code and may throw; that is a refusal too. */
function guarded(judge: () => readonly Issue[] | undefined): readonly Issue[] | undefined {
  try {
    return judge();
  } catch (error) {
    return [{ path: "", message: `its schema failed: ${messageOf(error)}` }];
  }
}
