import type { RecordEvent } from "../checkpoint/records.ts";
import { revise } from "../checkpoint/revise.ts";
import { isSuperstepError, messageOf } from "../errors.ts";
import { errorText } from "../model/texts.ts";
import { announce } from "./failure_log.ts";
import type { RunnerDeps } from "./runner_deps.ts";
import { passOn } from "./flow/gate.ts";
import { runTime } from "./run_time.ts";
import { checkOwner } from "./owner_check.ts";

/** Faults of loading that stay as long as the code and what is stored stay as they are. */
const LASTING = ["CHECKPOINT_DECODE", "UNKNOWN_VERTEX", "MIGRATION"];

/**
 * Halts a run that this code cannot load, so that it is listed with its reason instead of being tried for ever; a resume
 * by code that can load it goes on where it stood. False when the fault may pass, or when not even a halt can be recorded.
 */
export async function haltUnloadable<S>(
  deps: RunnerDeps<S>,
  runId: string,
  fault: unknown,
): Promise<boolean> {
  if (!isSuperstepError(fault, ...LASTING)) return false;
  const { log, runtime } = deps;
  let cursor;
  try {
    cursor = await log.load(runId, { state: false });
  } catch (error) {
    if (isSuperstepError(error, ...LASTING)) return false;
    throw error;
  }
  if (cursor === undefined) return false;
  const { checkpoint: before } = cursor;
  const { absent } = await checkOwner(deps, before);
  const { step } = before.run;
  const events: readonly RecordEvent[] = [
    { type: "halted", halt: { kind: "load_fault", step, message: errorText(messageOf(fault)) } },
  ];
  const at = runTime(runtime, before.run);
  const limited = before.run.flow === undefined
    ? undefined
    : await deps.flow.leave(before.run, cursor.mailbox.content, "waiting", at);
  const { checkpoint } = await revise(log, cursor, at, [...events, ...limited?.events ?? []], {
    absent,
    stateless: true,
    cells: limited?.cells,
  });
  if (limited !== undefined) await passOn(deps, limited.passOn);
  announce(deps.hooks, deps.logger, before, checkpoint, events);
  deps.logger.warn(`superstep: run ${runId} is halted, because this code cannot load it`, {
    runId,
    problem: messageOf(fault),
  });
  return true;
}
