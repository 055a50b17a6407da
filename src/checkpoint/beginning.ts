import type { Checkpoint, Execution } from "../model/checkpoint.ts";
import type { EventOf } from "./records.ts";

/** The checkpoint of revision 0. */
export function firstCheckpoint(event: EventOf<"created">, at: number): Checkpoint {
  return {
    run: {
      runId: event.runId,
      graphId: event.graphId,
      graphVersion: event.graphVersion,
      status: "running",
      step: 0,
      revision: 0,
      ...(event.owner === undefined ? {} : { owner: event.owner }),
      recoveries: 0,
      createdAt: at,
      ...(event.owner === undefined ? {} : { startedAt: at }),
      updatedAt: at,
      ...(event.deadline === undefined ? {} : { deadline: event.deadline }),
      maxSteps: event.maxSteps,
      tags: event.tags,
      inputDigest: event.inputDigest,
      ...(event.caller === undefined ? {} : { caller: event.caller }),
      ...(event.waitSalt === undefined ? {} : { waitSalt: event.waitSalt }),
      ...(event.flow === undefined ? {} : { flow: event.flow }),
    },
    phase: "routed",
    frontier: [event.entry],
    executions: new Map(),
    maps: new Map(),
    routes: [],
    arrivals: new Map(),
    finishRan: false,
    nextStep: 0,
    folded: false,
    path: { older: [], newer: [] },
  };
}

/** An execution of which nothing is recorded yet. */
export function freshExecution(vertexId: string, item?: number): Execution {
  return {
    vertexId,
    ...(item === undefined ? {} : { item }),
    generation: 0,
    status: "pending",
    failedAttempts: [],
    spentMs: 0,
    once: EMPTY,
    waits: EMPTY,
    results: 0,
    refusals: EMPTY,
  };
}

const EMPTY = new Map<never, never>() as ReadonlyMap<never, never>;
