import { BuildError } from "../errors.ts";
import type { Schema } from "../model/schema.ts";
import { records, writeOwn } from "./metadata.ts";

/**
 * An instance of a workflow class. There is none: it only carries the types of the schema, that of the state to the
 * decorators and that of the input to the runner.
 */
export interface WorkflowState<S, I = unknown> {
  /** The types alone; no instance has it. */
  readonly "~types": { readonly state: S; readonly input: I };
}

/** A class made with {@link Workflow}: `S` is the type of its state, `I` that of the inputs that its schema accepts. */
export type WorkflowClass<S, I = unknown> = abstract new (...args: never[]) => WorkflowState<S, I>;

/** A workflow class, or a function that returns it later, for modules that import each other. */
export type WorkflowReference<S> = WorkflowClass<S> | (() => WorkflowClass<S>);

/**
 * The base class of a workflow: its state has the type that `schema` gives, and is validated by it. Runs start with what
 * the schema accepts, so a field with a default may be left out.
 *
 * @throws {BuildError} when `schema` does not implement Standard Schema
 *
 * @example
 * ```ts
 * @Graph({ id: "approval", version: 1 })
 * class Approval extends Workflow(z.object({ question: z.string() })) {}
 * ```
 */
export function Workflow<S, I>(schema: Schema<I, S>): WorkflowBase<S, I> {
  if (typeof schema?.["~standard"]?.validate !== "function") {
    throw new BuildError("Workflow", "its schema does not implement Standard Schema; give z.object({ … })");
  }
  const base = class {};
  writeOwn(base, records.schema, schema);
  return base as unknown as WorkflowBase<S, I>;
}

/** What {@link Workflow} returns, to be extended. */
export type WorkflowBase<S, I = unknown> = abstract new () => WorkflowState<S, I>;
