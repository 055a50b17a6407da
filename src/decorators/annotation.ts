import { BuildError } from "../errors.ts";
import { type KnownOptions, optionProblem } from "../model/known_options.ts";
import { type AnyClass, type GraphReference, isWorkflow } from "./metadata.ts";

/** A class decorator of both flavours: standard calls bring a context, legacy ones do not. */
export type Annotation<C extends AnyClass = AnyClass> = (cls: C, ctx?: ClassDecoratorContext) => void;

/** A decorator that does nothing but `record`; any call that is not that of a class decorator is refused. */
export function annotation<C extends AnyClass>(name: string, record: (cls: C) => void): Annotation<C> {
  return (...args: readonly unknown[]) => {
    const [cls, ctx] = args;
    const standard = args.length === 2 && typeof ctx === "object" && ctx !== null &&
      (ctx as { readonly kind?: unknown }).kind === "class";
    const legacy = args.length === 1;
    if (typeof cls !== "function" || !(standard || legacy)) throw new BuildError(name, misuse(args));
    record(cls as unknown as C);
  };
}

/** Refuses a decorator without its call, `@Vertex class …`, which would be handed the class as its options. */
export function requireOptions(name: string, options: unknown): void {
  if (options !== undefined && options !== null && typeof options !== "function") return;
  const seen = typeof options === "function" ? `class ${nameOf(options)}` : String(options);
  throw new BuildError(name, `its options are ${seen}; call it with them: ${name}({ … })`);
}

/** Refuses an option that the decorator does not have. */
export function refuseUnknown(
  name: string,
  cls: AnyClass,
  options: unknown,
  known: KnownOptions<string>,
  part = "",
): void {
  const problem = optionProblem(options, known);
  if (problem !== undefined) throw new BuildError(name, `on class ${nameOf(cls)}${part}: ${problem}`);
}

function misuse(args: readonly unknown[]): string {
  const [target, ctx] = args;
  const kind = (ctx as { readonly kind?: unknown } | null | undefined)?.kind;
  if (typeof ctx === "string" || typeof ctx === "symbol" || (typeof kind === "string" && kind !== "class")) {
    return `it stands on a member (${String(typeof kind === "string" ? kind : ctx)}); put it on the class`;
  }
  if (args.length === 3 && typeof target === "function") {
    return "it stands on a constructor parameter; put it on the class";
  }
  const seen = `${args.length} argument${args.length === 1 ? "" : "s"} (${
    args.map((arg) => arg === null ? "null" : typeof arg).join(", ")
  })`;
  return `it was called with ${seen}, neither as a standard nor as a legacy class decorator; remove ` +
    "experimentalDecorators from the compilerOptions of deno.json or tsconfig.json, or set it to true; Babel's plugin " +
    'for decorators needs version: "2023-11"';
}

/** A graph that is `undefined` where its name is in scope is a class that has not been defined yet. */
export function requireGraph(name: string, cls: AnyClass, graph: GraphReference | undefined): GraphReference {
  if (typeof graph === "function") {
    if (/^class\b/.test(Function.prototype.toString.call(graph)) && !isWorkflow(graph)) {
      throw new BuildError(
        name,
        `on class ${nameOf(cls)}: its graph ${nameOf(graph)} does not extend Workflow(schema)`,
      );
    }
    return graph;
  }
  throw new BuildError(
    name,
    `on class ${nameOf(cls)}: its graph is ${
      String(graph)
    }; the workflow class has not been defined yet, probably ` +
      "because two modules import each other; give a thunk, graph: () => TheWorkflow",
  );
}

/** The name of a class for messages. */
export function nameOf(cls: { readonly name: string }): string {
  return cls.name === "" ? "(anonymous)" : cls.name;
}
