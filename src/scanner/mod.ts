export { graphOf, scan } from "./scan.ts";
export type { ScannedWorkflow } from "./scan.ts";
