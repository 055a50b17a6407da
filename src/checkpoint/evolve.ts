import { type Checkpoint, type Execution, executionKey, extended } from "../model/checkpoint.ts";
import { defined } from "../model/defined.ts";
import { isOfPool } from "../model/flow.ts";
import { hasEnded } from "../model/run.ts";
import { openingKey, type WaitState } from "../model/wait.ts";
import { freshExecution } from "./beginning.ts";
import type { EventOf, RecordEvent } from "./records.ts";
import { underNewNames } from "./new_names.ts";

/**
 * The fold of record events into a checkpoint: the one definition of what a record means, used by the engine when it
 * writes and by the log when it loads, so that a run in memory and a run read back are the same by construction.
 *
 * 1. Pure: a new checkpoint is returned, the given one is never touched.
 * 2. An execution that has recorded nothing is absent; the first event about it makes it.
 * 3. Results are numbered in the order of their `once` and `resolved` events, for ever.
 * 4. Any record but a claim, a release, a reopening, a return, an update or one about permits is progress and resets the
 *    recovery count.
 */
export function evolve(
  checkpoint: Checkpoint,
  events: readonly RecordEvent[],
  revision: number,
  at: number,
): Checkpoint {
  const evolution = new Evolution(checkpoint);
  evolution.apply(events, at);
  return evolution.end(revision, at);
}

const NONE: ReadonlyMap<string, readonly string[]> = new Map();

/** What moves no run on. */
const NO_PROGRESS: ReadonlySet<string> = new Set<RecordEvent["type"]>(
  [
    "created",
    "forked",
    "adopted",
    "migrated",
    "claimed",
    "released",
    "retried",
    "reopened",
    "returned",
    "updated",
    "queued",
    "granted",
    "freed",
  ],
);

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** A fold under way: it copies each table once, however many events touch it. */
export class Evolution {
  readonly #next: Mutable<Checkpoint>;
  readonly #run: Mutable<Checkpoint["run"]>;
  #executions: Map<string, Execution> | undefined;
  #maps: Map<string, { count: number; digest: string }> | undefined;
  #moved = false;

  constructor(checkpoint: Checkpoint) {
    this.#run = { ...checkpoint.run };
    this.#next = { ...checkpoint, run: this.#run };
  }

  /** The checkpoint as far as it has evolved; the next event changes it in place. */
  get checkpoint(): Checkpoint {
    return this.#next;
  }

  apply(events: readonly RecordEvent[], at: number): void {
    for (const event of events) this.#apply(event, at);
  }

  /** The finished checkpoint. Nothing may be applied afterwards. */
  end(revision: number, at: number): Checkpoint {
    this.#run.revision = revision;
    this.#run.updatedAt = at;
    if (this.#moved) this.#run.versionSince = revision;
    return this.#next;
  }

  #apply(event: RecordEvent, at: number): void {
    if (!NO_PROGRESS.has(event.type)) this.#run.recoveries = 0;
    switch (event.type) {
      case "created":
      case "forked":
        return;
      case "adopted":
        return this.#move(event);
      case "migrated":
        Object.assign(this.#next, underNewNames(this.#next, event.vertices));
        this.#executions = this.#maps = undefined;
        return this.#move(event);
      case "claimed":
        return this.#claim(event, at);
      case "released":
        return this.#release(event, at);
      case "retried":
        return this.#retry(event);
      case "reopened":
        return this.#reopen(event);
      case "returned":
        return this.#change(event, (x) => ({
          status: x.status === "suspended" ? "pending" : x.status,
          ...(event.slow === true ? { returns: (x.returns ?? 0) + 1 } : {}),
        }));
      case "updated":
        return this.#update(event);
      case "queued":
        return this.#queue(event);
      case "granted":
        // Those of pools are held by bodies.
        if (isOfPool(event.permit)) return;
        this.#run.permits = [...this.#run.permits ?? [], { permit: event.permit, n: event.n }];
        return;
      case "freed":
        if (isOfPool(event.permit)) return;
        this.#run.permits = this.#run.permits?.filter(({ permit }) => permit !== event.permit) ?? [];
        if (this.#run.permits.length === 0) delete this.#run.permits;
        return;
      case "mapped":
        this.#maps ??= new Map(this.#next.maps);
        this.#maps.set(event.vertexId, { count: event.count, digest: event.digest });
        this.#next.maps = this.#maps;
        // A resume has set the vertex back as a whole, since it had failed before it was split.
        if (this.#next.executions.has(event.vertexId)) this.#drop(event.vertexId);
        return this.#begin();
      case "attempt_failed":
        return this.#change(event, (x) => ({
          status: "backoff",
          nextAt: event.nextAt,
          spentMs: event.spentMs,
          failedAttempts: [...x.failedAttempts, {
            attempt: event.failure.attempt,
            at: event.at,
            failure: event.failure,
          }],
        }));
      case "once":
        return this.#change(event, (x) => ({
          once: new Map(x.once).set(event.name, event.value),
          onceSeq: new Map(x.onceSeq).set(event.name, x.results + 1),
          results: x.results + 1,
        }));
      case "opened": {
        const { type: _, vertexId: __, item: ___, ...wait } = event;
        return this.#change(event, (x) => ({ waits: new Map(x.waits).set(event.id, wait) }));
      }
      case "resolved":
        return this.#change(event, (x) => ({
          status: x.status === "suspended" ? "pending" : x.status,
          results: x.results + 1,
          waits: edited(x.waits, event.id, (w) => ({ ...w, result: event.result, seq: x.results + 1 })),
        }));
      case "closed":
        return this.#change(event, (x) => ({
          waits: edited(x.waits, event.id, (w) => ({ ...w, closed: event.reason })),
        }));
      case "suspended":
        return this.#change(event, () => ({ status: "suspended", spentMs: event.spentMs }));
      case "done":
        return this.#change(event, () => ({
          status: "done",
          startedAt: event.startedAt,
          endedAt: event.at,
          ...("output" in event ? { output: event.output } : {}),
        }));
      case "failed":
        // A second failure replaces the first whole: a faulty `record` must not keep the handler it belonged to.
        return this.#change(event, ({ handler: _, stack: __, ...x }) => ({
          ...x,
          status: "failed",
          startedAt: event.startedAt,
          endedAt: event.at,
          failure: event.failure,
          ...defined({ handler: event.handler, stack: event.stack }),
        }), true);
      case "folded":
        this.#next.folded = true;
        this.#next.finishRan ||= event.finish;
        this.#next.path = extended(this.#next.path, this.#next.frontier);
        return;
      case "routed":
        return this.#route(event);
      case "halted":
        this.#next.phase = "halted";
        this.#next.halt = event.halt;
        return this.#interrupt("halted", at);
      case "completed":
        this.#run.status = "completed";
        this.#run.completedAt = at;
        delete this.#run.queued;
        delete this.#run.reason;
        delete this.#run.owner;
        return;
      case "cancelled":
        this.#run.status = "cancelled";
        this.#run.cancelledAt = at;
        this.#run.cancelReason = event.reason;
        delete this.#run.queued;
        delete this.#run.reason;
        delete this.#run.owner;
        return;
    }
  }

  #move({ to, entry }: EventOf<"adopted" | "migrated">): void {
    this.#run.graphVersion = to;
    this.#moved = true;
    if (entry === undefined) return;
    this.#next.frontier = [entry];
    delete this.#next.begunAs;
  }

  #claim(event: EventOf<"claimed">, at: number): void {
    this.#run.owner = event.owner;
    this.#run.startedAt ??= at;
    this.#run.status = "running";
    delete this.#run.queued;
    delete this.#run.reason;
    if (event.recovery) this.#run.recoveries += 1;
    if (event.maxSteps !== undefined) this.#run.maxSteps = event.maxSteps;
    if (this.#next.phase === "paused") this.#next.phase = "running";
  }

  /** As a run that was submitted: whoever claims it when its turn has come decides. */
  #queue({ type: _, ...queued }: EventOf<"queued">): void {
    this.#run.queued = queued;
    this.#run.status = "running";
    delete this.#run.reason;
    if (this.#next.phase === "paused") this.#next.phase = "running";
  }

  #release(event: EventOf<"released">, at: number): void {
    delete this.#run.owner;
    if (event.recovery === true) this.#run.recoveries += 1;
    if (event.status === "running") return;
    this.#next.phase = "paused";
    this.#interrupt(event.reason ?? "awaiting", at);
  }

  #update({ maps }: EventOf<"updated">): void {
    if (maps === undefined) return;
    if (this.#next.phase === "paused") {
      // There is something to run: the run waits for whoever claims it.
      this.#next.phase = "running";
      this.#run.status = "running";
      delete this.#run.reason;
    }
    const splits = new Map(maps.map(({ vertexId, count, digest }) => [vertexId, { count, digest }]));
    this.#maps = new Map([...this.#next.maps, ...splits]);
    this.#next.maps = this.#maps;
    for (const [key, x] of this.#next.executions) {
      if ((x.item ?? -1) >= (splits.get(x.vertexId)?.count ?? Infinity)) this.#drop(key);
    }
  }

  #interrupt(reason: NonNullable<Checkpoint["run"]["reason"]>, at: number): void {
    this.#run.status = "interrupted";
    this.#run.reason = reason;
    this.#run.interruptedAt = at;
    delete this.#run.queued;
    delete this.#run.owner;
  }

  #retry(event: EventOf<"retried">): void {
    if (this.#next.halt !== undefined) {
      delete this.#next.halt;
      this.#next.phase = this.#next.folded || this.#next.executions.size > 0 ? "running" : "routed";
    }
    for (const of of event.executions) {
      if (of.item === undefined && this.#next.maps.has(of.vertexId)) {
        // The outcome of a map vertex as a whole: its items keep theirs, and the reducer is applied again.
        this.#drop(of.vertexId);
        continue;
      }
      this.#change(of, (x) => {
        const { failure: _, stack: __, handler: ___, nextAt: ____, ...rest } = x;
        // What failed with an output is the reduction of it, which is applied again.
        return "output" in x ? { ...rest, status: "done" } : {
          ...rest,
          ...reopened(x),
          status: "pending",
          generation: x.generation + 1,
          failedAttempts: [],
          spentMs: 0,
        };
      }, true);
    }
  }

  #reopen(event: EventOf<"reopened">): void {
    this.#change(event, (x) => {
      const old = x.waits.get(event.id);
      if (old === undefined) return {};
      const { result: _, seq: __, ...open } = old;
      const waits = new Map(x.waits);
      waits.set(event.id, { ...open, closed: "refused" });
      waits.set(event.newId, { ...open, id: event.newId, openedAt: event.at });
      const opening = openingKey(old);
      return { waits, refusals: new Map(x.refusals).set(opening, (x.refusals.get(opening) ?? 0) + 1) };
    });
  }

  #route(event: EventOf<"routed">): void {
    this.#run.step = this.#next.nextStep;
    this.#next.nextStep += 1;
    this.#next.phase = "routed";
    this.#next.folded = false;
    this.#next.routes = event.routes;
    this.#next.finishRan ||= hasEnded(event.routes);
    this.#next.frontier = event.frontier;
    this.#next.arrivals = event.arrivals ?? NONE;
    this.#next.executions = this.#executions = new Map();
    this.#next.maps = this.#maps = new Map();
    delete this.#next.begunAs;
  }

  #begin(): void {
    if (this.#next.phase !== "routed") return;
    this.#next.phase = "running";
    this.#run.step = this.#next.nextStep;
  }

  #drop(key: string): void {
    this.#executions ??= new Map(this.#next.executions);
    this.#executions.delete(key);
    this.#next.executions = this.#executions;
  }

  #change(
    of: { vertexId: string; item?: number },
    change: (x: Execution) => Partial<Execution>,
    whole = false,
  ): void {
    this.#begin();
    this.#executions ??= new Map(this.#next.executions);
    const key = executionKey(of.vertexId, of.item);
    const x = this.#executions.get(key) ?? freshExecution(of.vertexId, of.item);
    this.#executions.set(key, whole ? change(x) as Execution : { ...x, ...change(x) });
    this.#next.executions = this.#executions;
  }
}

/** Fresh attempts keep every answer; what expired opens under a new id, what the failure closed under the one it had. */
function reopened(x: Execution): Pick<Execution, "waits" | "refusals"> {
  const waits = new Map(x.waits);
  const refusals = new Map(x.refusals);
  for (const wait of x.waits.values()) {
    if (wait.result?.kind !== "expired") continue;
    waits.delete(wait.id);
    const opening = openingKey(wait);
    refusals.set(opening, (refusals.get(opening) ?? 0) + 1);
  }
  return { waits, refusals };
}

function edited(
  waits: ReadonlyMap<string, WaitState>,
  id: string,
  edit: (wait: WaitState) => WaitState,
): ReadonlyMap<string, WaitState> {
  const wait = waits.get(id);
  return wait === undefined ? waits : new Map(waits).set(id, edit(wait));
}
