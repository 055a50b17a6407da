import { userFrame } from "./user_frame.ts";

const BRAND = Symbol.for("superstep.error");

/**
 * The base of every error that superstep throws. Tell errors apart by their `code`, with {@link isSuperstepError}: a second
 * copy of the package has classes of its own.
 */
export abstract class SuperstepError extends Error {
  /** A stable identifier, such as `RUN_BUSY`. */
  abstract readonly code: string;
  /** What the message is made of, for machines. */
  readonly fields: Readonly<Record<string, unknown>>;

  /** Takes the text, what it is made of, and the cause. */
  constructor(message: string, fields: Readonly<Record<string, unknown>> = {}, options?: ErrorOptions) {
    super(message, options);
    this.fields = fields;
    Object.defineProperty(this, BRAND, { value: true });
  }

  /** The name of the class, which minifying leaves as it is. */
  override get name(): string {
    return (this.constructor as unknown as { readonly errorName?: string }).errorName ?? "SuperstepError";
  }
}

/**
 * Whether `error` is one of superstep's, whichever copy of the package made it; optionally of one of these codes.
 *
 * @example
 * ```ts
 * const runner = compile(
 *   new GraphBuilder({ id: "g", schema: z.object({ n: z.number() }) })
 *     .addVertex({ id: "a", task: { execute: (n: number) => n }, select: (s) => s.n, reduce: () => {} })
 *     .build({ entry: "a", finish: "a" }),
 *   { store: memoryStore() },
 * );
 * const error = await runner.get("nobody").catch((error: unknown) => error);
 * assert.ok(isSuperstepError(error, "CHECKPOINT_NOT_FOUND"));
 * assert.deepEqual(error.fields, { runId: "nobody" });
 * ```
 */
export function isSuperstepError(error: unknown, ...codes: readonly string[]): error is SuperstepError {
  try {
    return typeof error === "object" && error !== null && BRAND in error &&
      (codes.length === 0 || codes.some((code) => (error as { code?: unknown }).code === code));
  } catch {
    // Anything can be thrown, a proxy that throws when it is looked at, too.
    return false;
  }
}

/** The text of anything thrown, without running user code that may throw again. */
export function messageOf(error: unknown): string {
  try {
    return String(error instanceof Error ? error.message : error);
  } catch {
    return "an error without a readable message";
  }
}

/** The text of an error inside the text of another one. */
export function reasonOf(error: unknown): string {
  return messageOf(error).replace(/^superstep: /, "");
}

/**
 * What a fault in user code says of itself, with what to do about it, and where it was, where the code tried to change
 * a frozen value: the runtimes only say that it is one.
 */
export function userFault(error: unknown): string {
  const said = recordedMessage(error).replace(/^superstep: /, "");
  if (!isFrozenWrite(error)) return said;
  const frame = userFrame((error as Error).stack ?? "");
  return `${said}${frame === undefined ? "" : ` at ${frame}`}`;
}

/** The message of a fault in user code as it is recorded: without the place, on which no state may depend. */
export function recordedMessage(error: unknown): string {
  const said = messageOf(error);
  return isFrozenWrite(error) && !said.includes(FROZEN_ADVICE) ? `${said} (${FROZEN_ADVICE})` : said;
}

function isFrozenWrite(error: unknown): boolean {
  return nameOf(error) === "TypeError" && FROZEN.test(messageOf(error));
}

/** How V8 and JavaScriptCore say that a value is frozen. */
const FROZEN =
  /read ?only property|is not extensible|(?:annot|nable to) delete property|length is not writable/i;

const FROZEN_ADVICE =
  "what superstep hands over is frozen: change a copy, such as { ...value } or [...list], " +
  "or let a reducer change the state";

function nameOf(error: unknown): unknown {
  try {
    return (error as { readonly name?: unknown } | null | undefined)?.name;
  } catch {
    return undefined;
  }
}
