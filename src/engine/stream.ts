import { appendHints } from "../checkpoint/hints.ts";
import { ArgumentError, CheckpointNotFoundError, StoreError } from "../errors.ts";
import type { Duration } from "../model/durations.ts";
import { Alarm } from "../runtime/alarm.ts";
import { perObject } from "../runtime/per_object.ts";
import type { EmitPlace, Emits, Inspection, Position, Store } from "../store/store.ts";
import { decodeEmit, decodeEmits, type EmitsContent, type Emitted } from "./emits.ts";
import { type HistoryEntry, HistoryFold } from "./history.ts";
import { checkedRunId, span } from "./options.ts";
import { POLL_MS } from "./ownership.ts";
import type { RunnerDeps } from "./runner_deps.ts";

/** Options of `runner.events`. */
export interface StreamOptions {
  /** The id of the last event that was seen. @default the beginning of the run */
  readonly after?: string;
  /** How often the store is asked for more, at least; while the run is at work it is asked more often. @default "1s" */
  readonly poll?: Duration;
  /** Whether what bodies emit is wanted; without it the store needs no channel. @default true */
  readonly emits?: boolean;
  /** Aborting it ends the iteration. */
  readonly signal?: AbortSignal;
}

/** What happens to a run, as any process can follow it; `id` is what `after` takes. */
export type StreamEvent =
  /** A record of the run. */
  | { readonly type: "checkpoint"; readonly id: string; readonly entry: HistoryEntry }
  /** Something that a body emitted. */
  | ({ readonly type: "emit"; readonly id: string } & Emitted)
  /** The body of an execution runs again: what the one before it emitted is not what the execution comes to. */
  | {
    readonly type: "replaced";
    readonly id: string;
    readonly runId: string;
    readonly vertexRunId: string;
    /** The body that emits now. */
    readonly body: string;
    /** The one before it. */
    readonly replaces: string;
  }
  /** Emits that are kept no more, or could not be written. */
  | { readonly type: "gap"; readonly id: string; readonly count: number };

/** So many records or batches are read at once. */
const PAGE = 64;
/** The first pause between two looks; each one after it is twice as long. */
const FIRST_PAUSE_MS = 50;
/** The longest one while a process is at work on the run. */
const AT_WORK_MS = 200;

/**
 * The records of a run and what its bodies emit, in order.
 *
 * 1. Every record comes once, and what was emitted between two of them comes between them, whichever process has it from
 *    whom. What was dropped is told by a gap.
 * 2. The iteration ends after the record that ends the run. A paused run is followed on.
 * 3. Nothing is read while the reader does not ask; readers in one process who are at the same place share what is read.
 */
export async function* streamed<S>(
  { store, log, runtime }: RunnerDeps<S>,
  runId: string,
  options: StreamOptions,
): AsyncGenerator<StreamEvent, void, undefined> {
  checkedRunId(runId, "events");
  const channel = options.emits === false ? undefined : store.emits;
  if (channel === undefined && options.emits !== false) {
    throw new StoreError(
      "events",
      `the store ${store.info.name} keeps nothing of what bodies emit; use follow`,
      { runId },
    );
  }
  const { signal } = options;
  const slowest = span(options.poll, POLL_MS, "events", "poll");
  const reads = sharedReads(store);
  const after = placeOf(options.after);
  let next = after === undefined ? 0 : after.revision + 1;
  const emits = new EmitReader(after);
  const fold = new HistoryFold(log, runId);
  const alarm = new Alarm(runtime);
  const unlisten = appendHints(store).listen(runId, () => {
    reads.forget(runId);
    alarm.ring();
  });
  let pause = FIRST_PAUSE_MS;
  let first: Position | undefined;
  let begun = false;
  try {
    for (;;) {
      const { rings } = alarm;
      const { head, batches } = await reads.look(runId, channel, emits.place, runtime.elapsed());
      if (head === null || (first ??= head.position).epoch !== head.position.epoch) {
        throw new CheckpointNotFoundError(runId);
      }
      const { revision } = head.position;
      if (!begun) await begin(revision);
      for (const batch of batches) {
        if (batch.revision > revision) break;
        while (next <= batch.revision) yield* await page(batch.revision);
        yield* emits.take(batch);
        pause = FIRST_PAUSE_MS;
      }
      if (batches.length === PAGE && batches.at(-1)!.revision <= revision) continue;
      for (; next <= revision; pause = FIRST_PAUSE_MS) yield* await page(revision);
      if (fold.isOver) return;
      await alarm.sleep(pause, rings, signal);
      if (signal?.aborted) return;
      pause = Math.min(2 * pause, head.owner === null ? slowest : Math.min(slowest, AT_WORK_MS));
    }
  } catch (error) {
    if (signal?.aborted !== true) throw error;
  } finally {
    unlisten();
  }

  async function begin(revision: number): Promise<void> {
    begun = true;
    if (next > revision + 1) {
      throw new ArgumentError(
        "events",
        `after is ${
          JSON.stringify(options.after)
        }, and run ${runId} has the revisions 0 to ${revision}; give the id of an event`,
      );
    }
    // Whether the run is over is what its newest record says.
    if (next <= revision) return;
    for (const record of await log.history(runId, revision, 1, signal)) await fold.take(record);
  }

  /** Records from the next one on, up to that revision. */
  async function page(to: number): Promise<readonly StreamEvent[]> {
    const events: StreamEvent[] = [];
    for (const record of await log.history(runId, next, Math.min(PAGE, to - next + 1), signal)) {
      next = record.revision + 1;
      events.push({ type: "checkpoint", id: `${record.revision}`, entry: await fold.take(record) });
    }
    if (events.length === 0) throw new CheckpointNotFoundError(runId, next);
    return events;
  }
}

/** What one look at a run finds: the head, and then batches up to it. */
interface Look {
  readonly head: Inspection["head"];
  readonly batches: readonly (EmitPlace & { readonly content: EmitsContent })[];
}

/** Readers in one process that are at the same place of a run share what they read. */
class SharedReads {
  readonly #store: Store;
  readonly #looks = new Map<string, Map<string, { readonly at: number; readonly look: Promise<Look> }>>();

  constructor(store: Store) {
    this.#store = store;
  }

  /** @param now Elapsed time, in milliseconds. */
  look(
    runId: string,
    channel: Emits | undefined,
    place: EmitPlace | undefined,
    now: number,
  ): Promise<Look> {
    const looks = this.#looks.get(runId) ?? new Map();
    const key = channel === undefined ? "none" : place === undefined ? "" : idOf(place);
    const known = looks.get(key);
    if (known !== undefined && now - known.at < SHARED_MS) return known.look;
    for (const [other, { at }] of looks) if (now - at >= SHARED_MS) looks.delete(other);
    const look = this.#look(runId, channel, place);
    this.#looks.set(runId, looks.set(key, { at: now, look }));
    look.catch(() => looks.delete(key));
    if (this.#looks.size > MANY_RUNS) this.#looks.clear();
    return look;
  }

  /** Something has happened to the run. */
  forget(runId: string): void {
    this.#looks.delete(runId);
  }

  async #look(runId: string, channel: Emits | undefined, place: EmitPlace | undefined): Promise<Look> {
    const { head } = await this.#store.inspect(runId, 0, undefined);
    if (head === null) return { head, batches: [] };
    const batches = await channel?.read(runId, head.position.epoch, place, PAGE) ?? [];
    return {
      head,
      batches: batches.map((batch) => ({
        revision: batch.revision,
        number: batch.number,
        content: decodeEmits(runId, batch),
      })),
    };
  }
}

const sharedReads: (store: Store) => SharedReads = perObject((store) => new SharedReads(store));
/** For how long a look is new, in milliseconds. */
const SHARED_MS = 25;
const MANY_RUNS = 1_000;

/** Makes events of batches, in order. */
class EmitReader {
  /** The body that emitted last, of each execution. */
  readonly #bodies = new Map<string, string>();
  /** The emits up to this one were seen. */
  readonly #seen: EmitPlace | undefined;
  #place: EmitPlace | undefined;
  #writer: number | undefined;
  /** How many emits of this writer there were. */
  #index = 0;
  #slices: Uint8Array[] = [];

  constructor(seen: EmitPlace | undefined) {
    this.#seen = seen;
  }

  /** The batch that was taken last; what was seen before is read again, for what the bodies are. */
  get place(): EmitPlace | undefined {
    return this.#place;
  }

  *take({ revision, number, content }: Look["batches"][number]): Generator<StreamEvent> {
    const { writer, index, emits, slice } = content;
    this.#place = { revision, number };
    if (slice === undefined) {
      yield* this.#count(writer, index, emits.length);
      for (const [i, emit] of emits.entries()) yield* this.#tell({ revision, number: number + i }, emit);
      return;
    }
    if (slice.i === 0) this.#slices = [];
    this.#slices.push(slice.bytes);
    if (slice.i + 1 < slice.of) return;
    const slices = this.#slices;
    this.#slices = [];
    const isWhole = slices.length === slice.of;
    yield* this.#count(writer, isWhole ? index : index + 1, isWhole ? 1 : 0);
    if (isWhole) yield* this.#tell(this.#place, decodeEmit(joined(slices)));
  }

  /** Tells of emits that are missing before those that come. */
  *#count(writer: number, index: number, count: number): Generator<StreamEvent> {
    const missing = index - (writer === this.#writer ? this.#index : 0);
    if (missing > 0 && !this.#isSeen(this.#place!)) {
      yield { type: "gap", id: idBefore(this.#place!), count: missing };
    }
    this.#writer = writer;
    this.#index = index + count;
  }

  *#tell(place: EmitPlace, emit: Emitted): Generator<StreamEvent> {
    const { runId, vertexRunId, body } = emit;
    const execution = `${runId}/${vertexRunId}`;
    const before = this.#bodies.get(execution);
    this.#bodies.set(execution, body);
    if (this.#isSeen(place)) return;
    const id = idOf(place);
    if (before !== undefined && before !== body) {
      yield { type: "replaced", id: idBefore(place), runId, vertexRunId, body, replaces: before };
    }
    yield { type: "emit", id, ...emit };
  }

  #isSeen({ revision, number }: EmitPlace): boolean {
    const seen = this.#seen;
    if (seen === undefined) return false;
    return revision < seen.revision || revision === seen.revision && number <= seen.number;
  }
}

function joined(slices: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(slices.reduce((sum, slice) => sum + slice.length, 0));
  let at = 0;
  for (const slice of slices) {
    bytes.set(slice, at);
    at += slice.length;
  }
  return bytes;
}

const idOf = ({ revision, number }: EmitPlace): string => `${revision}.${number}`;

/** Behind what comes before a place. */
function idBefore({ revision, number }: EmitPlace): string {
  return number === 0 ? `${revision}` : idOf({ revision, number: number - 1 });
}

/** The place of an id: that of a record comes before what was emitted after it. */
function placeOf(id: string | undefined): EmitPlace | undefined {
  if (id === undefined) return undefined;
  const [, revision, number] = /^(\d{1,15})(?:\.(\d{1,15}))?$/.exec(id) ?? [];
  if (revision === undefined) {
    throw new ArgumentError(
      "events",
      `after is ${JSON.stringify(id)}; give the id of an event, such as "7" or "7.3"`,
    );
  }
  return { revision: Number(revision), number: number === undefined ? -1 : Number(number) };
}
