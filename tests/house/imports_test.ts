// Runs on deno by default: no runtime decides what the source looks like.
import assert from "node:assert/strict";
import { test } from "node:test";
import { closureOf, findCircle, importsOf, OPEN_TO_ALL, roomOf, show, sourceFiles } from "./source_tree.ts";

/** Who may import whom; `testing` may import anything in `src`. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  model: [],
  errors: [],
  runtime: [],
  decorators: [],
  graph: [],
  store: [],
  adapters: ["store"],
  scanner: ["decorators", "graph"],
  checkpoint: ["store"],
  engine: ["graph", "checkpoint", "store"],
  // The composition root of `compile`: classes in, runner out.
  compile: ["decorators", "scanner", "graph", "checkpoint", "engine", "store"],
  worker: ["compile", "decorators", "engine", "graph", "store"],
  telemetry: ["engine"],
  http: ["compile", "decorators", "worker", "engine", "graph", "scanner", "store"],
  // The other composition root: it opens stores, and reads their records without the code of a graph.
  cli: ["compile", "worker", "http", "scanner", "graph", "engine", "checkpoint", "store", "adapters"],
};

const files = sourceFiles("src");
const edges = files.flatMap(importsOf);

test("every room of src is in the table of who may import whom", () => {
  const rooms = [...new Set(files.map((file) => roomOf(file.path)))].filter((room) => room !== "testing");
  assert.deepEqual(rooms.filter((room) => !(room in MAY_IMPORT)), []);
});

test("no room imports a room that it may not know", () => {
  const forbidden = edges.filter((edge) => {
    const from = roomOf(edge.from);
    if (!edge.relative || from === "testing") return false;
    const to = roomOf(edge.to);
    return !edge.to.startsWith("src/") ||
      from !== to && !OPEN_TO_ALL.includes(to) && !MAY_IMPORT[from]?.includes(to);
  });
  assert.deepEqual(show(forbidden), []);
});

test("checkpoint log and engine know stores by type only", () => {
  const values = edges.filter((edge) =>
    edge.relative && !edge.typeOnly && ["checkpoint", "engine"].includes(roomOf(edge.from)) &&
    roomOf(edge.to) === "store"
  );
  assert.deepEqual(show(values), []);
});

test("the client of http pulls in nothing of the server, and nothing that pages do not have", () => {
  const pulled = closureOf("src/http/client.ts", { types: false });
  const unwanted = pulled.filter(({ to, relative }) =>
    relative
      ? !["http", ...OPEN_TO_ALL].includes(roomOf(to)) || to === "src/http/app.ts"
      : !["hono/client", "eventsource-parser/stream", "@lukeed/ms"].includes(to)
  );
  assert.deepEqual(show(unwanted), []);
});

test("no circle among the files of src, type imports included", () => {
  assert.equal(
    findCircle(edges.filter((edge) => edge.relative).map(({ from, to }) => [from, to])),
    undefined,
  );
});

test("no circle among the rooms of src", () => {
  const between = edges
    .filter((edge) => edge.relative)
    .map(({ from, to }) => [roomOf(from), roomOf(to)] as const)
    .filter(([from, to]) => from !== to);
  assert.equal(findCircle(between), undefined);
});

test("hono is imported in http only, each driver in its adapter only, OpenTelemetry in telemetry only, what a terminal needs in cli only", () => {
  const home: Readonly<Record<string, string>> = {
    hono: "src/http/",
    "@hono": "src/http/",
    "eventsource-parser": "src/http/",
    "@deno/kv": "src/store/deno_kv/",
    pg: "src/store/postgres/",
    "@nats-io": "src/worker/nats/",
    "@opentelemetry": "src/telemetry/",
    commander: "src/cli/",
    "cli-table3": "src/cli/",
    picocolors: "src/cli/",
    "@clack/prompts": "src/cli/",
  };
  const strays = edges.filter(({ from, to }) => {
    const name = Object.keys(home).find((name) => to === name || to.startsWith(`${name}/`));
    return name !== undefined && !from.startsWith(home[name]!);
  });
  assert.deepEqual(show(strays), []);
});

test("ready-made tasks import the public root and packages, nothing else of the repository", () => {
  const relatives = sourceFiles("tasks").flatMap(importsOf).filter((edge) => edge.relative);
  assert.deepEqual(
    show(relatives.filter((edge) => edge.to !== "mod.ts" && !edge.to.startsWith("tasks/"))),
    [],
  );
});

test("examples import superstep by its package name", () => {
  const relatives = sourceFiles("examples").flatMap(importsOf).filter((edge) => edge.relative);
  assert.deepEqual(show(relatives.filter((edge) => !edge.to.startsWith("examples/"))), []);
});
