// Runs on deno by default: graphs are plain data, the same everywhere.
import assert from "node:assert/strict";
import { test } from "node:test";
import { memoryStore } from "../../src/store/memory.ts";
import { everything } from "../durability/everything.ts";
import { runnersOn } from "../fixtures/layout_1/graphs.ts";
import { graphWith, newBuilder, vertex } from "./fixtures.ts";

/** Versions as they stand in files that users have: a change here strands every waiting run of such a graph. */
const PINNED = {
  "dead-end": "ec37c44a8c5dbb0e6b0b0aa2cd331396090eb3fbdb65ecc9d1175b4bab4486ae:0",
  child: "977df88a5546a63b720969dff6569dfcf1d86c1557a6c58a1f0a9149b9fded2d:0",
  everything: "e99a1cc87d5cf4737fbf4acb2da168ada9d29cea5cb86db5cefb1f67ac2fc375:0",
  g: "de3b39b5c4592a538d27a4b9a47bf47f90ea074d0c0b845bd3f33369868de0a2:0",
  joins: "5e769d97509a58ca22137e8bfd5a3727888e78d267ad6bb26217a0bafc3938f7:0",
  parent: "8d2eeba0121144a3bf06b0d326458bf4f3c9051d6949200f62209b0d7c31791e:0",
  rounds: "6f2eb96ddf860e9e7ddba4350a89fb3cfb6b6b6b830b3548b809221dd0638ed2:0",
  rules: "5d38b2e400c4c01f976d51c8161da23a58b676b810d8b0d8a53c22254c2fd5a1:0",
  stacked: "d50ff170874634075518413011e68b604ef8548a43f1e92d3c13619c49c94620:7",
  ticks: "4d913cc775d799c0aa32c7a58ba84df201f7e2da4c65de90eb72f032386ff5a5:0",
  waits: "67c5565b1426b1c131c93f766d4fd877f90c46eab3c44d0dd511ada0cf40e6a4:3",
};

test("the versions of graphs with joins, maps, handlers, waits and picks are those of earlier releases (H3)", () => {
  const world = { mended: true, effects: [], hang: () => Promise.resolve() };
  const runners = Object.values(runnersOn(memoryStore(), world, {}));
  const stacked = newBuilder({ id: "stacked", version: 7 })
    .addVertex(vertex("a", { onError: [{ route: "c", match: TypeError }, { route: "b" }] }))
    .addVertex(vertex("b", { join: "all" })).addVertex(vertex("c"))
    .addEdge("a", "b").addEdge("b", "b")
    .addConditionalEdge("c", { targets: ["c", "a", "b"], pick: () => "a" })
    .build({ entry: "a", finish: ["b", "c"] });
  const chain = graphWith(["a", "b", "c"], [["a", "b"], ["b", "c"]]).build({ entry: "a", finish: "c" });
  const graphs = [...runners.map(({ graph }) => graph), everything, stacked, chain];
  assert.deepEqual(Object.fromEntries(graphs.map(({ id, version }) => [id, version])), PINNED);
});
