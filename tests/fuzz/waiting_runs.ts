import assert from "node:assert/strict";
import { type AnswerError, isSuperstepError, type RunResult, type Store } from "../../mod.ts";
import { defaultCodec } from "../../src/checkpoint/codec.ts";
import { firstCheckpoint } from "../../src/checkpoint/beginning.ts";
import { evolve } from "../../src/checkpoint/evolve.ts";
import type { RecordEvent } from "../../src/checkpoint/records.ts";
import { decodedRecords, Restorer } from "../../src/checkpoint/restored.ts";
import { GraphBuilder } from "../../src/graph/mod.ts";
import { type Checkpoint, type Execution, executionKey } from "../../src/model/checkpoint.ts";
import { listed } from "../waits/damage.ts";
import { Chance, hash } from "./chance.ts";
import { EARLY, foresee, perform, type Program, programOf, WAITS } from "./programs.ts";
import { type Life, type Process, World } from "./world.ts";

/** Runs random programs of waits in processes that die, answered by another process, and checks what was recorded. */
export async function wait(seed: number): Promise<void> {
  await new Waiting(seed).live();
}

interface State {
  readonly seen: Record<string, readonly string[]>;
}

const RUN = "run";
const IDS = ["a", "b", "c"];

/** The newest checkpoint, from the bytes in the store. */
async function loaded(store: Store): Promise<Checkpoint> {
  const tail = (await store.tail(RUN))!;
  const records = decodedRecords(RUN, tail.records, defaultCodec);
  return (await new Restorer(store, defaultCodec).run(RUN, tail, records, { state: false })).checkpoint;
}

class Waiting {
  readonly #seed: number;
  readonly #world: World;
  readonly #chance: Chance;
  readonly #programs: ReadonlyMap<string, Program>;
  readonly #settings: { readonly inlineTimers: number };
  readonly #onces: { readonly key: string; readonly name: string; readonly revision: number }[] = [];
  readonly #accepted = new Map<string, number>();
  readonly #doubtful = new Set<string>();
  readonly #known: string[] = [];
  readonly #person: Process<State>;
  #deaths: number;
  #over = false;
  #ticks = 0;

  constructor(seed: number) {
    this.#seed = seed;
    this.#world = new World(seed);
    this.#chance = new Chance("waiting", seed);
    this.#deaths = this.#chance.below(4);
    const ids = IDS.slice(0, 1 + this.#chance.below(3));
    this.#programs = new Map(ids.map((id) => [id, programOf(seed, id)]));
    this.#settings = { inlineTimers: this.#chance.pick([0, 1_000, 30_000]) };
    this.#person = this.#world.process((life) => this.#graph(life), undefined, this.#settings);
  }

  async live(): Promise<void> {
    const person = this.#answers();
    const result = await this.#end();
    this.#over = true;
    await this.#world.clock.drive(person);
    await this.#world.clock.advance("1s");
    await this.#check(result);
  }

  #what(detail: string): string {
    return `seed ${this.#seed}: ${detail}`;
  }

  #graph(life: Life) {
    const builder = new GraphBuilder<State>({ id: "waiting" });
    const plain = { select: () => null, task: { execute: () => null }, reduce: () => {} };
    builder.addVertex<unknown, unknown>({ id: "start", ...plain });
    for (const [id, program] of this.#programs) {
      const task = {
        execute: (_: unknown, ctx: Parameters<typeof perform>[1]) => {
          if (life.isOver()) return new Promise<never>(() => {});
          return perform(program, ctx, {
            work: () => life.runtime.sleep(this.#chance.below(1_500)),
            ran: async (name) => {
              if (life.isOver()) return await new Promise<never>(() => {});
              const key = executionKey(id, ctx.item);
              this.#onces.push({ key, name, revision: this.#world.revision });
              if (this.#chance.percent(40)) await life.runtime.sleep(this.#chance.below(800));
            },
          });
        },
      };
      const common = {
        id,
        task,
        waits: [...WAITS, EARLY],
        retry: { maxAttempts: 3, backoff: { initial: 700 } },
        reduce: (state: State, out: unknown) => void (state.seen[id] = out as readonly string[]),
      };
      if (hash(this.#seed, "map", id) % 4 === 0) {
        builder.addVertex<unknown, unknown>({ ...common, each: () => [1, 2] });
      } else builder.addVertex<unknown, unknown>({ ...common, select: () => null });
      builder.addEdge("start", id);
    }
    builder.addVertex<unknown, unknown>({ id: "stop", ...plain });
    for (const id of this.#programs.keys()) builder.addEdge(id, "stop");
    return builder.build({ entry: "start", finish: "stop" });
  }

  #start(): Process<State> {
    const dies = this.#deaths-- > 0;
    const plan = { write: 2 + this.#chance.below(12), when: this.#chance.pick(["before", "after"] as const) };
    return this.#world.process((life) => this.#graph(life), dies ? plan : undefined, this.#settings);
  }

  /** Carries the run to its end, from process to process. */
  async #end(): Promise<RunResult<State>> {
    let process = this.#start();
    let started = false;
    for (let tries = 0; tries < 2_000; tries++) {
      const result = await this.#next(process, started);
      started = true;
      if (result === "died") {
        process = this.#start();
        await this.#world.clock.advance(16_000);
      } else if (result?.status === "completed") return result;
      else {
        if (result?.status === "interrupted") {
          assert.ok(
            result.reason === "awaiting" || result.reason === "sleeping",
            this.#what(`${result.reason}: ${result.failures.map((f) => f.failure.message)}`),
          );
          if (this.#chance.percent(30)) process = this.#start();
        }
        await this.#world.clock.advance(200 + this.#chance.below(3_000));
      }
    }
    throw new Error(this.#what("no end"));
  }

  async #next(process: Process<State>, started: boolean): Promise<RunResult<State> | "died" | undefined> {
    const { runner, drive } = process;
    if (!started) return await drive(runner.run({ seen: {} }, { runId: RUN }));
    const handles = await drive(runner.recover());
    if (handles === "died") return "died";
    if (handles[0] !== undefined) return await drive(handles[0].result());
    try {
      const view = await drive(runner.get(RUN));
      if (view === "died") return "died";
      return view.status === "running" ? undefined : view;
    } catch (error) {
      if (!isSuperstepError(error, "CHECKPOINT_NOT_FOUND")) throw error;
      return await drive(runner.run({ seen: {} }, { runId: RUN }));
    }
  }

  /** A person in another process who answers well, late, twice and badly. */
  async #answers(): Promise<void> {
    const { runner, runtime } = this.#person;
    while (!this.#over) {
      await runtime.sleep(50 + this.#chance.below(2_500));
      if (this.#over) return;
      this.#ticks += 1;
      const { rows } = await runner.waits({ runId: RUN });
      for (const { waitId } of rows) if (!this.#known.includes(waitId)) this.#known.push(waitId);
      const how = this.#ticks > 100 ? 0 : this.#chance.below(10);
      const open = rows.length === 0 ? undefined : this.#chance.pick(rows).waitId;
      if (how < 6) {
        if (open !== undefined) await this.#answer(open);
        if (open !== undefined && this.#chance.percent(20)) {
          await Promise.all([this.#answer(open), this.#answer(open)]);
        }
      } else if (how === 6 && open !== undefined) await this.#answer(open, { v: "no number" });
      else if (how === 7 && this.#known.length > 0) await this.#answer(this.#chance.pick(this.#known));
      else if (how === 8) await this.#answer(this.#chance.pick(["nothing", `w${"0".repeat(32)}`]));
    }
  }

  async #answer(waitId: string, value: unknown = { v: this.#chance.below(1_000) }): Promise<void> {
    try {
      await this.#person.runner.answer(RUN, waitId, value);
      assert.ok(!this.#accepted.has(waitId), this.#what(`two answers to ${waitId} were accepted`));
      this.#accepted.set(waitId, (value as { v: number }).v);
    } catch (error) {
      if (isSuperstepError(error, "CHECKPOINT_NOT_FOUND")) return;
      if (!isSuperstepError(error, "ANSWER")) throw error;
      const { reason } = error as unknown as AnswerError;
      if (this.#accepted.has(waitId)) assert.equal(reason, "answered", this.#what(waitId));
      this.#doubtful.add(reason);
    }
  }

  async #check(result: RunResult<State>): Promise<void> {
    const { store, clock } = this.#world;
    this.#world.calm();
    const fresh = this.#world.process((life) => this.#graph(life));
    assert.deepEqual(
      await clock.drive(fresh.runner.get(RUN)),
      result,
      this.#what("a fresh engine sees it differently"),
    );
    const checkpoints = await this.#fold(fresh);
    const stored = listed(await loaded(store));
    assert.deepEqual(listed(checkpoints.at(-1)!), stored, this.#what("loading"));

    const answered = new Map<string, number>();
    for (const event of (await fresh.runner.history(RUN, { limit: 10_000 })).rows.flatMap((h) => h.events)) {
      if (event.type !== "resolved" || event.result.kind !== "answered") continue;
      assert.ok(!answered.has(event.id), this.#what(`${event.id} has two results`));
      answered.set(event.id, (event.result.value as { v: number }).v);
    }
    assert.deepEqual([...answered].sort(), [...this.#accepted].sort(), this.#what("answers"));

    for (const { key, name, revision } of this.#onces) {
      const has = checkpoints[revision]!.executions.get(key)?.once.has(name) ?? false;
      assert.ok(!has, this.#what(`once ${name} of ${key} ran again at revision ${revision}`));
    }
    this.#checkOutputs(checkpoints, result.state);

    assert.deepEqual((await store.waits({ runId: RUN })).rows, [], this.#what("a wait is left"));
    assert.deepEqual(await store.wakes(Infinity, 10), [], this.#what("a wake is left"));
    for (const { ownerId } of await store.owners.list()) {
      assert.deepEqual(await store.owners.ownedBy(ownerId, 10), [], this.#what(`${ownerId} owns it still`));
    }
    assert.equal(clock.next, undefined, this.#what("a timer is left"));
  }

  async #fold(process: Process<State>): Promise<readonly Checkpoint[]> {
    const checkpoints: Checkpoint[] = [];
    for (const entry of (await process.runner.history(RUN, { limit: 10_000 })).rows) {
      const [first] = entry.events;
      const before = checkpoints.at(-1);
      if (before !== undefined) {
        checkpoints.push(evolve(before, entry.events, entry.revision, entry.at));
      } else if (first?.type === "created") checkpoints.push(firstCheckpoint(first, entry.at));
      const now = checkpoints.at(-1)!;
      assert.deepEqual([entry.status, entry.phase, entry.step], [now.run.status, now.phase, now.run.step]);
      for (const x of now.executions.values()) this.#checkNumbers(x);
      this.#checkOrder(entry.events, now);
      const claim = entry.events.find((e) => e.type === "claimed");
      if (claim !== undefined) assert.equal(claim.recovery, before?.run.owner !== undefined);
    }
    return checkpoints;
  }

  #checkNumbers(x: Execution): void {
    const ofWaits = [...x.waits.values()].flatMap((w) => w.seq === undefined ? [] : [w.seq]);
    const numbers = [...ofWaits, ...x.onceSeq?.values() ?? []].sort((a, b) => a - b);
    assert.deepEqual(numbers, Array.from({ length: x.results }, (_, i) => i + 1), this.#what("results"));
    const newest = new Map<string, number>();
    for (const { kind, name, n } of x.waits.values()) newest.set(`${kind} ${name}`, n);
    for (const { id, kind, name, n, result, closed } of x.waits.values()) {
      const isOpen = result === undefined && closed === undefined;
      assert.ok(
        !isOpen || newest.get(`${kind} ${name}`) === n,
        this.#what(`${id} was not closed by the next`),
      );
      assert.ok(result === undefined || closed === undefined, this.#what(`${id} has a result and is closed`));
    }
  }

  /** Results of one record are numbered by the time they were accepted or due, then by name. */
  #checkOrder(events: readonly RecordEvent[], { executions }: Checkpoint): void {
    const places = events.flatMap((e) => {
      if (e.type !== "resolved") return [];
      const { due, name } = executions.get(executionKey(e.vertexId, e.item))!.waits.get(e.id)!;
      assert.ok(
        e.result.kind === "answered" || e.result.at >= due!,
        this.#what(`${e.id} was over too early`),
      );
      return [{ at: e.result.kind === "answered" ? e.result.at : due!, name }];
    });
    const sorted = [...places].sort((a, b) =>
      a.at - b.at || (a.name < b.name ? -1 : a.name > b.name ? 1 : 0)
    );
    assert.deepEqual(places, sorted, this.#what("the order of results"));
  }

  /** Every body has seen what was recorded for it, in the order in which it was recorded. */
  #checkOutputs(checkpoints: readonly Checkpoint[], state: State): void {
    const last = checkpoints.filter((c) => c.nextStep === 1).at(-1)!;
    const ended = checkpoints.find((c) => c.nextStep === 2)!;
    assert.ok(last.run.revision + 1 === ended.run.revision);
    for (const [id, program] of this.#programs) {
      const map = last.maps.get(id);
      const of = (item?: number) => {
        const x = last.executions.get(executionKey(id, item));
        return foresee(program, x ?? NOTHING);
      };
      const expected = map === undefined ? of() : Array.from({ length: map.count }, (_, item) => of(item));
      assert.deepEqual(state.seen[id], expected, this.#what(`the output of ${id}`));
    }
  }
}

const NOTHING = { waits: new Map() } as unknown as Execution;
