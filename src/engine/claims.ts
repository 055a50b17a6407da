import type { Cursor } from "../checkpoint/log.ts";
import { hasReturns } from "../checkpoint/mailbox.ts";
import type { RecordEvent } from "../checkpoint/records.ts";
import { type GraphVersionMismatchError, isSuperstepError, reasonOf, RunAbortedError } from "../errors.ts";
import { refOf } from "../model/checkpoint.ts";
import { isOver, type RunCaller } from "../model/run.ts";
import { Alarm } from "../runtime/alarm.ts";
import type { Store } from "../store/store.ts";
import { refusal, resumeAnswers } from "./answers.ts";
import { isAwaited, NOT_AWAITED, storedCallers } from "./child_runs.ts";
import type { FormerOwner } from "./claim.ts";
import type { RunnerDeps, RunSettings } from "./runner_deps.ts";
import { waitingIn } from "./flow/waiting.ts";
import type { RunHandle } from "./handle.ts";
import { withMailboxFacts } from "./mailbox_facts.ts";
import { haltUnloadable } from "./load_fault.ts";
import type { Loader } from "./loader.ts";
import { type ResumeOptions, settingsOf, type StartOptions, type WorkOptions } from "./options.ts";
import { type Owner, POLL_MS } from "./ownership.ts";
import { releasedBodiesOf } from "./released_bodies.ts";
import type { RunResult } from "./result.ts";
import { runTime } from "./run_time.ts";
import { pausedFailures } from "./step.ts";
import { inlineMs, nextDue } from "./superstep.ts";
import { takeOver } from "./change/take_over.ts";
import { askOwner, checkOwner } from "./owner_check.ts";
import { settleWake } from "./wakes.ts";
import { ClaimedRun, resultOf } from "./claimed_run.ts";

/**
 * Taking runs over.
 *
 * 1. A run is claimed by an append before any of it is worked on; whoever loses that append has run nothing.
 * 2. A dead owner is buried before its runs are claimed, so that it can append nothing any more.
 * 3. From the second recovery without progress on, a run waits a doubling delay of its own before the next one.
 */
export class Claims<S> {
  readonly #deps: RunnerDeps<S>;
  readonly #store: Store;
  readonly #loader: Loader<S>;
  readonly #passedOver = new Set<string>();

  constructor(deps: RunnerDeps<S>, store: Store, loader: Loader<S>) {
    this.#deps = deps;
    this.#store = store;
    this.#loader = loader;
    releasedBodiesOf(store).serve(deps.graph, (runId) => this.recoverOne(runId, {}));
  }

  /** Runs `claim` under a live owner id; again under a new one when the id turns out to have been buried. */
  async asOwner<T>(claim: (owner: Owner) => Promise<T>, insist = false): Promise<T> {
    for (let tries = 1;; tries++) {
      try {
        return await claim(await this.#deps.ownership.acquire());
      } catch (error) {
        const again = isSuperstepError(error, "MAILBOX_CONFLICT", "OWNERSHIP_LOST") ||
          (insist && isSuperstepError(error, "REVISION_CONFLICT"));
        if (!again || tries >= MAX_CLAIMS) throw error;
      }
    }
  }

  /** Claims a run with these facts and begins to work on it; `undefined` when it has to wait for its turn. */
  async claim(
    cursor: Cursor<S>,
    owner: Owner,
    settings: RunSettings,
    facts: readonly RecordEvent[],
    former: FormerOwner,
  ): Promise<RunHandle<S> | undefined> {
    const located = await this.located(settings, cursor.checkpoint.run.caller);
    const work = new ClaimedRun(this.#deps, located, owner, cursor);
    const { caller } = cursor.checkpoint.run;
    const unawaited = caller !== undefined && !await isAwaited(this.#deps.log, caller);
    const cancelled = { type: "cancelled", reason: NOT_AWAITED } as const;
    const claimed = await work.claim({ facts: unawaited ? [...facts, cancelled] : facts, ...former });
    return claimed ? work.begin() : undefined;
  }

  /** The settings with how far the callers of a run are, where it has any. */
  async located(settings: RunSettings, caller: RunCaller | undefined): Promise<RunSettings> {
    if (caller === undefined || settings.callers !== undefined) return settings;
    const callers = await storedCallers(this.#deps.log, caller);
    return { ...settings, callers: () => callers };
  }

  /** The facts of a resume; where it brings the answer to a wait that is over, the refusal says what became of that one. */
  async factsOf(
    cursor: Cursor<S>,
    owner: Owner,
    options: ResumeOptions,
  ): Promise<readonly RecordEvent[] | undefined> {
    try {
      return this.resumeFacts(cursor, owner, options);
    } catch (error) {
      const { reason, runId, waitId } = isSuperstepError(error, "ANSWER") ? error.fields : {};
      if (typeof waitId !== "string" || (reason !== "not_open" && reason !== "unknown")) throw error;
      const { closed } = await this.#store.wait(String(runId), waitId);
      const { graph, runtime } = this.#deps;
      throw closed === null ? error : refusal(graph, cursor.checkpoint, waitId, closed, false, runtime.now());
    }
  }

  /** The facts of a claim, or `undefined` when a claim would change nothing. */
  resumeFacts(
    cursor: Cursor<S>,
    owner: Owner,
    options: ResumeOptions,
    retry = true,
  ): readonly RecordEvent[] | undefined {
    const { checkpoint, mailbox } = cursor;
    const { runtime, limits } = this.#deps;
    const now = runTime(runtime, checkpoint.run);
    const answers = resumeAnswers(this.#deps, cursor, options, now);
    const failed = retry ? pausedFailures(checkpoint) : [];
    const halted = retry && checkpoint.halt !== undefined;
    // Whatever comes in, a halt is lifted by a resume alone; only the end of the run's time goes before it.
    if (!retry && checkpoint.halt !== undefined && (checkpoint.run.deadline ?? Infinity) > now) {
      return undefined;
    }
    const due = nextDue(checkpoint);
    const idle = checkpoint.run.status === "interrupted" && answers.length === 0 && failed.length === 0 &&
      !halted &&
      withMailboxFacts(checkpoint, mailbox.content, [], now).events.length === 0 &&
      (checkpoint.run.deadline ?? Infinity) > now &&
      (checkpoint.phase === "halted" || due === undefined || due - now > inlineMs(checkpoint, limits));
    if (idle) return undefined;
    const recovery = checkpoint.run.owner !== undefined && options.takeover !== true;
    return [
      {
        type: "claimed",
        owner: owner.id,
        recovery,
        ...(options.maxSteps === undefined ? {} : { maxSteps: options.maxSteps }),
      },
      ...answers,
      ...(failed.length > 0 || halted
        ? [
          {
            type: "retried",
            executions: failed.map(refOf),
          } as const,
        ]
        : []),
    ];
  }

  /** Takes over every run that a dead process left, and every one whose wake is due. */
  async recover(options: WorkOptions): Promise<readonly RunHandle<S>[]> {
    const { runtime, graph } = this.#deps;
    const left = new Set<string>();
    const { dead, silent } = await this.#deps.ownership.watch.look();
    for (const ownerId of dead) await this.#orphans(ownerId, left);
    const now = runtime.now();
    let page = await this.#store.wakes(now, BATCH);
    for (;;) {
      for (const wake of page) {
        if (wake.graphId !== graph.id) continue;
        left.add(wake.runId);
      }
      const after = page.at(-1);
      if (after === undefined || page.length < BATCH) break;
      page = await this.#store.wakes(now, BATCH, { after });
    }
    const handles: RunHandle<S>[] = [];
    await this.#recoverAll(left, options, handles);
    const gone = await Promise.all(
      [...silent.keys()].map(async (ownerId) =>
        await this.#recoverSilent(ownerId, options, handles) ? [ownerId] : []
      ),
    );
    for (const ownerId of [...dead, ...gone.flat()]) {
      if (!await this.#orphans(ownerId, left)) await this.#store.owners.forget(ownerId);
    }
    return handles;
  }

  async #recoverAll(runIds: Iterable<string>, options: WorkOptions, handles: RunHandle<S>[]): Promise<void> {
    for (const runId of runIds) {
      try {
        const handle = await this.recoverOne(runId, options);
        if (handle !== undefined) handles.push(handle);
      } catch (error) {
        // A run too damaged to be halted must not block recovery of others; a store that fails does.
        if (isSuperstepError(error, "STORE")) await this.#store.wakes(0, 1);
        this.#deps.logger.warn(`superstep: run ${runId} cannot be taken over: ${reasonOf(error)}`, {
          runId,
        });
      }
    }
  }

  /** Watches an owner that may be dead, and takes over what it has left if it is: whether it is. */
  async #recoverSilent(ownerId: string, options: WorkOptions, handles: RunHandle<S>[]): Promise<boolean> {
    const left = new Set<string>();
    await this.#orphans(ownerId, left);
    const [first] = left;
    if (first === undefined) return false;
    const { watch } = this.#deps.ownership;
    const standing = await watch.settle(
      ownerId,
      () => askOwner(this.#deps, first, ownerId),
      options.signal,
    );
    if (standing !== "gone") return false;
    await this.#recoverAll(left, options, handles);
    return true;
  }

  /** Says once of each run that other code must go on with it. */
  #passOver({ runId, expected, actual, fields }: GraphVersionMismatchError): void {
    if (this.#passedOver.has(runId)) return;
    if (this.#passedOver.size >= BATCH) this.#passedOver.clear();
    this.#passedOver.add(runId);
    this.#deps.logger.warn(
      `superstep: run ${runId} is due, but this code has another version of its graph: ${
        fields["difference"]
      }`,
      { runId, graphVersion: actual, codeVersion: expected },
    );
  }

  /** Adds the runs of an owner to `left`; false when it has none. */
  async #orphans(ownerId: string, left: Set<string>): Promise<boolean> {
    const runs = await this.#store.owners.ownedBy(ownerId, BATCH);
    for (const runId of runs) if (this.#deps.ownership.atWork(ownerId, runId).length === 0) left.add(runId);
    return runs.length > 0;
  }

  /** Claims one run without an owner, or puts it off; `undefined` when there is nothing of it to work on here. */
  async recoverOne(runId: string, options: WorkOptions): Promise<RunHandle<S> | undefined> {
    const settings = settingsOf("recover", options);
    try {
      return await this.asOwner((owner) => this.#take(runId, owner, settings, options));
    } catch (error) {
      if (isSuperstepError(error, ...LOST_CLAIM)) return undefined;
      if (isSuperstepError(error, "GRAPH_VERSION_MISMATCH")) {
        return await this.#takeOver(runId) ? await this.recoverOne(runId, options) : undefined;
      }
      if (await haltUnloadable(this.#deps, runId, error)) return undefined;
      throw error;
    }
  }

  /** Brings a run of another version under this code; false when other code must go on with it. */
  async #takeOver(runId: string): Promise<boolean> {
    try {
      const taken = await takeOver(this.#deps, runId);
      if (typeof taken === "boolean") return taken;
      this.#passOver(taken);
      return false;
    } catch (error) {
      if (isSuperstepError(error, ...LOST_CLAIM) || await haltUnloadable(this.#deps, runId, error)) {
        return false;
      }
      throw error;
    }
  }

  async #take(
    runId: string,
    owner: Owner,
    settings: RunSettings,
    options: WorkOptions,
  ): Promise<RunHandle<S> | undefined> {
    const { runtime, limits, log } = this.#deps;
    const cursor = await this.#loader.load(runId);
    const { run } = cursor.checkpoint;
    if (isOver(run.status)) return undefined;
    const { wake } = cursor.mailbox.content;
    // A run that is put off after a crash waits its time, also when somebody follows it.
    const now = runTime(runtime, run);
    if ((wake ?? 0) > now || waitsForTurn(cursor, now)) return undefined;
    const former = await checkOwner(this.#deps, cursor.checkpoint);
    const recoveries = run.recoveries + 1;
    if (former.absent !== undefined && run.recoveries > 0 && recoveries <= limits.maxRecoveries) {
      await log.defer(cursor, former.absent, now + recoveryDelay(recoveries, runtime.random()));
      return undefined;
    }
    const facts = this.resumeFacts(cursor, owner, options, false);
    if (facts === undefined) {
      if (wake !== undefined) await settleWake(this.#deps, cursor);
      return undefined;
    }
    return await this.claim(cursor, owner, settings, facts, former);
  }

  /**
   * Waits for a run that is at work elsewhere, and takes it over when its process is dead, or its turn has come. A run that
   * works for the one which follows it goes on when bodies of it came back: nobody else wakes it.
   */
  async follow(runId: string, options: WorkOptions & Pick<StartOptions, "caller">): Promise<RunResult<S>> {
    const { runtime } = this.#deps;
    const alarm = new Alarm(runtime);
    for (;;) {
      const cursor = await this.#loader.seen(runId);
      const { run, halt } = cursor.checkpoint;
      const goesOn = run.status === "interrupted" && run.caller !== undefined &&
        run.caller.runId === options.caller?.runId &&
        halt === undefined && hasReturns(cursor.checkpoint, cursor.mailbox.content);
      if (run.status !== "running" && !goesOn) return resultOf(this.#deps, cursor);
      const isQueued = waitsForTurn(cursor, runTime(runtime, run));
      const handle = isQueued ? undefined : await this.recoverOne(runId, options);
      if (handle !== undefined) return await handle.result();
      if (options.signal?.aborted) {
        throw new RunAbortedError(runId, run.revision, { cause: options.signal.reason });
      }
      const left = Math.min(run.queued?.until ?? Infinity, run.deadline ?? Infinity) - runtime.now();
      await (isQueued
        ? waitingIn(this.#deps).turn(runId, run.queued!.permit, Math.min(left, QUEUED_MS), options.signal)
        : alarm.sleep(POLL_MS / 4, alarm.rings, options.signal));
    }
  }
}

/** Whether nothing but its turn, or the end of its time, makes it worth while to look at a run. */
function waitsForTurn<S>({ checkpoint: { run }, mailbox: { content } }: Cursor<S>, now: number): boolean {
  const isQueued = content.queue !== undefined || (run.queued?.until !== undefined && content.wake! > now);
  return isQueued && (run.deadline ?? Infinity) > now;
}

/** How long a run that waits for its turn is not looked at for itself, in milliseconds. */
const QUEUED_MS = 15_000;

const MAX_CLAIMS = 20;
const BATCH = 1_000;

/** Faults of a claim that only say that somebody else was first, or that the run is another's. */
const LOST_CLAIM = [
  "RUN_BUSY",
  "REVISION_CONFLICT",
  "MAILBOX_CONFLICT",
  "OWNERSHIP_LOST",
  "CHECKPOINT_NOT_FOUND",
  "GRAPH_MISMATCH",
];

/** How long a run waits before it is recovered for the n-th time without progress: 1 s doubling to 5 min, jittered. */
function recoveryDelay(recoveries: number, random: number): number {
  const full = Math.min(5 * 60_000, 1_000 * 2 ** Math.max(0, recoveries - 2));
  return Math.round(full / 2 + random * full / 2);
}
