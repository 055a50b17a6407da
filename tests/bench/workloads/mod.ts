import type { Bench } from "../bench.ts";
import type { Mode } from "../types.ts";
import { chain, concurrent, memoryChain } from "./chain.ts";
import { codec } from "./codec.ts";
import { heapOf } from "./heap.ts";
import { http } from "./http.ts";
import { keys } from "./keys.ts";
import { manyRuns } from "./many_runs.ts";
import { onPostgres } from "./postgres.ts";
import { resume } from "./resume.ts";
import { state } from "./state.ts";
import { growth, information } from "./growth.ts";
import { answers, waits } from "./waits.ts";
import { wide } from "./wide.ts";

/** Something that is measured. */
export interface Workload {
  /** The goal that it is measured for, such as `N1`, or its name where there is none. */
  readonly id: string;
  readonly name: string;
  /** What there is to tell of it: `cold` is measured in a process for each sample, the others in one process. */
  readonly modes: readonly Mode[];
  /** Prepares it in this process, and answers what one repeat is: it reports a sample of each figure. */
  prepare(bench: Bench): (() => Promise<void>) | Promise<() => Promise<void>>;
}

export const WORKLOADS: readonly Workload[] = [
  chain,
  memoryChain,
  concurrent,
  wide,
  state,
  growth,
  information,
  waits,
  answers,
  resume,
  heapOf,
  manyRuns,
  http,
  codec,
  keys,
  onPostgres,
];
