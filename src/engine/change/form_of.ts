import type { CheckpointLog } from "../../checkpoint/log.ts";
import type { RunRecord } from "../../model/run.ts";

/** The canonical form of the graph that a run is under; empty where no record that is still stored tells it. */
export async function formOf<S>(log: CheckpointLog<S>, run: RunRecord): Promise<string> {
  const { runId, revision, versionSince } = run;
  const first = versionSince ?? 0;
  const records = await log.history(runId, first, versionSince === undefined ? BEGINNING : 1);
  for (const record of [...records].reverse()) {
    if (record.revision > revision) continue;
    const told = record.events.findLast((e) =>
      e.type === "created" || e.type === "forked" || e.type === "adopted" || e.type === "migrated"
    );
    if (told !== undefined) return told.form;
  }
  return "";
}

/** Runs that say nothing of where they moved did so before they had begun. */
const BEGINNING = 20;
