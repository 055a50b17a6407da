import assert from "node:assert/strict";
import { test } from "node:test";
import ts from "typescript";
import { closureOf, placeOf, roomOf, show, sourceFiles, walk } from "./source_tree.ts";

const PURE_CORE = "src/engine/superstep.ts";
/** Besides pure rooms, the core may use these packages: none reads a clock, does I/O or waits. */
const PURE_PACKAGES = ["mutative"];

test("E12: the pure core and all it imports know neither clock, store, log nor timers", () => {
  const reached = closureOf(PURE_CORE, { types: false });
  const forbidden = reached.filter(({ to, relative }) =>
    relative
      ? ["runtime", "store", "adapters", "checkpoint", "testing", "worker"].includes(roomOf(to))
      : !PURE_PACKAGES.includes(to)
  );
  assert.deepEqual(show(forbidden), []);
});

test("E12: nothing in the pure core waits", () => {
  const core = [PURE_CORE, ...closureOf(PURE_CORE, { types: false }).map((edge) => edge.to)];
  const waiting: string[] = [];
  for (const file of sourceFiles(...new Set(core.filter((path) => path.startsWith("src/engine/"))))) {
    walk(file.ast, (node) => {
      const isAsync = ts.canHaveModifiers(node) &&
        ts.getModifiers(node)?.some((modifier) => modifier.kind === ts.SyntaxKind.AsyncKeyword);
      if (isAsync || ts.isAwaitExpression(node)) waiting.push(placeOf(file, node));
    });
  }
  assert.deepEqual(waiting, []);
});

test("E4: outcomes reach the log through exactly one call site of the engine", () => {
  const calls: string[] = [];
  for (const file of sourceFiles("src/engine")) {
    walk(file.ast, (node) => {
      if (!ts.isCallExpression(node) || !ts.isPropertyAccessExpression(node.expression)) return;
      if (node.expression.name.text === "append") calls.push(placeOf(file, node));
    });
  }
  assert.equal(calls.length, 1, `called at ${calls.join(", ") || "no place"}`);
});
