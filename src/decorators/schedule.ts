import { BuildError } from "../errors.ts";
import type { ScheduleOptions } from "../model/definition.ts";
import { KNOWN_SCHEDULE } from "../model/policy_options.ts";
import { type Annotation, annotation, nameOf, refuseUnknown, requireOptions } from "./annotation.ts";
import { isWorkflow, prependOwn, records } from "./metadata.ts";
import type { WorkflowClass } from "./workflow.ts";

/** The annotation of a workflow class whose schema takes an input `X`; others it does not take. */
export type ScheduleAnnotation<X> = <C extends WorkflowClass<unknown>>(
  cls: Scheduled<C, X>,
  ctx?: ClassDecoratorContext,
) => void;

/** `C`, when its schema takes an input `X`. */
export type Scheduled<C, X> = C extends WorkflowClass<unknown, infer I>
  ? [X] extends [I] ? C : { readonly "the schedule's input is not one of the workflow, which takes": I }
  : never;

/**
 * Has workers start runs of the workflow by the clock: one per tick, however many workers there are. Several may stand on
 * one class. Its `input` has the type that the schema of the workflow accepts; the expression and the zone are judged when
 * the workflow is compiled.
 *
 * @param expression cron: minute, hour, day of the month, month, day of the week; before them seconds, if there are six
 *
 * @example
 * ```ts
 * @Schedule("0 9 * * 1-5", { timezone: "Europe/Berlin", input: (tick: Date) => ({ day: tick.toISOString().slice(0, 10) }) })
 * @Graph({ id: "report" })
 * class Report extends Workflow(z.object({ day: z.string() })) {}
 * ```
 */
export function Schedule<X = Record<never, never>>(
  expression: string,
  options?: ScheduleOptions<X>,
): ScheduleAnnotation<X> {
  requireOptions("@Schedule", expression);
  const schedule: Annotation = annotation("@Schedule", (cls) => {
    if (!isWorkflow(cls)) {
      throw new BuildError(
        "@Schedule",
        `class ${nameOf(cls)} does not extend Workflow(schema); let it do so`,
      );
    }
    refuseUnknown("@Schedule", cls, options, KNOWN_SCHEDULE);
    prependOwn(cls, records.schedule, Object.freeze({ expression, options: options && { ...options } }));
  });
  return schedule as ScheduleAnnotation<X>;
}
