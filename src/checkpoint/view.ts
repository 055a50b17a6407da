import type { InterruptReason, Phase, RunRecord, RunStatus } from "../model/run.ts";
import type { RecordEvent } from "./records.ts";

/** The revisions that hold what the records after them do not repeat. */
export interface Places {
  /** The newest snapshot. */
  readonly snapshot: number;
  /** The newest record that told the frontier: a snapshot, or one with `routed`. */
  readonly routed: number;
  /** The newest record that told the owner: a snapshot, or one with `claimed`. */
  readonly claimed: number;
}

/** What a run was after a record, so that a history is shown without what comes before. */
export interface View extends Places {
  readonly status: RunStatus;
  readonly reason?: InterruptReason;
  readonly phase: Phase;
  readonly step: number;
  readonly owned: boolean;
}

/** The places as of the record of a revision. */
export function placesAfter(
  before: Places | undefined,
  events: readonly RecordEvent[],
  revision: number,
): Places {
  const { snapshot, routed, claimed } = before ?? { snapshot: revision, routed: revision, claimed: revision };
  return {
    snapshot,
    routed: events.some((e) => e.type === "routed") ? revision : routed,
    claimed: events.some((e) => e.type === "claimed") ? revision : claimed,
  };
}

// Stored: what is new comes last.
const STATUSES: readonly RunStatus[] = ["running", "completed", "interrupted", "cancelled"];
const PHASES: readonly Phase[] = ["routed", "running", "paused", "halted"];
const REASONS: readonly (InterruptReason | undefined)[] = [
  undefined,
  "halted",
  "errored",
  "awaiting",
  "sleeping",
];

/** The view of a record as numbers: how far back the places are, 0 for no owner, the step, and a code of the rest. */
export function packView(places: Places, run: RunRecord, phase: Phase): readonly number[] {
  const { revision, owner, step, status, reason } = run;
  return [
    revision - places.snapshot,
    revision - places.routed,
    owner === undefined ? 0 : revision - places.claimed + 1,
    step,
    STATUSES.indexOf(status) + 4 * PHASES.indexOf(phase) + 16 * REASONS.indexOf(reason),
  ];
}

/** What the numbers say of the record of a revision; `undefined` when they are no view. */
export function unpackView(packed: readonly number[], revision: number): View | undefined {
  const [snapshot = -1, routed = -1, claimed = -1, step = -1, code = -1, ...more] = packed;
  const status = STATUSES[code & 3];
  const phase = PHASES[(code >> 2) & 3];
  if (more.length > 0 || snapshot > revision || routed > revision || claimed > revision + 1) return undefined;
  if (code < 0 || code >> 4 >= REASONS.length || status === undefined || phase === undefined) {
    return undefined;
  }
  const reason = REASONS[code >> 4];
  return {
    snapshot: revision - snapshot,
    routed: revision - routed,
    claimed: claimed === 0 ? revision : revision - claimed + 1,
    owned: claimed > 0,
    step,
    status,
    phase,
    ...(reason === undefined ? {} : { reason }),
  };
}
