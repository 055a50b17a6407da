// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import { svg, type SvgOptions, topology } from "../../src/graph/mod.ts";
import type { ExecutionStatus } from "../../src/model/checkpoint.ts";
import { engine, graphOf, interrupted, notes } from "../support/graphs.ts";
import { matchesSnapshot } from "../support/snapshots.ts";
import { allOf, byClass, parseXml, type XmlElement } from "../support/xml.ts";
import { newBuilder, vertex } from "./fixtures.ts";
import { type Area, areaOf, boxesOf, picture, pointsOf, topologyOf } from "./svg_pictures.ts";

const titleOf = (element: XmlElement) => element.children.find(({ name }) => name === "title")?.text;
const titlesOf = (root: XmlElement, cls: string) =>
  byClass(root, cls).map(titleOf).filter((title) => title !== undefined);

/** Every kind of vertex and edge, cycles and loops included. */
const EVERYTHING = topologyOf("a->m a->j m->j j?j,a,b,z b!b b!z a!z m!m z->y", {
  vertices: [
    { id: "a", label: "Where it begins" },
    { id: "m", each: true },
    { id: "j", join: "all" },
  ],
  finishes: ["y", "z"],
});

test("a picture is well-formed SVG that needs nothing beside it and runs nothing (H1)", async () => {
  const root = await picture(EVERYTHING, { status: { a: "done", m: "failed" } });
  assert.equal(root.attributes.xmlns, "http://www.w3.org/2000/svg");
  const elements = allOf(root);
  const names = new Set(elements.map(({ name }) => name));
  const known = ["svg", "title", "desc", "style", "rect", "g", "path", "circle", "text"];
  assert.deepEqual([...names].filter((name) => !known.includes(name)), []);
  const attributes = new Set(elements.flatMap((element) => Object.keys(element.attributes)));
  assert.deepEqual([...attributes].filter((name) => /^on|href|^style$|^id$/.test(name)), []);
  assert.doesNotMatch(elements.find(({ name }) => name === "style")!.text, /@import|url\(|@font-face/);
});

test("a picture has a name, and says in words what it shows (H1)", async () => {
  const root = await picture(EVERYTHING, { status: { a: "done" } });
  assert.equal(root.attributes.role, "img");
  assert.deepEqual(root.children.slice(0, 2).map(({ name }) => name), ["title", "desc"]);
  assert.equal(root.children[0]!.text, "Graph g");
  const words = root.children[1]!.text;
  assert.match(
    words,
    /a \(Where it begins\) is done, is the entry, goes to m and j and on error goes to z\./,
  );
  assert.match(words, /j joins all branches and picks from j, a, b and z\./);
  assert.match(words, /m runs once per item/);
  assert.match(words, /y is a finish\./);
});

test("every vertex is drawn once, by its label or else its id, with marks for maps and joins (H1)", async () => {
  const vertices = byClass(await picture(EVERYTHING), "vertex");
  const shown = vertices.map((v) => byClass(v, "label").map(({ text }) => text).join(" "));
  assert.deepEqual(shown, EVERYTHING.vertices.map(({ id, label }) => label || id));
  const chips = vertices.map((v) =>
    byClass(v, "chip").flatMap((c) => c.children.map(({ text }) => text)).join("")
  );
  assert.deepEqual(chips, ["", "map", "join all", "", "", ""]);
  assert.deepEqual(vertices.map((v) => byClass(v, "box").length), [1, 3, 1, 1, 1, 1]);
  assert.deepEqual(vertices.map((v) => byClass(v, "bar").length), [0, 0, 1, 0, 0, 0]);
  assert.deepEqual(vertices.map((v) => byClass(v, "caption").map(({ text }) => text)), [
    ["a"],
    [],
    [],
    [],
    [],
    [],
  ]);
});

test("every edge is drawn once, by its kind, and the key explains the kinds that there are (H1)", async () => {
  const twice = { ...EVERYTHING, edges: [...EVERYTHING.edges, { from: "a", to: "m" }] };
  const root = await picture(twice);
  assert.deepEqual(titlesOf(root, "next"), ["a then j", "a then m", "m then j", "z then y"]);
  assert.deepEqual(titlesOf(root, "conditional"), [
    "j may pick a",
    "j may pick b",
    "j may pick j",
    "j may pick z",
  ]);
  assert.deepEqual(titlesOf(root, "error"), [
    "a on error z",
    "b on error b",
    "b on error z",
    "m on error m",
  ]);
  assert.equal(byClass(root, "diamond").length, 4 + 1, "one at each choice, one in the key");
  assert.equal(byClass(root, "note").length, 4);
  assert.equal(byClass(root, "mark").length, 1 + 2, "the entry and two finishes");
  const key = (element: XmlElement) =>
    byClass(element, "key").flatMap((k) => k.children.map(({ text }) => text)).join("");
  assert.equal(key(root), "alwaysif pickedon error");
  assert.equal(key(await picture(topologyOf("a->b"))), "always");
  assert.equal(key(await picture(topologyOf("", { vertices: [{ id: "only" }], finishes: ["only"] }))), "");
});

/** Texts, and what a reader of the picture gets where XML cannot carry them. */
const HOSTILE: readonly (readonly [text: string, read?: string])[] = [
  [`</text></g></svg><script>alert(1)</script>`],
  [`"/><image href="http://example.com/x.png" onload='alert(1)'/>`],
  [`]]>&amp;&lt;&#0;<!-- <![CDATA[ <?xml`],
  [`</style><style>*{display:none}`],
  ["null\u0000 bell\u0007 escape\u001b not\ufffe none\uffff", "null� bell� escape� not� none�"],
  ["lone \ud800 surrogate \udfff", "lone � surrogate �"],
  ["zero\u200bwidth \u202eright to left \u007f"],
  ["line\nbreaks\tand\u2028more"],
  ["🎉 中文标签 e\u0301"],
  ["   "],
  ["__proto__"],
];

test("texts are data, whatever is in them (H1)", async () => {
  for (const [text, read = text] of HOSTILE) {
    const graph = topologyOf("", {
      vertices: [{ id: text, label: text }, { id: "constructor", label: text }],
      finishes: [text],
    });
    const hostile = { ...graph, id: text, version: text, errorRoutes: [{ from: text, to: "constructor" }] };
    const plain = await picture({ ...hostile, id: "g", entry: text });
    const root = await picture({ ...hostile, entry: text }, { status: { [text]: text as ExecutionStatus } });
    const shape = (element: XmlElement): string =>
      `${element.name}.${element.attributes.class}(${element.children.map(shape).join()})`;
    assert.equal(shape(root), shape(plain), "neither ids, labels nor statuses add an element");
    assert.equal(titleOf(root), `Graph ${read}`);
  }
});

test("a long label is cut into lines of its box, and its whole text can still be read (H1)", async () => {
  const label = `Fetch everything from the system ${"x".repeat(300)}`;
  const id = "id".repeat(64);
  const root = await picture(topologyOf("", { vertices: [{ id, label }], finishes: [id] }));
  const lines = byClass(root, "label").map(({ text }) => text);
  assert.equal(lines.length, 3);
  assert.ok(lines.at(-1)!.endsWith("…"));
  assert.ok(lines.every((line) => line.length < 40));
  assert.ok(titleOf(byClass(root, "vertex")[0]!)!.includes(label));
  const [box] = boxesOf(root);
  assert.ok(box!.right - box!.left < 300);
});

test("the vertices of a run carry their status, those it has not reached none (H1)", async () => {
  const e = engine(graphOf({
    vertices: {
      start: { to: ["b", "d", "f", "s", "m"] },
      b: {
        retry: { maxAttempts: 2, backoff: { initial: "1d" } },
        run: () => Promise.reject(new Error("no")),
      },
      d: {},
      f: { run: () => Promise.reject(new Error("no")) },
      m: { each: () => [0, 1], run: (item, ctx) => item === 1 && ctx.interrupt() },
      s: { run: (_input, ctx) => ctx.interrupt(), to: "later" },
      later: {},
    },
    finish: ["d", "later"],
  }));
  const { run, vertices } = interrupted(await e.run(notes()), "errored");
  assert.deepEqual(vertices, {
    b: "backoff",
    d: "done",
    f: "failed",
    m: "suspended",
    s: "suspended",
    start: "done",
  }, "as results say it");
  const statuses = (root: XmlElement) =>
    byClass(root, "vertex").map((v) => {
      const [shown] = byClass(v, "status").flatMap((c) => c.children).filter(({ name }) => name === "text");
      const [, status = ""] = v.attributes.class!.split(" ");
      assert.equal(shown?.text ?? "", status, "said by colour and in words");
      return `${byClass(v, "label")[0]!.text} ${status}`.trim();
    });
  assert.deepEqual(statuses(parseXml(await e.runner.svg(run.runId))), [
    "b backoff",
    "d done",
    "f failed",
    "later",
    "m suspended",
    "s suspended",
    "start done",
  ]);
  const plain = await e.runner.svg();
  assert.deepEqual(statuses(parseXml(plain)).filter((text) => text.includes(" ")), []);
  assert.equal(plain, await svg(e.runner.topology()));
});

test("a vertex that is still to run is pending in the picture of its run (H1)", async () => {
  const e = engine(graphOf({ vertices: { a: { to: "b" }, b: { to: "c" }, c: {} } }));
  const { run } = interrupted(await e.run(notes(), { maxSteps: 1 }), "halted");
  const root = parseXml(await e.runner.svg(run.runId));
  assert.deepEqual(byClass(root, "vertex").map((v) => v.attributes.class), [
    "vertex done",
    "vertex pending",
    "vertex",
  ]);
});

test("a status that is none, and one of a vertex that is none, colours nothing (H1)", async () => {
  const status = { a: "</g>" as ExecutionStatus, ghost: "failed" as const, b: "done" as const };
  const root = await picture(topologyOf("a->b"), { status });
  assert.deepEqual(byClass(root, "vertex").map((v) => v.attributes.class), ["vertex", "vertex done"]);
});

test("each status has a colour for the light and one for the dark scheme, and all differ (H1)", async () => {
  const style = allOf(await picture(topologyOf("a->b"))).find(({ name }) => name === "style")!.text;
  const [light, dark] = style.split("@media (prefers-color-scheme: dark)");
  const fills = (["pending", "suspended", "backoff", "done", "failed"] satisfies ExecutionStatus[]).flatMap((
    status,
  ) => [light!, dark!].map((rules) => new RegExp(`\\.${status} \\.box \\{ fill: (#\\w+)`).exec(rules)![1]));
  assert.equal(new Set(fills).size, 10);
});

test("the same graph, built in another order, gives the same picture (H1)", async () => {
  const build = (ids: readonly string[]) => {
    const builder = newBuilder();
    for (const id of ids) builder.addVertex(vertex(id, { onError: [{ route: "d" }] }));
    for (const id of ids.filter((id) => id !== "d")) builder.addEdge(id, "d");
    return builder.addConditionalEdge("d", { targets: ids, pick: () => "a" })
      .addEdge("a", "b").addEdge("b", "c").build({ entry: "a", finish: "d" });
  };
  const options: SvgOptions = { status: { b: "done", a: "failed" } };
  const first = await svg(topology(build(["a", "b", "c", "d"])), options);
  assert.equal(await svg(topology(build(["a", "b", "c", "d"])), options), first);
  const moved = topology(build(["d", "c", "b", "a"]));
  assert.equal(await svg(moved, { status: { a: "failed", b: "done" } }), first);
});

test("the picture of a graph is the same on every runtime (H1)", async () => {
  const status = { a: "done", m: "suspended", j: "pending", b: "failed" } as const;
  matchesSnapshot("tests/graph/everything.svg", await svg(EVERYTHING, { status }));
});

/** Pseudo-random graphs: a chain through all vertices, and more edges of every kind. */
function randomGraph(seed: number) {
  let state = seed;
  const next = (below: number) => (state = (state * 48271) % 2147483647) % below;
  const count = 2 + next(14);
  const name = (i: number) => `v${i}`;
  const edges = Array.from({ length: count - 1 }, (_, i) => `${name(i)}->${name(i + 1)}`);
  for (let i = 0; i < count; i++) {
    edges.push(`${name(next(count))}${["->", "?", "!"][next(3)]}${name(next(count))}`);
  }
  return topologyOf(edges.join(" "), {
    vertices: Array.from({ length: count }, (_, i) => ({
      id: name(i),
      label: next(3) === 0 ? "a label ".repeat(1 + next(9)).trim() : "",
      each: next(5) === 0,
      join: next(5) === 0 ? "all" as const : "any" as const,
    })),
    finishes: [name(count - 1), ...next(2) === 0 ? [name(0)] : []],
  });
}

test("no vertex lies on another, no edge runs through one, and everything is inside the picture (H1)", async () => {
  const loops = topologyOf("a->b a->c a->d b!b b?b c!c c->c d!d b->e c->e d->e");
  const graphs = [loops, ...Array.from({ length: 30 }, (_, i) => randomGraph(i + 1))];
  for (const [i, graph] of graphs.entries()) {
    const root = await picture(graph);
    const where = `graph ${i}`;
    const boxes = boxesOf(root);
    const meets = (a: Area, b: Area) =>
      a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
    for (const [i, a] of boxes.entries()) {
      for (const b of boxes.slice(i + 1)) assert.ok(!meets(a, b), `${where}: two vertices meet`);
    }
    const scene = root.children.find(({ attributes }) => attributes.transform !== undefined)!;
    const [dx, dy] = /translate\((\S+) (\S+)\)/.exec(scene.attributes.transform!)!.slice(1).map(Number);
    const [width, height] = [Number(root.attributes.width), Number(root.attributes.height)];
    const inside = (x: number, y: number) =>
      x + dx! >= 0 && x + dx! <= width && y + dy! >= 0 && y + dy! <= height;
    for (const { left, top, right, bottom } of allOf(scene).filter((e) => e.name === "rect").map(areaOf)) {
      assert.ok(inside(left, top) && inside(right, bottom), `${where}: a box is outside`);
    }
    for (const { attributes } of byClass(scene, "note")) {
      const [x, y] = [Number(attributes.x), Number(attributes.y)];
      const note = { left: x - 22, right: x + 22, top: y - 8, bottom: y + 3 };
      assert.ok(!boxes.some((box) => meets(box, note)), `${where}: a word lies on a vertex`);
    }
    for (const line of byClass(scene, "line")) {
      for (const [x, y] of pointsOf(line.attributes.d!)) {
        assert.ok(inside(x, y), `${where}: an edge is outside`);
        const hit = boxes.findIndex((b) =>
          x > b.left + 1 && x < b.right - 1 && y > b.top + 1 && y < b.bottom - 1
        );
        assert.equal(hit, -1, `${where}: an edge runs through ${graph.vertices[hit]?.id} at ${x} ${y}`);
      }
    }
  }
});

test("an edge leaves the rank of its vertex before it turns, and turns again before the next (H1)", async () => {
  const tall = "as tall as a vertex may be because of its label, which fills every line that there is";
  const root = await picture(topologyOf("a->x a->y x->b y->b x->c b->c", {
    vertices: [{ id: "y", label: tall, each: true, join: "all" }, { id: "b", label: tall }],
  }));
  const [, x, y, b, c] = boxesOf(root);
  assert.ok(y!.top < x!.top && y!.bottom > x!.bottom, "a vertex beside a taller one");
  const line = (title: string) => {
    const edge = byClass(root, "next").find((e) => titleOf(e) === title)!;
    return pointsOf(byClass(edge, "line")[0]!.attributes.d!);
  };
  for (const [title, area] of [["a then x", y], ["x then b", y], ["x then c", y], ["x then c", b]] as const) {
    const beside = line(title).filter(([, at]) => at > area!.top && at < area!.bottom).map(([x]) => x);
    assert.ok(beside.length > 1, title);
    assert.deepEqual(new Set(beside).size, 1, `${title} bends beside a vertex`);
  }
  assert.ok(c!.top > b!.bottom);
});

test("a run flows down; only what closes a cycle leads up, choices before static edges (H1)", async () => {
  const rises = async (edges: string) => {
    const root = await picture(topologyOf(edges));
    return ["next", "conditional", "error"].flatMap((kind) =>
      byClass(root, kind).filter((e) => titleOf(e) !== undefined).flatMap((edge) => {
        const points = pointsOf(byClass(edge, "line")[0]!.attributes.d!);
        return points.at(-1)![1] < points[0]![1] ? [titleOf(edge)] : [];
      })
    );
  };
  assert.deepEqual(await rises("agent?tool,end tool->agent"), ["tool then agent"]);
  assert.deepEqual(
    await rises("draft->check check->review review?send,draft draft!ticket review?ticket ticket->send"),
    [
      "review may pick draft",
    ],
  );
  assert.deepEqual(await rises("a->b b->c c->d d?b,c c!a"), ["d may pick b", "d may pick c", "c on error a"]);
  assert.deepEqual(await rises("a->b a->c b->d c->d d->e"), []);
});
