import type { Cursor } from "../checkpoint/cursor.ts";
import { appendHints } from "../checkpoint/hints.ts";
import type { RecordEvent } from "../checkpoint/records.ts";
import { isSuperstepError } from "../errors.ts";
import type { Checkpoint } from "../model/checkpoint.ts";
import type { RunEvent } from "./events.ts";
import type { Runtime, Timer } from "../runtime/runtime.ts";
import type { EmitPlace, Position, Store } from "../store/store.ts";
import type { RunnerDeps, RunSettings } from "./runner_deps.ts";
import { BATCH_BYTES, decodeEmits, emitEvent, type Emitted, encodeEmit, encodeEmits } from "./emits.ts";

/** How long an emit waits for others, in milliseconds. */
const GATHER_MS = 40;
/** How long emits are kept after their executions have settled, in milliseconds. */
const KEPT_MS = 60_000;
/** The most bytes that are kept of a run. */
const KEPT_BYTES = 4 * 1024 * 1024;
/** How many batches of earlier writers are looked at. */
const EARLIER = 1_000;

/**
 * Carries what the bodies of one claim emit to the channel of the store.
 *
 * 1. Emits are written in order, in batches, at most {@link GATHER_MS} late, and before the record that follows them.
 * 2. No body waits for it. What cannot be written is dropped, which readers can tell: emits are counted.
 * 3. Batches go once all executions in them have settled {@link KEPT_MS} ago, and the oldest ones beyond
 *    {@link KEPT_BYTES}. Those of an earlier writer are taken over.
 */
export class EmitWriter {
  readonly #store: Store;
  readonly #runtime: Runtime;
  readonly #runId: string;
  readonly #cursor: () => Pick<Cursor<unknown>, "checkpoint" | "position">;
  readonly #tell: (event: RunEvent) => void;
  /** Where it goes too: to the run that called this one. */
  readonly #caller: RunSettings["emits"];
  readonly #queue: { readonly bytes: Uint8Array; readonly key: string }[] = [];
  readonly #kept: Kept[] = [];
  readonly #settledAt = new Map<string, number>();
  #keptBytes = 0;
  #queuedBytes = 0;
  #bodies = 0;
  /** The revision at which it began to write: no other writer of the run has it. */
  #since: number | undefined;
  /** How many emits were written or dropped. */
  #index = 0;
  #place: EmitPlace | undefined;
  #writing: Promise<void> | undefined;
  /** A record that is being appended, after which the head is elsewhere. */
  appending: Promise<unknown> | undefined;
  #timer: Timer | undefined;
  #sweep: Timer | undefined;
  #known = false;
  #ended = false;
  #lost = false;

  /** @param cursor The run as far as it is durable; after its claim when there are bodies. */
  constructor(
    { store, runtime }: Pick<RunnerDeps<unknown>, "store" | "runtime">,
    { emits }: RunSettings,
    cursor: () => Pick<Cursor<unknown>, "checkpoint" | "position">,
    tell: (event: RunEvent) => void,
  ) {
    this.#store = store;
    this.#runtime = runtime;
    this.#caller = emits;
    this.#cursor = cursor;
    this.#tell = tell;
    this.#runId = cursor().checkpoint.run.runId;
    this.#lost = store.emits === undefined;
  }

  get #head(): Position {
    return this.#cursor().position;
  }

  get #writer(): number {
    return this.#since ??= this.#head.revision;
  }

  /** A name for a body that begins to emit. */
  nextBody(): string {
    return `${this.#writer}.${++this.#bodies}`;
  }

  /** Sends on what a body of this run emits. */
  send(emit: Emitted): void {
    this.#tell(emitEvent(emit));
    this.add(emit);
  }

  /** Sends on what a body emits, of this run or of one that works for it, to readers in any process. */
  add(emit: Emitted): void {
    this.#caller?.(emit);
    if (this.#lost) return;
    const step = this.#cursor().checkpoint.nextStep;
    const bytes = encodeEmit(emit);
    this.#queue.push({ bytes, key: emit.runId === this.#runId ? keyOf(emit) : calledIn(step) });
    this.#queuedBytes += bytes.length;
    while (this.#queuedBytes > KEPT_BYTES && this.#queue.length > 1) this.#skip();
    this.#timer ??= this.#runtime.wakeIn(GATHER_MS, () => this.flush(), { keepAlive: false });
  }

  /** Writes what there is. */
  flush(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    if (this.#queue.length > 0) this.#write();
  }

  /** Writes what there is, where there is any: a record that follows it is appended then. */
  written(): Promise<void> | undefined {
    this.flush();
    return this.#writing;
  }

  /** Executions have settled. */
  settled({ nextStep: step }: Checkpoint, events: readonly RecordEvent[]): void {
    if (this.#kept.length === 0 && this.#queue.length === 0) return;
    const now = this.#runtime.elapsed();
    for (const event of events) {
      if (event.type === "done" || event.type === "failed") {
        this.#settledAt.set(keyOf({ ...event, step }), now);
      } else if (event.type === "routed") this.#settledAt.set(calledIn(step), now);
    }
    this.#watch();
  }

  /** This process is no longer at work on the run: what is left is written, and goes in its time. */
  end(): void {
    this.#ended = true;
    this.flush();
    this.#watch();
  }

  #write(): void {
    this.#writing ??= this.#writeAll().finally(() => {
      this.#writing = undefined;
      this.#watch();
    });
  }

  async #writeAll(): Promise<void> {
    while (!this.#lost) {
      const { appending } = this;
      await appending?.catch(() => {});
      if (this.appending === appending) this.appending = undefined;
      const dropped = this.#due();
      const next = this.#next();
      if (next === undefined && dropped.length === 0) return;
      await this.#add(next, dropped);
    }
  }

  async #add(next: Next | undefined, dropped: readonly Kept[]): Promise<void> {
    const at = this.#head;
    try {
      if (!this.#known) await this.#takeOver(at);
      const number = this.#place?.revision === at.revision ? this.#place.number : 0;
      const batches = next === undefined ? [undefined] : next.batches;
      for (const [i, bytes] of batches.entries()) {
        const place = { revision: at.revision, number: number + i };
        await this.#store.emits!.add(this.#runId, at, {
          ...(bytes === undefined ? {} : { batch: { ...place, bytes } }),
          ...(i > 0 ? {} : { dropped: dropped.map(({ place }) => place) }),
        });
        if (bytes !== undefined) this.#keep({ place, size: bytes.length, keys: next!.keys });
      }
      this.#forget(dropped);
      if (next === undefined) return;
      this.#place = { revision: at.revision, number: number + Math.max(next.count, next.batches.length) };
      this.#take(next.count);
      appendHints(this.#store).tell(this.#runId);
    } catch (error) {
      // The head has moved: by this process, which knows it now or soon, or the run is another's.
      const isOwn = this.appending !== undefined || this.#head !== at;
      if (isSuperstepError(error, "REVISION_CONFLICT") && isOwn) return;
      if (!isSuperstepError(error, "STORE") || this.#ended) {
        this.#lost = true;
        return;
      }
      if (next !== undefined) this.#take(next.count);
      this.#forget(dropped);
    }
  }

  #forget(dropped: readonly Kept[]): void {
    this.#kept.splice(0, dropped.length);
    for (const { size } of dropped) this.#keptBytes -= size;
  }

  /** The next batch: as many emits as fit, or one that is larger, in slices. */
  #next(): Next | undefined {
    const first = this.#queue[0];
    if (first === undefined) return undefined;
    if (first.bytes.length > BATCH_BYTES) {
      const of = Math.ceil(first.bytes.length / BATCH_BYTES);
      const batches = Array.from({ length: of }, (_, i) => {
        const bytes = first.bytes.subarray(i * BATCH_BYTES, (i + 1) * BATCH_BYTES);
        return encodeEmits(this.#writer, this.#index, [], { i, of, bytes }).slice();
      });
      return { batches, count: 1, keys: new Set([first.key]) };
    }
    let size = 0;
    const emits = [];
    for (const { bytes } of this.#queue) {
      size += bytes.length + 8;
      if (size > BATCH_BYTES && emits.length > 0) break;
      emits.push(bytes);
    }
    const keys = new Set(this.#queue.slice(0, emits.length).map(({ key }) => key));
    return { batches: [encodeEmits(this.#writer, this.#index, emits).slice()], count: emits.length, keys };
  }

  #take(count: number): void {
    for (let i = 0; i < count; i++) this.#skip();
  }

  #skip(): void {
    this.#queuedBytes -= this.#queue.shift()!.bytes.length;
    this.#index++;
  }

  /** What an earlier writer has left is kept and dropped here from now on. */
  async #takeOver(at: Position): Promise<void> {
    if (this.#writer > 0) {
      const left = await this.#store.emits!.read(this.#runId, at.epoch, undefined, EARLIER);
      for (const batch of left) {
        const { revision, number, bytes } = batch;
        let keys: ReadonlySet<string> = new Set();
        try {
          const { emits } = decodeEmits(this.#runId, batch);
          keys = new Set(emits.map((emit) => emit.runId === this.#runId ? keyOf(emit) : calledIn(-1)));
        } catch {
          // It goes with the others.
        }
        for (const key of keys) if (!key.startsWith(`${this.#step()}/`)) this.#settledAt.set(key, 0);
        this.#keep({ place: { revision, number }, size: bytes.length, keys });
      }
    }
    this.#known = true;
  }

  /** The step of the newest emit: what earlier ones emitted has settled. */
  #step(): string {
    return this.#queue.at(-1)?.key.split("/", 1)[0] ?? "";
  }

  #keep(kept: Kept): void {
    this.#kept.push(kept);
    this.#keptBytes += kept.size;
  }

  /** The oldest batches, as far as they go now. */
  #due(): readonly Kept[] {
    const now = this.#runtime.elapsed();
    let bytes = this.#keptBytes;
    const due = this.#kept.findIndex((kept) => {
      const goes = bytes > KEPT_BYTES || this.#dueAt(kept) <= now;
      bytes -= kept.size;
      return !goes;
    });
    return this.#kept.slice(0, due === -1 ? this.#kept.length : Math.min(due, EARLIER / 2));
  }

  #dueAt({ keys }: Kept): number {
    let last = 0;
    for (const key of keys) {
      const settled = this.#settledAt.get(key) ?? (this.#ended ? this.#runtime.elapsed() : Infinity);
      if (this.#ended && !this.#settledAt.has(key)) this.#settledAt.set(key, settled);
      last = Math.max(last, settled);
    }
    return last + KEPT_MS;
  }

  /** Sets the timer after which the oldest batch goes. */
  #watch(): void {
    const oldest = this.#kept[0];
    if (oldest === undefined || this.#writing !== undefined || this.#lost || this.#sweep !== undefined) {
      return;
    }
    const due = this.#dueAt(oldest);
    if (due === Infinity) return;
    this.#sweep = this.#runtime.wakeIn(Math.max(0, due - this.#runtime.elapsed()), () => {
      this.#sweep = undefined;
      this.#write();
    }, { keepAlive: false });
  }
}

/** A batch that is kept. */
interface Kept {
  readonly place: EmitPlace;
  readonly size: number;
  /** The executions that it is of. */
  readonly keys: ReadonlySet<string>;
}

/** What is written next. */
interface Next {
  readonly batches: readonly Uint8Array[];
  readonly count: number;
  readonly keys: ReadonlySet<string>;
}

/** An execution of the run. */
function keyOf({ step, vertexId, item }: Pick<Emitted, "step" | "vertexId" | "item">): string {
  return `${step}/${vertexId}/${item ?? ""}`;
}

/** What is called in a step of the run. */
function calledIn(step: number): string {
  return `${step}//called`;
}
