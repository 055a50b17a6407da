import { BuildError } from "../errors.ts";
import type { ScheduleOptions } from "../model/definition.ts";
import { type Annotation, annotation, nameOf, requireOptions } from "./annotation.ts";
import { isWorkflow, prependOwn, records } from "./metadata.ts";
import type { WorkflowClass } from "./workflow.ts";

/**
 * Has workers start runs of the workflow by the clock: one per tick, however many workers there are. Several may stand on
 * one class. The expression and the zone are judged when the workflow is compiled.
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
export function Schedule(expression: string, options?: ScheduleOptions): Annotation<WorkflowClass<unknown>> {
  requireOptions("@Schedule", expression);
  return annotation("@Schedule", (cls) => {
    if (!isWorkflow(cls)) {
      throw new BuildError(
        "@Schedule",
        `class ${nameOf(cls)} does not extend Workflow(schema); let it do so`,
      );
    }
    prependOwn(cls, records.schedule, Object.freeze({ expression, options: options && { ...options } }));
  });
}
