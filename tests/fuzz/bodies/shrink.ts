import type { Body } from "./generate.ts";
import type { Block, Expression, Reaction, Statement } from "./syntax.ts";

/** What fails, cut down. */
export interface Shrunk {
  readonly bodies: readonly Body[];
  readonly fault: string;
}

/** How many runs a search may cost, and with how many other seeds of the surroundings a smaller body is tried. */
const MAX_RUNS = 400;
const SEEDS = 4;

/** Cuts failing bodies down to smaller ones that fail alike; `fails` says how bodies fail. */
export async function shrink(
  bodies: readonly Body[],
  seed: number,
  fails: (bodies: readonly Body[], seed: number) => Promise<string | undefined>,
  kind: string,
): Promise<Shrunk> {
  let runs = 0;
  const failsAlike = async (candidate: readonly Body[]): Promise<string | undefined> => {
    if (!candidate.every(({ block }) => isWhole(block))) return undefined;
    for (let i = 0; i < SEEDS && runs < MAX_RUNS; i++) {
      runs += 1;
      const fault = await fails(candidate, seed + i);
      if (fault !== undefined && kindOfFault(fault) === kind) return fault;
    }
    return undefined;
  };
  let best = bodies;
  let fault = await failsAlike(bodies) ?? kind;
  for (let progress = true; progress && runs < MAX_RUNS;) {
    progress = false;
    for (const candidate of smaller(best)) {
      const found = await failsAlike(candidate);
      if (found === undefined) continue;
      [best, fault, progress] = [candidate, found, true];
      break;
    }
  }
  return { bodies: best, fault };
}

function kindOfFault(fault: string): string {
  return fault.replace(/\n[^]*/, "").replace(/[a-z]*\d+(\.\d+)*/g, "").slice(0, 60);
}

function* smaller(bodies: readonly Body[]): Generator<readonly Body[]> {
  if (bodies.length > 1) { for (const body of bodies) yield [body]; }
  for (const [i, body] of bodies.entries()) {
    for (const block of blocks(body.block)) {
      if (block.length > 0) yield bodies.map((b, j) => i === j ? { ...b, block } : b);
    }
  }
}

/** Blocks that are a little smaller, the smallest first. */
function* blocks(block: Block): Generator<Block> {
  for (let i = 0; i < block.length; i++) yield [...block.slice(0, i), ...block.slice(i + 1)];
  for (const [i, statement] of block.entries()) {
    const put = (...by: readonly Statement[]) => [...block.slice(0, i), ...by, ...block.slice(i + 1)];
    for (const inner of inlined(statement)) yield put(...inner);
    for (const one of statements(statement)) yield put(one);
  }
}

/** What a statement holds, in its place. */
function inlined(s: Statement): readonly Block[] {
  switch (s.s) {
    case "try":
      return [
        s.block,
        ...(s.caught === undefined ? [] : [s.caught]),
        ...(s.last === undefined ? [] : [s.last]),
      ];
    case "loop":
      return [s.block];
    case "if":
      return [s.yes, s.no];
    case "each":
      return [s.of.map((of): Statement => ({ s: "await", of }))];
    case "await":
      return s.of.k === "call" ? [s.of.block] : [];
    default:
      return [];
  }
}

function* statements(s: Statement): Generator<Statement> {
  switch (s.s) {
    case "await":
    case "start":
      for (const of of expressions(s.of)) yield { ...s, of };
      return;
    case "try":
      if (s.last !== undefined && s.caught !== undefined) {
        yield { s: "try", block: s.block, caught: s.caught };
        yield { s: "try", block: s.block, last: s.last };
      }
      for (const block of blocks(s.block)) yield { ...s, block };
      for (const caught of s.caught === undefined ? [] : blocks(s.caught)) yield { ...s, caught };
      for (const last of s.last === undefined ? [] : blocks(s.last)) yield { ...s, last };
      return;
    case "loop":
      if (s.times > 2) yield { ...s, times: s.times - 1 };
      for (const block of blocks(s.block)) yield { ...s, block };
      return;
    case "if":
      for (const yes of blocks(s.yes)) yield { ...s, yes };
      for (const no of blocks(s.no)) yield { ...s, no };
      return;
    case "each":
      for (const of of lists(s.of)) yield { ...s, of };
  }
}

function* lists(of: readonly Expression[]): Generator<readonly Expression[]> {
  if (of.length > 1) { for (let i = 0; i < of.length; i++) yield [...of.slice(0, i), ...of.slice(i + 1)]; }
  for (const [i, one] of of.entries()) {
    for (const by of expressions(one)) yield [...of.slice(0, i), by, ...of.slice(i + 1)];
  }
}

function* expressions(e: Expression): Generator<Expression> {
  switch (e.k) {
    case "wait":
      if (e.deadline !== undefined) {
        const { deadline: _, ...rest } = e;
        yield rest;
      }
      return;
    case "once":
      if (!("turns" in e.work && e.work.turns === 0)) yield { ...e, work: { turns: 0 } };
      return;
    case "io":
      if (e.turns > 1) yield { ...e, turns: e.turns - 1 };
      return;
    case "micro":
      if (e.ticks > 1) yield { ...e, ticks: 1 };
      return;
    case "then":
      yield e.of;
      if (e.no !== undefined) yield { k: "then", of: e.of, yes: e.yes };
      for (const of of expressions(e.of)) yield { ...e, of };
      for (const yes of reactions(e.yes)) yield { ...e, yes };
      for (const no of e.no === undefined ? [] : reactions(e.no)) yield { ...e, no };
      return;
    case "catch":
      yield e.of;
      for (const of of expressions(e.of)) yield { ...e, of };
      for (const no of reactions(e.no)) yield { ...e, no };
      return;
    case "finally":
      yield e.of;
      if (e.then !== undefined) yield { k: "finally", of: e.of };
      for (const of of expressions(e.of)) yield { ...e, of };
      return;
    case "call":
      for (const one of e.block) if (one.s === "await") yield one.of;
      if (e.depth > 0) yield { ...e, depth: 0 };
      for (const block of blocks(e.block)) if (block.length > 0) yield { ...e, block };
      return;
    case "all":
    case "race":
    case "any":
    case "allSettled":
    case "protected":
      yield* e.of;
      for (const of of lists(e.of)) yield { ...e, of };
  }
}

function* reactions(r: Reaction): Generator<Reaction> {
  if (r.r !== "promise") return;
  yield { r: "text", text: "r" };
  for (const of of expressions(r.of)) yield { r: "promise", of };
}

/** Whether every variable is made before it is used and used where it is made, and every round of a loop gets a result. */
function isWhole(block: Block): boolean {
  const made = new Set<string>();
  for (const s of block) {
    const text = JSON.stringify(s);
    for (const [, variable] of text.matchAll(/"k":"use","variable":"(p\d+)"/g)) {
      if (!text.includes(`"s":"start","variable":"${variable}"`) && !made.has(variable!)) return false;
    }
    if (s.s === "start") made.add(s.variable);
    if (s.s === "loop" && !begins(s.block)) return false;
    for (const inner of nested(s)) if (!isWhole(inner)) return false;
  }
  const text = JSON.stringify(block);
  return [...made].every((variable) => text.includes(`"k":"use","variable":"${variable}"`));
}

function begins(block: Block): boolean {
  const first = block[0];
  return first?.s === "await" && ["wait", "sleep", "once", "race"].includes(first.of.k);
}

function nested(s: Statement): readonly Block[] {
  switch (s.s) {
    case "try":
      return [s.block, s.caught ?? [], s.last ?? []];
    case "loop":
      return [s.block];
    case "if":
      return [s.yes, s.no];
    case "await":
    case "start":
      return s.of.k === "call" ? [s.of.block] : [];
    default:
      return [];
  }
}
