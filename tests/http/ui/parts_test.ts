// Runs on deno by default: pages are text, the same everywhere.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ExecutionStatus } from "../../../src/model/checkpoint.ts";
import { difference } from "../../../src/http/ui/difference.ts";
import { Drawings } from "../../../src/http/ui/drawings.ts";
import { jsonText } from "../../../src/http/ui/json_text.ts";
import type { GraphBody } from "../../../src/http/wire.ts";
import { unescaped } from "./support.ts";

/** Rows of the table of a difference: path, change, before, after. */
async function rowsOf(before: unknown, after: unknown): Promise<readonly (readonly string[])[]> {
  const html = String(await difference(before, after));
  return [...html.matchAll(/<tr>(<th scope="row">[\s\S]*?)<\/tr>/g)].map(([, row]) =>
    [...row!.matchAll(/<t[hd][^>]*>([\s\S]*?)<\/t[hd]>/g)].map(([, cell]) =>
      unescaped(cell!.replace(/<[^>]*>/g, ""))
    )
  );
}

test("a difference tells what was added, removed and changed, and nothing else (W3)", async () => {
  assert.deepEqual(
    await rowsOf(
      {
        same: { a: [1, { b: 2 }] },
        gone: 1,
        list: [1, 2, 3],
        kind: [1],
        text: "1",
        none: null,
        deep: { x: { y: 1 } },
      },
      {
        same: { a: [1, { b: 2 }] },
        list: [1, 4],
        kind: { 0: 1 },
        text: 1,
        none: 0,
        deep: { x: { y: 2 } },
        "new": [],
      },
    ),
    [
      ["gone", "removed", "1", ""],
      ["list.1", "changed", "2", "4"],
      ["list.2", "removed", "3", ""],
      ["kind", "changed", "[1]", '{"0":1}'],
      ["text", "changed", '"1"', "1"],
      ["none", "changed", "null", "0"],
      ["deep.x.y", "changed", "1", "2"],
      ["new", "added", "", "[]"],
    ],
  );
  assert.deepEqual(await rowsOf([1], { 0: 1 }), [["(the state)", "changed", "[1]", '{"0":1}']]);
  assert.deepEqual(await rowsOf("a", "b"), [["(the state)", "changed", '"a"', '"b"']]);
  assert.match(String(await difference({ a: [{}] }, { a: [{}] })), /did not change/);
});

test("fields that objects have of themselves are told like others (FC-29, W3)", async () => {
  for (const key of ["__proto__", "constructor", "toString", "hasOwnProperty"]) {
    const state = JSON.parse(`{"${key}": {"admin": true}}`) as object;
    assert.deepEqual(await rowsOf({}, state), [[key, "added", "", '{"admin":true}']]);
    assert.deepEqual(await rowsOf(state, {}), [[key, "removed", '{"admin":true}', ""]]);
    assert.deepEqual(await rowsOf(state, state), []);
  }
});

test("of states that differ everywhere some changes are told, without a look at the rest (FC-29, W3)", async () => {
  let looks = 0;
  const counting = (values: readonly number[]) =>
    new Proxy(values, {
      get(target, key, receiver) {
        looks++;
        return Reflect.get(target, key, receiver);
      },
    });
  const before = Array.from({ length: 100_000 }, (_, i) => i);
  const html = String(await difference({ n: counting(before) }, { n: counting(before.map((i) => i + 1)) }));
  assert.equal(html.match(/<tr>/g)!.length, 201);
  assert.match(html, /… and more changes/);
  assert.ok(looks < 2_000, `${looks} looks`);
});

test("JSON is written as it always is, and a large value no further than it is shown (W3)", () => {
  for (
    const value of [
      null,
      true,
      -1.5e300,
      'a "text"\n\u2028',
      [],
      {},
      [[], {}],
      { a: { b: [1, "2", { c: null }] }, "": [] },
      JSON.parse('{"__proto__": [1]}'),
    ]
  ) {
    assert.deepEqual(jsonText(value, 1_000), { text: JSON.stringify(value), cut: false });
    assert.deepEqual(jsonText(value, 1_000, "  "), { text: JSON.stringify(value, null, 2), cut: false });
    const whole = JSON.stringify(value, null, 2);
    for (let most = 0; most < whole.length; most++) {
      assert.deepEqual(jsonText(value, most, "  "), { text: whole.slice(0, most), cut: true });
    }
  }
  assert.deepEqual(jsonText(undefined, 10), { text: "", cut: false });
  let looks = 0;
  const large = new Proxy({}, {
    ownKeys: () => Array.from({ length: 10_000 }, (_, i) => `k${i}`),
    getOwnPropertyDescriptor: () => ({ enumerable: true, configurable: true, value: 0 }),
    get: () => {
      looks++;
      return "x".repeat(1_000);
    },
  });
  assert.equal(jsonText(large, 5_000).text.length, 5_000);
  assert.ok(looks < 10, `${looks} looks`);
});

/** A graph of vertices 0 to n - 1 and edges between them. */
function graphOf(n: number, edges: readonly (readonly [number, number])[]): GraphBody {
  return {
    id: "g",
    version: "1",
    entry: "v0",
    finishes: [`v${n - 1}`],
    vertices: Array.from({ length: n }, (_, i) => ({ id: `v${i}`, label: "", join: "any", each: false })),
    edges: edges.map(([from, to]) => ({ from: `v${from}`, to: `v${to}` })),
    conditions: [],
    errorRoutes: [],
  };
}

const chain = (n: number) => Array.from({ length: n - 1 }, (_, i) => [i, i + 1] as const);

test("graphs that take long to be drawn are not, and those that people make are (FC-29, W3)", async () => {
  const drawn = async (graph: GraphBody) => {
    const html = String(await new Drawings().draw(graph));
    if (html.includes("<svg")) return true;
    assert.match(html, new RegExp(`too large to be drawn: ${graph.vertices.length} vertices, \\d+ edges`));
    return false;
  };
  const toTheLast = (n: number) =>
    graphOf(n, [...chain(n), ...chain(n - 1).map(([i]) => [i, n - 1] as const)]);
  const complete = (n: number) =>
    graphOf(n, Array.from({ length: n * n }, (_, i) => [Math.floor(i / n), i % n] as const));
  const wide = (n: number) =>
    graphOf(n, Array.from({ length: n - 2 }, (_, i) => [[0, i + 1], [i + 1, n - 1]] as const).flat());
  assert.deepEqual(
    await Promise.all([
      drawn(graphOf(1, [])),
      drawn(graphOf(2, [[0, 1], [1, 0], [0, 0]])),
      drawn(toTheLast(30)),
      drawn(complete(8)),
      drawn(wide(100)),
      drawn(graphOf(100, chain(100))),
    ]),
    [true, true, true, true, true, true],
  );
  assert.deepEqual(
    await Promise.all([
      drawn(toTheLast(250)),
      drawn(complete(60)),
      drawn(wide(5_000)),
      drawn(graphOf(3_000, chain(3_000))),
    ]),
    [false, false, false, false],
  );
});

test("a drawing is made once, as long as it is asked for, and another one for another status (W3)", async () => {
  const drawings = new Drawings();
  const graph = graphOf(3, chain(3));
  const status = (status: ExecutionStatus) => ({ v1: status });
  const first = await drawings.draw(graph, status("done"));
  assert.equal(await drawings.draw(graphOf(3, chain(3)), status("done")), first);
  assert.notEqual(String(await drawings.draw(graph, status("failed"))), String(first));
  assert.notEqual(String(await drawings.draw(graphOf(4, chain(4)), status("done"))), String(first));
  for (let n = 5; n < 60; n++) await drawings.draw(graphOf(n, chain(n)));
  const again = await drawings.draw(graph, status("done"));
  assert.notEqual(again, first, "what nobody asked for was let go");
  assert.equal(String(again), String(first));
});
