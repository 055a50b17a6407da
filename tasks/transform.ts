import { FatalError, type Schema, type Task } from "../mod.ts";

/** What a transformation is held to. */
export interface TransformOptions<I, O> {
  /** What it accepts; it gets what the schema makes of it. @default anything */
  readonly input?: Schema<unknown, I>;
  /** What it may return. @default anything */
  readonly output?: Schema<unknown, O>;
}

/**
 * Computes its output from its input alone, between two schemas where they are given. Running it again would come to the
 * same, so every fault of it is a `FatalError`: no attempt is wasted on it.
 *
 * @example
 * ```ts
 * const graph = new GraphBuilder({ id: "cart", schema: z.object({ prices: z.array(z.number()), sum: z.number().default(0) }) })
 *   .addVertex({
 *     id: "add_up",
 *     task: new Transform((prices: readonly number[]) => prices.reduce((sum, price) => sum + price, 0), {
 *       output: z.number().positive(),
 *     }),
 *     select: (s) => s.prices,
 *     reduce: (s, sum) => { s.sum = sum; },
 *   })
 *   .build({ entry: "add_up", finish: "add_up" });
 *
 * const { state } = await compile(graph, { store: memoryStore() }).run({ prices: [3, 4] });
 * assert.equal(state.sum, 7);
 * ```
 */
export class Transform<I, O> implements Task<I, O> {
  readonly #compute: (input: I) => O;
  readonly #options: TransformOptions<I, O>;

  /** `compute`: pure and synchronous. */
  constructor(compute: (input: I) => O, options: TransformOptions<I, O> = {}) {
    this.#compute = compute;
    this.#options = options;
  }

  /** Computes the output. */
  execute(input: I): O {
    const { input: accepted, output: promised } = this.#options;
    const given = checked(accepted, input, "input");
    let result: O;
    try {
      result = this.#compute(given);
    } catch (cause) {
      if (cause instanceof FatalError) throw cause;
      throw new FatalError(`the transformation failed: ${cause instanceof Error ? cause.message : cause}`, {
        cause,
      });
    }
    if (result instanceof Promise) {
      result.catch(() => {});
      throw new FatalError(
        "the transformation returned a promise; bind a task of its own for what takes time",
      );
    }
    return checked(promised, result, "output");
  }
}

function checked<T>(schema: Schema<unknown, T> | undefined, value: T, what: string): T {
  if (schema === undefined) return value;
  const result = schema["~standard"].validate(value);
  if (result instanceof Promise) throw new FatalError(`the schema of the ${what} is asynchronous`);
  if (result.issues === undefined) return result.value;
  const issues = result.issues.map(({ message, path = [] }) => {
    const at = path.map((key) => String(typeof key === "object" ? key.key : key)).join(".");
    return { path: at, message };
  });
  const said = issues.map(({ path, message }) => path === "" ? message : `${path}: ${message}`).join("; ");
  throw new FatalError(`the ${what} of the transformation is refused: ${said}`, { data: { issues } });
}
