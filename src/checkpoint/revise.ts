import { evolve } from "./evolve.ts";
import type { CheckpointLog, Cursor, RecordWrite } from "./log.ts";
import type { RecordEvent } from "./records.ts";

/** Appends what is done to a run from outside: no body has a part in it, and it tells of no outcome. */
export async function revise<S>(
  log: CheckpointLog<S>,
  cursor: Cursor<S>,
  at: number,
  events: readonly RecordEvent[],
  write: Omit<RecordWrite<S>, "events" | "checkpoint">,
): Promise<Cursor<S>> {
  const checkpoint = evolve(cursor.checkpoint, events, cursor.checkpoint.run.revision + 1, at);
  return await log.append(cursor, { ...write, events, checkpoint });
}
