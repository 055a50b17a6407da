import type { Task, TaskClass, TaskSource } from "../model/definition.ts";

/** What a task was given as; `undefined` for what is none. */
export function taskSource(task: unknown): TaskSource | undefined {
  if (typeof task === "function") {
    // An arrow function has no prototype and cannot be instantiated; what an instance holds is seen when there is one.
    if (typeof task.prototype !== "object" || task.prototype === null) return undefined;
    return Object.freeze({ kind: "class", cls: task as unknown as TaskClass });
  }
  if (typeof task !== "object" || task === null) return undefined;
  if (typeof (task as { execute?: unknown }).execute !== "function") return undefined;
  return Object.freeze({ kind: "instance", task: task as Task<unknown, unknown> });
}

/** The name of the class of a task, where it has one. */
export function classNameOf(task: TaskSource | undefined): string | undefined {
  return task?.kind === "class" && task.cls.name !== "" ? task.cls.name : undefined;
}
