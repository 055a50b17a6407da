// Runs on deno by default: the compiler is the same everywhere.
/** The contract of the typed client against the routes themselves. The compiler is the test. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Hono } from "hono";
import { z } from "zod";
import { compile, GraphBuilder, type Runner } from "../../mod.ts";
import { createApp } from "../../src/http/app.ts";
import { memoryStore } from "../../src/store/memory.ts";
import type { routesOf } from "../../src/http/app.ts";
import type { AppType } from "../../src/http/client.ts";

type SchemaOf<A> = A extends Hono<infer _Env, infer Schema, infer _Base> ? Schema : never;

type Described = SchemaOf<AppType>;
/** Hono's types know of a stream only that it is a response. */
type Streams = "/v1/runs/:run_id/events";
type Actual = SchemaOf<ReturnType<typeof routesOf>>;

interface Endpoint {
  readonly input: unknown;
  readonly output: unknown;
  readonly status: number;
}

/** A type with fields that may be absent made to be there, as callers who give everything give them. */
type Whole<T> = { [K in keyof T]-?: T[K] };
type Plain<T> = T extends unknown ? { [K in keyof T]: T[K] } : never;

type StatusesOf<E extends Endpoint> = E["status"];
type OutputOf<E extends Endpoint, S> = E extends unknown ? S extends E["status"] ? E["output"] : never
  : never;

/** What is wrong with the description of one method: nothing is `never`. */
type FaultsOf<D extends Endpoint, A extends Endpoint> =
  | ([StatusesOf<D>] extends [StatusesOf<A>] ? never : ["describes a status too many", StatusesOf<D>])
  | ([StatusesOf<A>] extends [StatusesOf<D>] ? never
    : ["does not describe", Exclude<StatusesOf<A>, StatusesOf<D>>])
  | (Plain<Whole<D["input"]>> extends A["input"] ? never : ["takes another input", D["input"]])
  | {
    [S in StatusesOf<D>]: OutputOf<A, S> extends Loose<OutputOf<D, S>> ? never
      : ["answers otherwise", S, OutputOf<A, S>];
  }[StatusesOf<D>];

/** The compiler keeps `undefined` in fields that JSON leaves out. */
type Loose<T> = T extends readonly (infer Item)[] ? readonly Loose<Item>[]
  : T extends object
    ? { [K in keyof T]: Record<never, never> extends Pick<T, K> ? Loose<T[K]> | undefined : Loose<T[K]> }
  : T;

type Faults<D, A> = {
  [P in keyof D]: P extends keyof A ? {
      [M in keyof D[P]]: M extends keyof A[P]
        ? D[P][M] extends Endpoint ? A[P][M] extends Endpoint ? FaultsOf<D[P][M], A[P][M]> : never : never
        : ["there is no method", M];
    }[keyof D[P]]
    : ["there is no route", P];
}[keyof D];

type Verdict<F> = [F] extends [never] ? "as described" : F;

test("the types of the client are those of the routes (W2)", () => {
  const routes: Verdict<Faults<Omit<Described, Streams>, Actual>> = "as described";
  const paths: Verdict<Exclude<keyof Actual, keyof Described>> = "as described";
  assert.deepEqual([routes, paths], ["as described", "as described"]);
});

test("a description that is not that of the routes is told from one that is (W2)", () => {
  type One = { "/a": { $get: { input: { param: { id: string } }; output: { n: number }; status: 200 } } };
  type Answer = { "/a": { $get: { input: { param: { id: string } }; output: { n: string }; status: 200 } } };
  type Input = { "/a": { $get: { input: { param: { id: number } }; output: { n: number }; status: 200 } } };
  type Status = { "/a": { $get: { input: { param: { id: string } }; output: { n: number }; status: 201 } } };
  const same: Verdict<Faults<One, One>> = "as described";
  // @ts-expect-error it answers with a text
  const answer: Verdict<Faults<One, Answer>> = "as described";
  // @ts-expect-error it takes a number
  const input: Verdict<Faults<One, Input>> = "as described";
  // @ts-expect-error it answers with 201
  const status: Verdict<Faults<One, Status>> = "as described";
  // @ts-expect-error it has another path
  const path: Verdict<Faults<One, { "/b": One["/a"] }>> = "as described";
  assert.equal(new Set([same, answer, input, status, path]).size, 1);
});

test("a runner of whatever state can be served (W2)", () => {
  const schema = z.object({ text: z.string() });
  const builder = new GraphBuilder<z.infer<typeof schema>>({ id: "letter", version: 1, schema });
  builder.addVertex<string, string>({
    id: "write",
    task: { execute: (text) => text },
    select: (s) => s.text,
    reduce: (s, text) => void (s.text = text),
  });
  const runner: Runner<{ text: string }> = compile(builder.build({ entry: "write", finish: "write" }), {
    store: memoryStore(),
  });
  assert.equal(typeof createApp({ runners: [runner] }).fetch, "function");
});
