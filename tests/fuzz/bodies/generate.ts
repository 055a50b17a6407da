import { Chance } from "../chance.ts";
import type { Block, Expression, Reaction, Statement, Work } from "./syntax.ts";

/**
 * How much plain work a body does. The win of an ordinary promise is not recorded (T2), so what a body comes to must not
 * depend on how fast plain work is:
 *
 * - `pure`: none. Anything may race anything, and all that happens in the body is foreseen to the order of its steps.
 * - `short`: turns of the event loop. What can win a race ends with a result, never with plain work, unless a `once` keeps
 *   the winner; so plain work only delays what is asked for, which is waited for in its turn.
 * - `long`: longer than the quiet (T8). Only what waits for all, or is kept by a `once`, stands beside it.
 */
export type Flavour = "pure" | "short" | "long";

/** A random body with what it is made of. */
export interface Body {
  readonly flavour: Flavour;
  readonly block: Block;
}

/** The names of the awaited answers. */
export const NAMES = ["x", "y", "z"] as const;

/** A body that is the same for the same seed. */
export function generate(...seed: readonly (string | number)[]): Body {
  return new Generator(new Chance("body", ...seed)).body();
}

/** Where an expression stands. */
interface Place {
  readonly depth: number;
  /** Whether what it comes to, or which of several comes first, may depend on plain work. */
  readonly calm: boolean;
  /** Whether user code may throw here: elsewhere nobody would handle it in time. */
  readonly throws: boolean;
  readonly inLoop: boolean;
  /** A helper may lose a race: what it has opened and not awaited by then would be a fault (T2). */
  readonly inHelper: boolean;
  /** Waits of the block that have had their results: their names may be used again. */
  readonly used: Wait[];
}

type Wait = Extract<Expression, { k: "wait" }>;

class Generator {
  readonly #chance: Chance;
  readonly #flavour: Flavour;
  #budget: number;
  #numbers = 0;
  readonly #keys = new Map<string, number>();

  constructor(chance: Chance) {
    this.#chance = chance;
    this.#flavour = chance.pick(["pure", "pure", "pure", "short", "short", "long"]);
    this.#budget = 3 + chance.below(chance.pick([6, 14, 26]));
  }

  body(): Body {
    const block = this.#block(
      { depth: 0, calm: true, throws: true, inLoop: false, inHelper: false, used: [] },
      2 + this.#chance.below(4),
    );
    if (this.#chance.percent(12)) {
      const at = this.#chance.below(block.length + 1);
      if (block.slice(0, at).every((s) => s.s !== "start")) block.splice(at, 0, { s: "trip" });
    }
    return { flavour: this.#flavour, block };
  }

  #number(): number {
    return ++this.#numbers;
  }

  #block(around: Place, count: number): Statement[] {
    const place = { ...around, used: [] };
    const block: Statement[] = [];
    for (let i = 0; i < count; i++) {
      if (this.#budget <= 0 && block.length > 0) break;
      block.push(...this.#statement(place));
    }
    return block;
  }

  #inner(place: Place, max = 3): Statement[] {
    return this.#block({ ...place, depth: place.depth + 1 }, 1 + this.#chance.below(max));
  }

  #statement(place: Place): Statement[] {
    this.#budget -= 1;
    const roll = this.#chance.below(100);
    const isDeep = place.depth >= 4;
    if (roll < 46 || isDeep) return this.#awaiting(place);
    if (roll < 60) return this.#started(place);
    if (roll < 76) return [this.#try(place)];
    if (roll < 84) return [this.#loop(place)];
    if (roll < 91) return [{ s: "if", yes: this.#inner(place, 2), no: this.#inner(place, 2) }];
    if (roll < 95) {
      // One that rejects ends the loop, and what comes behind it is never awaited: a fault (T2).
      const first = this.#chance.percent(50) ? this.#wait(false) : this.#once();
      return [{ s: "each", of: [first, awaited(this.#direct(), place)] }];
    }
    if (place.throws && place.depth > 0) {
      return [{ s: "await", of: this.#direct() }, { s: "throw", message: `t${this.#number()}` }];
    }
    return this.#awaiting(place);
  }

  #awaiting(place: Place): Statement[] {
    if (place.used.length > 0 && this.#chance.percent(15)) {
      return [{ s: "await", of: this.#chance.pick(place.used) }];
    }
    const statement: Statement = { s: "await", of: this.#expression(place) };
    if (statement.of.k === "wait") place.used.push(statement.of);
    if (this.#flavour === "pure" || !this.#chance.percent(35)) return [statement];
    const work: Statement = { s: "await", of: this.#plain(place) };
    // Where a race could depend on it, plain work ends with a result.
    return place.calm && this.#chance.percent(50)
      ? [statement, work]
      : [work, { s: "await", of: this.#direct() }];
  }

  #plain(place: Place): Expression {
    if (this.#flavour === "long" && place.calm && this.#chance.percent(40)) {
      const ms = 30 + this.#chance.below(3_000);
      return this.#chance.percent(25) ? { k: "long", ms, held: true } : { k: "long", ms };
    }
    if (place.calm && this.#chance.percent(20)) {
      return { k: "catch", of: this.#once(true), no: { r: "text", text: `f${this.#number()}` } };
    }
    return { k: "io", turns: 1 + this.#chance.below(4) };
  }

  #started(place: Place): Statement[] {
    const variable = `p${this.#number()}`;
    const handled = this.#chance.percent(30);
    const of = awaited(this.#expression({ ...place, throws: handled && place.throws }), place);
    const between: Statement[] = [];
    for (let i = this.#chance.below(3); i > 0; i--) {
      between.push({ s: "await", of: this.#chance.percent(60) ? this.#once() : this.#sleep() });
    }
    if (this.#flavour !== "pure" && place.calm && this.#chance.percent(40)) {
      between.push({ s: "await", of: this.#plain(place) });
    }
    const use: Expression = { k: "use", variable };
    const roll = this.#chance.below(4);
    const other = () => this.#expression({ ...place, calm: false, depth: place.depth + 1 });
    const last: Expression = roll === 0 && !this.#isLong(place) && !endsPlainly(of)
      ? { k: this.#chance.pick(["race", "any"]), of: this.#chance.shuffle([use, other()]) }
      : roll === 1
      ? { k: "allSettled", of: [use, this.#expression({ ...place, depth: place.depth + 1 })] }
      : use;
    return [
      { s: "start", variable, of, handled },
      ...between,
      { s: "await", of: last },
    ];
  }

  #try(place: Place): Statement {
    const block = this.#inner({ ...place, throws: true });
    if (this.#chance.percent(30)) block.push({ s: "throw", message: `t${this.#number()}` });
    const quiet = { ...place, throws: false };
    const caught = this.#chance.percent(85) || !place.throws ? this.#inner(quiet, 2) : undefined;
    const last = caught === undefined || this.#chance.percent(35) ? this.#inner(quiet, 1) : undefined;
    return {
      s: "try",
      block,
      ...(caught === undefined ? {} : { caught }),
      ...(last === undefined ? {} : { last }),
    };
  }

  /** Each round gets a result before it uses a name again. */
  #loop(place: Place): Statement {
    const inner = { ...place, inLoop: true, depth: place.depth + 1 };
    const first: Statement = {
      s: "await",
      of: this.#chance.percent(50) ? this.#direct() : this.#race(),
    };
    return { s: "loop", times: 2 + this.#chance.below(2), block: [first, ...this.#inner(inner, 2)] };
  }

  #race(): Expression {
    return { k: "race", of: this.#chance.shuffle([this.#wait(false), this.#sleep()]) };
  }

  #isLong(place: Place): boolean {
    return this.#flavour === "long" && place.calm;
  }

  #expression(place: Place): Expression {
    this.#budget -= 1;
    const roll = this.#chance.below(100);
    if (roll < 42 || place.depth >= 4 || this.#budget <= 0) return this.#direct();
    const deeper = { ...place, depth: place.depth + 1 };
    if (roll < 56) return this.#derived(deeper);
    if (roll < 68) return this.#call(deeper);
    return this.#combined(deeper);
  }

  /** What comes to a recorded result and to nothing else. */
  #direct(): Expression {
    const roll = this.#chance.below(100);
    if (roll < 45) return this.#wait(this.#chance.percent(25));
    return roll < 65 ? this.#sleep() : this.#once();
  }

  #wait(expires: boolean): Expression {
    const name = this.#chance.pick(NAMES);
    const count = this.#keys.get(name) ?? 0;
    this.#keys.set(name, count + 1);
    return {
      k: "wait",
      name,
      ...(count === 0 ? {} : { key: `k${count}` }),
      ...(expires ? { deadline: this.#chance.pick([300, 2_000, 40_000]) } : {}),
    };
  }

  #sleep(): Expression {
    return { k: "sleep", name: `s${this.#number()}`, ms: this.#chance.pick([0, 20, 300, 5_000, 45_000]) };
  }

  #once(fails = false): Expression {
    const work: Work = this.#chance.percent(55)
      ? { turns: this.#chance.below(4) }
      : { ms: this.#chance.pick([1, 30, 400, 4_000]) };
    return { k: "once", name: `o${this.#number()}`, work, ...(fails ? { fails } : {}) };
  }

  #reaction(place: Place): Reaction {
    const roll = this.#chance.below(10);
    if (roll < 5) return { r: "text", text: `r${this.#number()}` };
    if (roll < 9 || !place.throws) return { r: "promise", of: this.#expression(place) };
    return { r: "throw", message: `t${this.#number()}` };
  }

  #derived(place: Place): Expression {
    const of = this.#expression(place);
    switch (this.#chance.below(4)) {
      case 0:
        return { k: "catch", of, no: this.#reaction(place) };
      case 1:
        return this.#chance.percent(50) ? { k: "finally", of } : { k: "finally", of, then: this.#direct() };
      case 2:
        return { k: "then", of, yes: this.#reaction(place), no: this.#reaction(place) };
      default:
        return { k: "then", of, yes: this.#reaction(place) };
    }
  }

  /** Begins with a result, so that it is no ordinary promise. */
  #call(place: Place): Expression {
    const first: Statement = { s: "await", of: this.#direct() };
    const before: Statement[] = this.#flavour === "pure"
      ? this.#chance.percent(30) ? [{ s: "await", of: { k: "micro", ticks: 1 + this.#chance.below(9) } }] : []
      : this.#chance.percent(30)
      ? [{ s: "await", of: { k: "io", turns: 1 + this.#chance.below(4) } }]
      : [];
    const rest = this.#chance.percent(70) ? this.#inner({ ...place, inHelper: true }) : [];
    return {
      k: "call",
      depth: this.#chance.pick([0, 0, 1, 2, 5, 12]),
      block: [...before, first, ...rest],
    };
  }

  #combined(place: Place): Expression {
    const count = 2 + this.#chance.below(3);
    const many = (of: Place) => Array.from({ length: count }, () => this.#expression(of));
    const isPlain = this.#flavour !== "pure" && place.calm;
    if (isPlain && !place.inLoop && this.#chance.percent(30)) {
      const of = many(place);
      if (this.#chance.percent(50)) of.push(this.#plain(place));
      return { k: "protected", of: this.#chance.shuffle(of), name: `w${this.#number()}` };
    }
    if (this.#isLong(place)) return { k: "allSettled", of: many(place) };
    const k = this.#chance.pick(["all", "all", "race", "race", "any", "allSettled"] as const);
    return { k, of: many(k === "allSettled" ? place : { ...place, calm: false }) };
  }
}

/** In a helper, a wait with a reaction, which it has at once. */
function awaited(e: Expression, { inHelper }: Place): Expression {
  return inHelper && (e.k === "wait" || e.k === "sleep") ? { k: "finally", of: e } : e;
}

/** Whether the promise may be settled by plain work, as one of a function whose last step is such. */
function endsPlainly(e: Expression): boolean {
  return JSON.stringify(e).match(/"k":"(io|long|protected)"|"fails":true/) !== null;
}
