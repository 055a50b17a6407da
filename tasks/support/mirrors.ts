import { isSuperstepError, type TaskContext, type WaitDefinition } from "../../mod.ts";

/** A wait of a run that works for an execution. */
export interface CalledWait {
  readonly waitId: string;
  readonly vertexId: string;
  readonly name: string;
  readonly kind: string;
  readonly due?: number;
  readonly info?: unknown;
}

/** What became of the waits that were mirrored. */
export interface Results {
  readonly answers: Readonly<Record<string, unknown>>;
  readonly expired: readonly string[];
  /** What a body throws to pause, when a wait is open. */
  readonly pause: unknown;
}

/**
 * The waits of a run, mirrored by an execution: each has a wait of the same name, info and deadline in the execution, under
 * the id of the mirrored one as its key. So every body that asks for it again finds what has been recorded.
 */
export class Mirrors {
  readonly #ctx: TaskContext;
  readonly #declared: (vertexId: string, name: string) => WaitDefinition | undefined;
  readonly #mirrored = new Map<string, Promise<Result>>();

  constructor(ctx: TaskContext, declared: (vertexId: string, name: string) => WaitDefinition | undefined) {
    this.#ctx = ctx;
    this.#declared = declared;
  }

  /** Whether a wait is open that this body has asked for: then it pauses, whatever it returns. */
  async areOpen(): Promise<boolean> {
    const results = await Promise.all(this.#mirrored.values());
    return results.some(({ kind }) => kind === "open");
  }

  /** Opens a wait for another one, unless it is open or over already. */
  add({ waitId, vertexId, name, kind, due, ...more }: CalledWait): void {
    if (kind === "timer" || this.#mirrored.has(waitId)) return;
    const declared = kind === "interrupt" ? undefined : this.#declared(vertexId, name);
    const wait = declared === undefined ? ANYTHING : { name, schema: declared.schema };
    const answer = this.#ctx.waitFor(wait, {
      key: waitId,
      ...("info" in more ? { info: more.info } : {}),
      ...(due === undefined ? {} : { deadline: new Date(due) }),
    });
    this.#mirrored.set(waitId, resultOf(answer));
  }

  /** The results that are recorded for these waits. */
  async results(waits: readonly CalledWait[]): Promise<Results> {
    for (const wait of waits) this.add(wait);
    const answers: Record<string, unknown> = {};
    const expired: string[] = [];
    let pause: unknown;
    for (const { waitId } of waits) {
      const result = await this.#mirrored.get(waitId);
      if (result === undefined) continue;
      if (result.kind === "answered") answers[waitId] = result.value;
      else if (result.kind === "expired") expired.push(waitId);
      else pause = result.pause;
    }
    return { answers, expired, pause };
  }
}

type Result =
  | { readonly kind: "answered"; readonly value: unknown }
  | { readonly kind: "expired" }
  | { readonly kind: "open"; readonly pause: unknown };

async function resultOf(answer: Promise<unknown>): Promise<Result> {
  try {
    return { kind: "answered", value: await answer };
  } catch (error) {
    return isSuperstepError(error, "WAIT_EXPIRED") ? { kind: "expired" } : { kind: "open", pause: error };
  }
}

/** Stands for every `ctx.interrupt`, which takes any answer. */
export const ANYTHING: WaitDefinition = Object.freeze({
  name: "interrupt",
  schema: {
    "~standard": { version: 1 as const, vendor: "superstep", validate: (value: unknown) => ({ value }) },
  },
});
