import type { EventOf } from "../checkpoint/records.ts";
import { type Checkpoint, executionKey, type ExecutionRef } from "../model/checkpoint.ts";
import { openingKey, type OpeningName } from "../model/wait.ts";
import { sha256Hex as sha256 } from "../runtime/hash.ts";
import type { Runtime } from "../runtime/runtime.ts";

/** The key of one logical execution: the same in every attempt, re-run and recovery. */
export function idempotencyKey(
  graphId: string,
  runId: string,
  step: number,
  vertexId: string,
  item?: number,
): string {
  const key = `graph=${graphId}/run=${runId}/step=${step}/vertex=${vertexId}`;
  return item === undefined ? key : `${key}/item=${item}`;
}

/** The key of an execution of the current step of a run, made of the id under which its vertex was begun. */
export function keyIn(
  { run, nextStep, begunAs }: Pick<Checkpoint, "run" | "nextStep" | "begunAs">,
  { vertexId, item }: ExecutionRef,
  runId: string = run.runId,
): string {
  return idempotencyKey(run.graphId, runId, nextStep, begunAs?.get(vertexId) ?? vertexId, item);
}

/** The id of one begin of an execution: derived, so that it is the same after a crash without being stored. */
export function vertexRunId(key: string, generation: number): string {
  const hex = sha256(`${key}/generation=${generation}`);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${
    hex.slice(20, 32)
  }`;
}

/** What tells the waits of a run from those of an earlier one that had its id. */
export function waitSalt(runtime: Pick<Runtime, "uuid">): string {
  return runtime.uuid().slice(-12);
}

/** The id of one opening of a wait. It begins with a mark of its run, which tells a foreign id from an unknown one. */
export function waitIdOf(
  { runId, waitSalt = "" }: { readonly runId: string; readonly waitSalt?: string | undefined },
  execution: string,
  { kind, name, key, n }: OpeningName,
  refusals: number,
): string {
  const again = refusals === 0 ? "" : `~${refusals}`;
  // A name holds no slash.
  const full = key === undefined ? name : `${name}/${key}`;
  return `${runMark(runId)}${sha256(`${waitSalt}${execution}/${kind}=${full}:${n}${again}`).slice(0, 24)}`;
}

/** Whether `waitId` is of the form that waits of this run have. */
export function isWaitIdOf(runId: string, waitId: string): boolean {
  return WAIT_ID.test(waitId) && waitId.startsWith(runMark(runId));
}

/** Whether `waitId` is of the form that waits of another run have. */
export function isForeignWaitId(runId: string, waitId: string): boolean {
  return WAIT_ID.test(waitId) && !waitId.startsWith(runMark(runId));
}

const WAIT_ID = /^w[0-9a-f]{32}$/;

/** The run id that belongs to an idempotency key of `start`. */
export function runIdOf(graphId: string, key: string): string {
  const hex = sha256(`graph=${graphId}/start=${key}`);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-b${hex.slice(17, 20)}-${
    hex.slice(20, 32)
  }`;
}

function runMark(runId: string): string {
  return `w${sha256(runId).slice(0, 8)}`;
}

/** Opens a wait again whose answer the code accepts no longer, under an id of its own; `undefined` when there is none. */
export function reopening(
  checkpoint: Checkpoint,
  of: ExecutionRef,
  id: string,
  problem: string,
  at: number,
): EventOf<"reopened"> | undefined {
  const x = checkpoint.executions.get(executionKey(of.vertexId, of.item));
  const wait = x?.waits.get(id);
  if (x === undefined || wait === undefined) return undefined;
  const refusals = (x.refusals.get(openingKey(wait)) ?? 0) + 1;
  const newId = waitIdOf(checkpoint.run, keyIn(checkpoint, of), wait, refusals);
  return { type: "reopened", ...of, id, newId, at, problem };
}
