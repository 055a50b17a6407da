import type { StandardSchemaV1 } from "@standard-schema/spec";
import { BuildError } from "../errors.ts";
import { records, writeOwn } from "./metadata.ts";

declare const STATE: unique symbol;

/** An instance of a workflow class. There is none: it only carries the state type from the schema to the decorators. */
export interface WorkflowState<S> {
  readonly [STATE]: S;
}

/** A class made with {@link Workflow}. */
export type WorkflowClass<S> = abstract new (...args: never[]) => WorkflowState<S>;

/** A workflow class, or a function that returns it later, for modules that import each other. */
export type WorkflowReference<S> = WorkflowClass<S> | (() => WorkflowClass<S>);

/**
 * The base class of a workflow: its state has the type that `schema` gives, and is validated by it.
 *
 * @throws {BuildError} when `schema` does not implement Standard Schema
 *
 * @example
 * ```ts
 * @Graph({ id: "approval", version: 1 })
 * class Approval extends Workflow(z.object({ question: z.string() })) {}
 * ```
 */
export function Workflow<S>(schema: StandardSchemaV1<unknown, S>): WorkflowBase<S> {
  if (typeof schema?.["~standard"]?.validate !== "function") {
    throw new BuildError("Workflow", "its schema does not implement Standard Schema; give z.object({ … })");
  }
  const base = class {};
  writeOwn(base, records.schema, schema);
  return base as unknown as WorkflowBase<S>;
}

/** What {@link Workflow} returns, to be extended. */
export type WorkflowBase<S> = abstract new () => WorkflowState<S>;
