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

/** The results that have come for mirrored waits. */
export interface Results {
  readonly answers: Readonly<Record<string, unknown>>;
  readonly expired: readonly string[];
}

/**
 * The waits of a run, mirrored by an execution: each has a wait of the same name, info and deadline in the execution, under
 * the id of the mirrored one as its key. So every body that asks for it again finds what has been recorded.
 */
export class Mirrors {
  readonly #ctx: TaskContext;
  readonly #declared: (vertexId: string, name: string) => WaitDefinition | undefined;
  readonly #mirrored = new Map<string, Promise<unknown>>();

  constructor(ctx: TaskContext, declared: (vertexId: string, name: string) => WaitDefinition | undefined) {
    this.#ctx = ctx;
    this.#declared = declared;
  }

  /** Opens a wait for another one, unless it was opened already. Nobody awaits it yet: the run may be at work still. */
  add({ waitId, vertexId, name, kind, due, ...more }: CalledWait): void {
    if (kind === "timer" || this.#mirrored.has(waitId)) return;
    const declared = kind === "interrupt" ? undefined : this.#declared(vertexId, name);
    const wait = declared === undefined ? ANYTHING : { name, schema: declared.schema };
    const answer = this.#ctx.waitFor(wait, {
      key: waitId,
      ...("info" in more ? { info: more.info } : {}),
      ...(due === undefined ? {} : { deadline: new Date(due) }),
    });
    this.#mirrored.set(waitId, answer);
  }

  /** Waits until one of these waits, or `other`, has a result: the results that have come for all of them by then. */
  async results(waits: readonly CalledWait[], other: Promise<void> | undefined): Promise<Results> {
    for (const wait of waits) this.add(wait);
    const answers: Record<string, unknown> = {};
    const expired: string[] = [];
    const coming = waits.flatMap(({ waitId }) => {
      const answer = this.#mirrored.get(waitId);
      return answer === undefined ? [] : [answer.then(
        (value) => void (answers[waitId] = value),
        (error) => {
          if (!isSuperstepError(error, "WAIT_EXPIRED")) throw error;
          expired.push(waitId);
        },
      )];
    });
    await Promise.race(other === undefined ? coming : [...coming, other]);
    return { answers, expired };
  }

  /** The run waits for nothing any more: what is open here closes with the body. */
  end(): void {
    for (const answer of this.#mirrored.values()) answer.then(() => {}, () => {});
  }
}

/** Stands for every `ctx.interrupt`, which takes any answer. */
export const ANYTHING: WaitDefinition = Object.freeze({
  name: "interrupt",
  schema: {
    "~standard": { version: 1 as const, vendor: "superstep", validate: (value: unknown) => ({ value }) },
  },
});
