// Runs on deno by default: no runtime decides what the source looks like.
import assert from "node:assert/strict";
import { test } from "node:test";
import ts from "typescript";
import { closureOf, importsOf, isClockOrChance, placesOf, roomOf, show, sourceFiles } from "./source_tree.ts";

const PURE_CORE = "src/engine/superstep.ts";
/** What the core may use from outside: none of these reads a clock, does I/O or waits. */
const PURE_PACKAGES = ["@lukeed/ms", "mutative", "node:buffer", "node:crypto"];
/** The seam itself, and everything that reaches a store. */
const IMPURE = ["src/runtime/runtime.ts", "src/runtime/system.ts", "src/checkpoint/log.ts"];

const closure = closureOf(PURE_CORE, { types: false });
const core = sourceFiles(
  PURE_CORE,
  ...new Set(closure.filter((edge) => edge.relative).map((edge) => edge.to)),
);

test("the pure core imports neither clock, store nor timers, whichever way (E12)", () => {
  const ofEngine = core.filter((file) => roomOf(file.path) === "engine").flatMap(importsOf);
  const forbidden = [...closure, ...ofEngine.filter((edge) => edge.typeOnly)].filter(({ to, relative }) =>
    relative ? IMPURE.includes(to) || ["store", "adapters"].includes(roomOf(to)) : !PURE_PACKAGES.includes(to)
  );
  assert.deepEqual(show(forbidden), []);
});

test("no file that the pure core runs reads a clock, starts a timer, draws by chance or waits (E12)", () => {
  assert.ok(core.length > 1);
  assert.deepEqual(placesOf(core, (node) => isClockOrChance(node) || waits(node)), []);
});

test("outcomes reach the log through exactly one call site of the engine (E4)", () => {
  const sites = placesOf(sourceFiles("src/engine"), isAppend);
  assert.equal(sites.length, 1, `called at ${sites.join(", ") || "no place"}`);
});

function waits(node: ts.Node): boolean {
  if (ts.isAwaitExpression(node)) return true;
  return ts.canHaveModifiers(node) &&
    (ts.getModifiers(node)?.some((modifier) => modifier.kind === ts.SyntaxKind.AsyncKeyword) ?? false);
}

function isAppend(node: ts.Node): boolean {
  return ts.isCallExpression(node) && ts.isPropertyAccessExpression(node.expression) &&
    node.expression.name.text === "append";
}
