import { isSuperstepError } from "../errors.ts";
import type { Cell, CellChange, CellName, Store } from "../store/store.ts";

/** What became of a tick of a schedule. */
export interface TickFate {
  /** The tick, in milliseconds since the epoch. */
  readonly tick: number;
  /**
   * `started`: its run is stored · `queued`: its run is started when the one before is over · `skipped`: that one was not
   * over · `missed`: nobody was there, and `onMissed` leaves it out · `paused` · `refused`: it has no input that is accepted
   */
  readonly fate: "started" | "queued" | "skipped" | "missed" | "paused" | "refused";
  /** Its run. */
  readonly runId?: string;
}

/** What is known of a schedule: one cell, written with every run that it starts, and kept whatever is purged. */
export interface ScheduleMark {
  /** The graph whose runs it starts. */
  readonly graphId: string;
  /** The schedule in that graph. */
  readonly scheduleId: string;
  /** The cron expression, as the newest version has it. */
  readonly expression: string;
  /** Its time zone. */
  readonly timezone: string;
  /** Up to this time every tick has its fate, in milliseconds since the epoch. */
  readonly tick: number;
  /** The user version of the worker that wrote this. */
  readonly version: number;
  /** Whether it starts nothing for now. */
  readonly paused: boolean;
  /** The run that was started last, if any was. */
  readonly runId?: string;
  /** Ticks whose runs are started one after the other, as soon as the run before is over. */
  readonly queue: readonly number[];
  /** What became of the newest ticks, the newest first. */
  readonly fates: readonly TickFate[];
}

/** A mark as it was read; its version is demanded by whoever writes the next one. */
export interface FoundMark {
  readonly mark: ScheduleMark | undefined;
  readonly version: string | null;
}

const SPACE = "schedules";
const MOST_FATES = 20;

/** The cell of a schedule. */
export function markCell(graphId: string, scheduleId: string): CellName {
  return { space: SPACE, name: `${graphId}/${scheduleId}` };
}

/** The mark of a schedule, if it has one. */
export async function readMark(store: Store, graphId: string, scheduleId: string): Promise<FoundMark> {
  const [cell = null] = await store.cells.read([markCell(graphId, scheduleId)]);
  return { mark: cell === null ? undefined : markOf(cell), version: cell?.version ?? null };
}

/** The change that puts another mark in the place of the one found. */
export function markChange({ version }: FoundMark, mark: ScheduleMark): CellChange {
  const kept = { ...mark, fates: mark.fates.slice(0, MOST_FATES) };
  return {
    ...markCell(mark.graphId, mark.scheduleId),
    version,
    value: new TextEncoder().encode(JSON.stringify(kept)),
  };
}

function markOf({ value }: Cell): ScheduleMark {
  return JSON.parse(new TextDecoder().decode(value)) as ScheduleMark;
}

/**
 * The schedules that workers of a store have followed, by graph and schedule, with what became of their newest ticks.
 *
 * @example
 * ```ts ignore
 * for (const { graphId, scheduleId, fates } of await listSchedules(store)) console.log(graphId, scheduleId, fates[0]?.fate);
 * ```
 */
export async function listSchedules(store: Store): Promise<readonly ScheduleMark[]> {
  const cells: Cell[] = [];
  for (;;) {
    const after = cells.at(-1)?.name;
    const page = await store.cells.list(SPACE, { limit: PAGE, ...(after === undefined ? {} : { after }) });
    cells.push(...page);
    if (page.length < PAGE) return cells.map(markOf);
  }
}

/**
 * Pauses a schedule, or has it go on: its ticks get the fate `paused` meanwhile, and none of them is started later.
 *
 * @returns Whether there is such a schedule: one that a worker has followed before.
 */
export async function pauseSchedule(
  store: Store,
  { graphId, scheduleId }: Pick<ScheduleMark, "graphId" | "scheduleId">,
  paused = true,
): Promise<boolean> {
  for (;;) {
    const found = await readMark(store, graphId, scheduleId);
    if (found.mark === undefined) return false;
    try {
      await store.cells.write({
        writeId: `pause/${found.version}/${paused}`,
        cells: [markChange(found, { ...found.mark, paused })],
      });
      return true;
    } catch (error) {
      if (!isSuperstepError(error, "CELL_CONFLICT")) throw error;
    }
  }
}

const PAGE = 1_000;
