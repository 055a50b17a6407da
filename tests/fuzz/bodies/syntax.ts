/**
 * Bodies as plain data: what a generator makes, an interpreter runs, a shrinker cuts down and a printer shows as code.
 */
export type Block = readonly Statement[];

/** What makes a promise. */
export type Expression =
  /** `ctx.waitFor`; one with a deadline can reject. */
  | { readonly k: "wait"; readonly name: string; readonly key?: string; readonly deadline?: number }
  | { readonly k: "sleep"; readonly name: string; readonly ms: number }
  /** `ctx.once` with a function that takes a while, or that always throws. */
  | { readonly k: "once"; readonly name: string; readonly work: Work; readonly fails?: boolean }
  /** Plain work of the body: turns of the event loop, far less than the quiet of 25 ms. */
  | { readonly k: "io"; readonly turns: number }
  /** Plain work that takes longer than the quiet; `ctx.hold` keeps the run meanwhile. */
  | { readonly k: "long"; readonly ms: number; readonly held?: boolean }
  /** A chain of microtasks; none of them is a promise that is there already. */
  | { readonly k: "micro"; readonly ticks: number }
  | { readonly k: "then"; readonly of: Expression; readonly yes: Reaction; readonly no?: Reaction }
  | { readonly k: "catch"; readonly of: Expression; readonly no: Reaction }
  | { readonly k: "finally"; readonly of: Expression; readonly then?: Expression }
  /** An async helper, `depth` async functions deep. */
  | { readonly k: "call"; readonly depth: number; readonly block: Block }
  | { readonly k: Combinator; readonly of: readonly Expression[] }
  /** A race of anything whose winner a `once` makes durable. */
  | { readonly k: "protected"; readonly of: readonly Expression[]; readonly name: string }
  /** A promise that was made before. */
  | { readonly k: "use"; readonly variable: string };

export type Combinator = "all" | "race" | "any" | "allSettled";

/** What a `then` or `catch` does with what it gets: a text of it, another promise, or an error. */
export type Reaction =
  | { readonly r: "text"; readonly text: string }
  | { readonly r: "promise"; readonly of: Expression }
  | { readonly r: "throw"; readonly message: string };

/** How long the function of a `once` takes. */
export type Work = { readonly turns: number } | { readonly ms: number };

export type Statement =
  | { readonly s: "await"; readonly of: Expression }
  /** `const p = …`, awaited later by `use`; `handled` attaches a `catch` at once. */
  | { readonly s: "start"; readonly variable: string; readonly of: Expression; readonly handled: boolean }
  | { readonly s: "try"; readonly block: Block; readonly caught?: Block; readonly last?: Block }
  | { readonly s: "loop"; readonly times: number; readonly block: Block }
  /** Takes one of two ways by what was seen last. */
  | { readonly s: "if"; readonly yes: Block; readonly no: Block }
  /** `for await` over promises that are all made at once. */
  | { readonly s: "each"; readonly of: readonly Expression[] }
  | { readonly s: "throw"; readonly message: string }
  /** Fails in the first attempt. */
  | { readonly s: "trip" };

/** The body as code, for people. */
export function print(block: Block, indent = ""): string {
  return block.map((s) => indent + printStatement(s, indent)).join("\n");
}

function printStatement(s: Statement, indent: string): string {
  const inner = (block: Block) => `{\n${print(block, `${indent}  `)}\n${indent}}`;
  switch (s.s) {
    case "await":
      return `see(await ${printExpression(s.of, indent)});`;
    case "start":
      return `const ${s.variable} = ${printExpression(s.of, indent)};${
        s.handled ? ` ${s.variable}.catch(() => {});` : ""
      }`;
    case "try":
      return `try ${inner(s.block)}${
        s.caught === undefined ? "" : ` catch (e) ${inner(s.caught).replace("{", "{ see(e);")}`
      }${s.last === undefined ? "" : ` finally ${inner(s.last)}`}`;
    case "loop":
      return `for (let i = 1; i <= ${s.times}; i++) ${inner(s.block)}`;
    case "if":
      return `if (isEven(last())) ${inner(s.yes)} else ${inner(s.no)}`;
    case "each":
      return `for await (const v of [${s.of.map((e) => printExpression(e, indent)).join(", ")}]) see(v);`;
    case "throw":
      return `throw new Error("${s.message}");`;
    case "trip":
      return `if (ctx.attempt === 1) throw new Error("tripped");`;
  }
}

function printExpression(e: Expression, indent: string): string {
  const list = (of: readonly Expression[]) => of.map((one) => printExpression(one, indent)).join(", ");
  switch (e.k) {
    case "wait": {
      const options = [
        ...(e.key === undefined ? [] : [`key: "${e.key}"`]),
        ...(e.deadline === undefined ? [] : [`deadline: ${e.deadline}`]),
      ];
      return `ctx.waitFor(${e.name}${options.length === 0 ? "" : `, { ${options.join(", ")} }`})`;
    }
    case "sleep":
      return `ctx.sleep("${e.name}", ${e.ms})`;
    case "once": {
      const work = "ms" in e.work ? `work(${e.work.ms}ms)` : `turns(${e.work.turns})`;
      return `ctx.once("${e.name}", ${e.fails ? "throws after " : ""}${work})`;
    }
    case "io":
      return `turns(${e.turns})`;
    case "long":
      return e.held ? `ctx.hold(pause(${e.ms}ms))` : `pause(${e.ms}ms)`;
    case "micro":
      return `ticks(${e.ticks})`;
    case "then":
      return `${printExpression(e.of, indent)}.then(${printReaction(e.yes, indent)}${
        e.no === undefined ? "" : `, ${printReaction(e.no, indent)}`
      })`;
    case "catch":
      return `${printExpression(e.of, indent)}.catch(${printReaction(e.no, indent)})`;
    case "finally":
      return `${printExpression(e.of, indent)}.finally(() => ${
        e.then === undefined ? "{}" : printExpression(e.then, indent)
      })`;
    case "call":
      return `helper${e.depth}(async () => {\n${print(e.block, `${indent}  `)}\n${indent}})`;
    case "protected":
      return `first("${e.name}", [${list(e.of)}])`;
    case "use":
      return e.variable;
    default:
      return `Promise.${e.k}([${list(e.of)}])`;
  }
}

function printReaction(r: Reaction, indent: string): string {
  switch (r.r) {
    case "text":
      return `(v) => "${r.text}:" + v`;
    case "promise":
      return `() => ${printExpression(r.of, indent)}`;
    case "throw":
      return `() => { throw new Error("${r.message}"); }`;
  }
}
