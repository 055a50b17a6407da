// Runs on deno by default: the compiler is the same everywhere.
/** What counts as a schema. The lines marked `@ts-expect-error` are the test. */
import assert from "node:assert/strict";
import type { StandardSchemaV1 } from "@standard-schema/spec";
import { test } from "node:test";
import { z } from "zod";
import { defineWait, type Schema, Workflow } from "../../mod.ts";

function schemas<I, O>(standard: StandardSchemaV1<I, O>, own: Schema<I, O>): void {
  const there: StandardSchemaV1<I, O> = own;
  const back: Schema<I, O> = standard;
  const zod: Schema<{ n?: number | undefined }, { n: number }> = z.object({ n: z.number().default(1) });
  const some: Schema<unknown, unknown> = zod;
  // @ts-expect-error it makes numbers
  const wrong: Schema<unknown, string> = z.number();
  Workflow(z.object({ n: z.number() }));
  defineWait("anything", some);
  // @ts-expect-error a type is no schema
  Workflow({ n: Number });
  // @ts-expect-error a parser alone is no schema
  defineWait("w", { parse: (value: unknown) => value });
  void [there, back, wrong];
}

test("a schema is what Standard Schema says it is (D13)", () => {
  assert.equal(typeof schemas, "function");
});
