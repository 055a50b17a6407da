import type { Block, Expression, Reaction, Statement, Work } from "./syntax.ts";

/** What a body asks for, on the engine or in plain JavaScript. */
export interface BodyWorld {
  readonly attempt: number;
  waitFor(
    wait: { readonly name: string; readonly key?: string; readonly deadline?: number },
  ): Promise<string>;
  sleep(name: string, ms: number): Promise<void>;
  once(name: string, effect: Effect): Promise<string>;
  /** Plain work that takes so many turns of the event loop. */
  io(turns: number): Promise<string>;
  /** Plain work that takes longer than any quiet. */
  long(ms: number, held: boolean): Promise<string>;
  /** Something happened in the body. */
  trace(line: string): void;
}

/** What the function of a `once` does. */
export interface Effect {
  readonly work: Work;
  readonly fails: boolean;
  value(): string;
}

/** Runs a body. Its result tells all that it saw, in order. */
export async function interpret(block: Block, world: BodyWorld): Promise<string> {
  return await new Interpreter(world).run(block);
}

interface Scope {
  readonly id: number;
  /** The rounds of the loops around, which make names of `once` unique. */
  readonly round: string;
  readonly seen: string[];
  readonly variables: Map<string, Promise<unknown>>;
}

class Interpreter {
  readonly #world: BodyWorld;
  #scopes = 0;

  constructor(world: BodyWorld) {
    this.#world = world;
  }

  run(block: Block): Promise<string> {
    return this.#function(block, "");
  }

  /** The variables of the enclosing functions are not seen: a helper is its own. */
  async #function(block: Block, round: string): Promise<string> {
    const scope: Scope = { id: this.#scopes++, round, seen: [], variables: new Map() };
    await this.#block(block, scope);
    return `[${scope.seen.join(" ")}]`;
  }

  async #block(block: Block, scope: Scope): Promise<void> {
    for (const statement of block) await this.#statement(statement, scope);
  }

  #see(scope: Scope, value: unknown): void {
    const text = show(value);
    scope.seen.push(text);
    this.#world.trace(`${scope.id} ${text}`);
  }

  async #statement(s: Statement, scope: Scope): Promise<void> {
    switch (s.s) {
      case "await":
        return this.#see(scope, await this.#make(s.of, scope));
      case "start": {
        const promise = this.#make(s.of, scope);
        if (s.handled) promise.catch(() => {});
        scope.variables.set(s.variable, promise);
        return;
      }
      case "try":
        return await this.#try(s, scope);
      case "loop":
        for (let i = 1; i <= s.times; i++) {
          await this.#block(s.block, { ...scope, round: `${scope.round}.${i}` });
        }
        return;
      case "if":
        return await this.#block(isEven(scope.seen.at(-1) ?? "") ? s.yes : s.no, scope);
      case "each":
        for await (const value of s.of.map((e) => this.#make(e, scope))) this.#see(scope, value);
        return;
      case "throw":
        throw new Error(s.message);
      case "trip":
        if (this.#world.attempt === 1) throw new Error("tripped");
    }
  }

  async #try(s: Extract<Statement, { s: "try" }>, scope: Scope): Promise<void> {
    try {
      await this.#block(s.block, scope);
    } catch (error) {
      if (s.caught === undefined) throw error;
      this.#see(scope, error);
      await this.#block(s.caught, scope);
    } finally {
      this.#world.trace(`${scope.id} finally`);
      if (s.last !== undefined) await this.#block(s.last, scope);
    }
  }

  #make(e: Expression, scope: Scope): Promise<unknown> {
    const world = this.#world;
    switch (e.k) {
      case "wait":
        return world.waitFor(e);
      case "sleep":
        return world.sleep(e.name, e.ms);
      case "once": {
        const name = e.name + scope.round;
        return world.once(name, { work: e.work, fails: e.fails ?? false, value: () => `${name}!` });
      }
      case "io":
        return world.io(e.turns);
      case "long":
        return world.long(e.ms, e.held ?? false);
      case "micro":
        return ticks(e.ticks);
      case "then":
        return this.#make(e.of, scope).then(
          this.#reaction(e.yes, scope),
          e.no === undefined ? undefined : this.#reaction(e.no, scope),
        );
      case "catch":
        return this.#make(e.of, scope).catch(this.#reaction(e.no, scope));
      case "finally":
        return this.#make(e.of, scope).finally(() => {
          world.trace(`${scope.id} finally`);
          return e.then === undefined ? undefined : this.#make(e.then, scope);
        });
      case "call":
        return helper(e.depth, () => this.#function(e.block, scope.round));
      case "protected":
        return this.#first(e, scope);
      case "use":
        return scope.variables.get(e.variable)!;
      case "all":
        return Promise.all(e.of.map((one) => this.#make(one, scope)));
      case "race":
        return Promise.race(e.of.map((one) => this.#make(one, scope)));
      case "any":
        return Promise.any(e.of.map((one) => this.#make(one, scope)));
      case "allSettled":
        return Promise.allSettled(e.of.map((one) => this.#make(one, scope)));
    }
  }

  async #first(e: Extract<Expression, { k: "protected" }>, scope: Scope): Promise<string> {
    let winner: string;
    try {
      winner = show(await Promise.race(e.of.map((one) => this.#make(one, scope))));
    } catch (error) {
      winner = show(error);
    }
    return await this.#world.once(e.name + scope.round, {
      work: { turns: 0 },
      fails: false,
      value: () => winner,
    });
  }

  #reaction(r: Reaction, scope: Scope): (value: unknown) => unknown {
    return (value) => {
      const text = show(value);
      this.#world.trace(`${scope.id} then ${text}`);
      if (r.r === "text") return `${r.text}:${text}`;
      if (r.r === "promise") return this.#make(r.of, scope);
      throw new Error(r.message);
    };
  }
}

/** As code does that is made of small functions. */
async function helper<T>(depth: number, work: () => Promise<T>): Promise<T> {
  return depth === 0 ? await work() : await helper(depth - 1, work);
}

async function ticks(count: number): Promise<string> {
  for (let i = 0; i < count; i++) await undefined;
  return "ticked";
}

/** A text of what a promise came to. */
export function show(value: unknown): string {
  if (value === undefined) return "-";
  if (Array.isArray(value)) return `(${value.map(show).join(" ")})`;
  if (value instanceof Error) {
    // The wording of the engine's own errors is its own.
    return value.name === "Error" ? `error ${value.message}` : value.name;
  }
  if (typeof value === "object" && value !== null && "status" in value) {
    return "value" in value ? show(value.value) : `rejected ${show((value as { reason?: unknown }).reason)}`;
  }
  return String(value);
}

function isEven(text: string): boolean {
  let sum = 0;
  for (const char of text) sum += char.codePointAt(0)!;
  return sum % 2 === 0;
}
