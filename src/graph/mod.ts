export { GraphBuilder } from "./builder.ts";
export type { GraphContents, GraphEnds, GraphOptions } from "./builder.ts";
export { canonicalForm, describeVersionDifference, recordedVertices } from "./canonical.ts";
export { mermaid } from "./mermaid.ts";
export { svg, SVG_STYLE } from "./svg.ts";
export type { SvgOptions } from "./svg.ts";
export { topology } from "./topology.ts";
export type { Topology, TopologyVertex } from "./topology.ts";
export type { MapVertex, OnErrorOption, SingleVertex, TaskBinding, VertexBase } from "./vertex_options.ts";
