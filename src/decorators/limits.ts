import { BuildError } from "../errors.ts";
import type { ConcurrencyOptions, FlowOptions, SingletonOptions, ThrottleOptions } from "../model/flow.ts";
import type { KnownOptions } from "../model/known_options.ts";
import { KNOWN_CONCURRENCY, KNOWN_SINGLETON, KNOWN_THROTTLE } from "../model/policy_options.ts";
import { type Annotation, annotation, nameOf, refuseUnknown, requireOptions } from "./annotation.ts";
import { isWorkflow, readOwn, records, writeOwn } from "./metadata.ts";
import type { WorkflowClass } from "./workflow.ts";

/** The annotation of a workflow class whose state is an `X`; others it does not take. */
export type LimitAnnotation<X> = <C extends WorkflowClass<unknown>>(
  cls: Limited<C, X>,
  ctx?: ClassDecoratorContext,
) => void;

/** `C`, when its key can be computed of the input as its schema completes it. */
export type Limited<C, X> = C extends WorkflowClass<infer S>
  ? [S] extends [X] ? C : { readonly "the key takes an input that the workflow does not have, which is": S }
  : never;

/**
 * Lets at most `limit` runs of the workflow be at work per key, over all workers of a store. Others wait in a queue, by
 * priority and then by age; after each minute a run counts one class higher. A run that only waits for people or long timers
 * holds no permit, and waits for one when it goes on.
 *
 * @example
 * ```ts
 * @Concurrency({ limit: 1, key: (input: { tenant: string }) => input.tenant })
 * @Graph({ id: "invoice" })
 * class Invoice extends Workflow(z.object({ tenant: z.string() })) {}
 *
 * @Vertex({ graph: Invoice, id: "send", entry: true, finish: true, select: (s) => s.tenant, reduce: () => {} })
 * class Send {
 *   execute(tenant: string) { return `sent for ${tenant}`; }
 * }
 *
 * const runner = compile(Invoice, { store: memoryStore() });
 * await runner.submit({ tenant: "a" });
 * const { runId } = await runner.submit({ tenant: "a" }, { priority: "high" });
 * await runner.submit({ tenant: "b" });
 * const { rows } = await runner.list({ reason: "queued" });
 * assert.deepEqual(rows.map((row) => [row.runId, row.queued]), [[runId, "concurrency/invoice/a"]]);
 * ```
 */
export function Concurrency<X = unknown>(options: ConcurrencyOptions<X>): LimitAnnotation<X> {
  return limit("@Concurrency", KNOWN_CONCURRENCY, options, { concurrency: options });
}

/**
 * Lets at most `limit` runs of the workflow begin per key in any period of the length `per`. Others wait for their time,
 * whatever their priority.
 *
 * @example
 * ```ts
 * @Throttle({ limit: 10, per: "1m" })
 * @Graph({ id: "newsletter" })
 * class Newsletter extends Workflow(z.object({ to: z.string() })) {}
 * ```
 */
export function Throttle<X = unknown>(options: ThrottleOptions<X>): LimitAnnotation<X> {
  return limit("@Throttle", KNOWN_THROTTLE, options, { throttle: options });
}

/**
 * Lets one run of the workflow per key be live, from its start to its end. `onConflict` says what becomes of another start:
 * `skip` answers the live run, with `created: false`; `queue` has the new one wait; `cancel` cancels the old one first.
 *
 * @example
 * ```ts
 * @Singleton({ key: (input: { customer: string }) => input.customer, onConflict: "skip" })
 * @Graph({ id: "import" })
 * class Import extends Workflow(z.object({ customer: z.string() })) {}
 *
 * @Vertex({ graph: Import, id: "load", entry: true, finish: true, select: (s) => s.customer, reduce: () => {} })
 * class Load {
 *   execute() {}
 * }
 *
 * const runner = compile(Import, { store: memoryStore() });
 * const first = await runner.submit({ customer: "kim" });
 * const second = await runner.submit({ customer: "kim" });
 * assert.deepEqual([second.runId, second.created], [first.runId, false]);
 * ```
 */
export function Singleton<X = unknown>(options: SingletonOptions<X>): LimitAnnotation<X> {
  return limit("@Singleton", KNOWN_SINGLETON, options, { singleton: options });
}

function limit<X>(
  name: string,
  known: KnownOptions<string>,
  options: object,
  limits: FlowOptions<X>,
): LimitAnnotation<X> {
  requireOptions(name, options);
  const annotate: Annotation = annotation(name, (cls) => {
    if (!isWorkflow(cls)) {
      throw new BuildError(name, `class ${nameOf(cls)} does not extend Workflow(schema); let it do so`);
    }
    refuseUnknown(name, cls, options, known);
    const before = readOwn(cls, records.flow);
    const [kind] = Object.keys(limits);
    if (before !== undefined && Object.hasOwn(before, kind!)) {
      throw new BuildError(name, `stands twice on class ${nameOf(cls)}; keep one`);
    }
    writeOwn(cls, records.flow, Object.freeze({ ...before, ...limits as FlowOptions }));
  });
  return annotate as unknown as LimitAnnotation<X>;
}
