import assert from "node:assert/strict";
import { isSuperstepError, type RunResult, type RunView } from "../../mod.ts";
import { firstCheckpoint } from "../../src/checkpoint/beginning.ts";
import { evolve } from "../../src/checkpoint/evolve.ts";
import { type Checkpoint, executionKey } from "../../src/model/checkpoint.ts";
import { build } from "./build.ts";
import { Chance } from "./chance.ts";
import { pace, told } from "./compare.ts";
import { predict } from "./model.ts";
import { emptyTally, type Plan, planOf, type Tally } from "./plans.ts";
import { type Process, World } from "./world.ts";

/**
 * Runs a random workflow whose processes die at random writes and whose calls are aborted at random revisions, and
 * compares its end with the model, and every run of a body with what was recorded when it began.
 */
export async function disturb(seed: number): Promise<void> {
  await new Disturbed(planOf(seed), seed).live();
}

interface BodyRun {
  readonly key: string;
  readonly step: number;
  readonly attempt: number;
  readonly at: number;
  readonly revision: number;
  readonly told: string;
}

const RUN = "run";

class Disturbed {
  readonly #plan: Plan;
  readonly #seed: number;
  readonly #world: World;
  readonly #chance: Chance;
  readonly #bodies: BodyRun[] = [];
  #disturbances: number;
  #mends = 0;
  #maxSteps: number;
  #process: Process<Tally>;
  #abort = new AbortController();

  constructor(plan: Plan, seed: number) {
    this.#plan = plan;
    this.#seed = seed;
    this.#maxSteps = plan.maxSteps;
    this.#world = new World(seed);
    this.#chance = new Chance("disturb", seed);
    this.#disturbances = 1 + this.#chance.below(5);
    this.#process = this.#start();
  }

  async live(): Promise<void> {
    const expected = predict(this.#plan);
    let seen = -1;
    for (const [i, wanted] of expected.results.entries()) {
      const result = await this.#call(seen);
      assert.deepEqual(told(result), wanted, `seed ${this.#seed}, result ${i}`);
      seen = result.run.revision;
      this.#mends += 1;
      if (wanted.halt?.startsWith("max_steps")) this.#maxSteps += this.#plan.maxSteps;
    }
    const told_ = [...new Set(this.#bodies.map((b) => b.told))].sort();
    assert.deepEqual(told_, expected.bodies, `seed ${this.#seed}: bodies`);
    await this.#check(expected.routes);
  }

  /** One result newer than revision `seen`, whatever happens on the way to it. */
  async #call(seen: number): Promise<RunResult<Tally>> {
    for (let tries = 0; tries < 100; tries++) {
      const result = await this.#try(seen);
      if (result === "again") continue;
      if (result !== "died") return result;
      this.#process = this.#start();
      await this.#world.clock.advance("16s");
    }
    throw new Error(`seed ${this.#seed}: no result after 100 tries`);
  }

  async #try(seen: number): Promise<RunResult<Tally> | "died" | "again"> {
    const { runner, drive } = this.#process;
    const { concurrency, checkpointEvery } = this.#settings();
    const options = { concurrency, checkpointEvery, signal: this.#abort.signal } as const;
    try {
      const handles = await drive(runner.recover(options));
      if (handles === "died") return "died";
      const [handle] = handles;
      if (handle !== undefined) return await drive(handle.result());
      const view = await drive(this.#view());
      if (view === "died") return "died";
      if (view === undefined) {
        return await drive(runner.run(emptyTally(), { ...options, runId: RUN, maxSteps: this.#maxSteps }));
      }
      if (view.status === "completed" || view.status === "cancelled") return view;
      if (view.status === "interrupted") {
        if (view.run.revision > seen) return view;
        return await drive(runner.resume(RUN, { ...options, maxSteps: this.#maxSteps }));
      }
      await this.#world.clock.advance("20s");
      return "again";
    } catch (error) {
      if (!isSuperstepError(error, "RUN_ABORTED")) throw error;
      this.#abort = new AbortController();
      if (this.#chance.percent(50)) this.#process = this.#start();
      return "again";
    }
  }

  async #view(): Promise<RunView<Tally> | undefined> {
    try {
      return await this.#process.runner.get(RUN);
    } catch (error) {
      if (isSuperstepError(error, "CHECKPOINT_NOT_FOUND")) return undefined;
      throw error;
    }
  }

  #settings() {
    return {
      concurrency: this.#chance.pick([1, 2, 64]),
      checkpointEvery: this.#chance.pick(["vertex", "step"] as const),
    };
  }

  /** A process that will be disturbed once more, if there is still a disturbance left. */
  #start(): Process<Tally> {
    const isLast = this.#disturbances-- <= 0;
    const dies = this.#chance.percent(65);
    const plan = {
      write: 1 + this.#chance.below(14),
      when: this.#chance.pick(["before", "after"] as const),
    };
    if (!isLast && !dies) {
      const until = this.#world.revision + 1 + this.#chance.below(10);
      this.#world.appended = () => {
        if (this.#world.revision < until) return;
        this.#world.appended = () => {};
        this.#abort.abort(new Error("stop"));
      };
    }
    return this.#world.process(
      (life) =>
        build(this.#plan, {
          mends: () => this.#mends,
          begun: (ctx) => {
            if (life.isOver()) return new Promise(() => {});
            this.#bodies.push({
              key: executionKey(ctx.vertexId, ctx.item),
              step: ctx.step,
              attempt: ctx.attempt,
              at: this.#world.clock.now(),
              revision: this.#world.revision,
              told: [ctx.step, ctx.vertexId, ctx.item ?? "", this.#mends, ctx.attempt].join("/"),
            });
            return pace(life.runtime, this.#chance);
          },
          ended: () => {},
        }),
      isLast || !dies ? undefined : plan,
    );
  }

  /** The history says of every body that it had to run when it did, and folds to what a new process loads. */
  async #check(expected: readonly (readonly string[])[]): Promise<void> {
    this.#world.calm();
    const { runner } = this.#process;
    const { rows: history } = await runner.history(RUN, { limit: 10_000 });
    const checkpoints: Checkpoint[] = [];
    for (const [i, entry] of history.entries()) {
      assert.equal(entry.revision, i);
      const [first] = entry.events;
      const before = checkpoints.at(-1);
      const now = before === undefined
        ? first?.type === "created" ? firstCheckpoint(first, entry.at) : assert.fail("no beginning")
        : evolve(before, entry.events, entry.revision, entry.at);
      checkpoints.push(now);
      const { run, phase, frontier } = now;
      assert.deepEqual(
        [entry.status, entry.reason, entry.phase, entry.step, entry.owner, entry.frontier],
        [run.status, run.reason, phase, run.step, run.owner, frontier],
        `seed ${this.#seed}: revision ${i}`,
      );
    }
    for (const body of this.#bodies) {
      const { nextStep, executions } = checkpoints[body.revision]!;
      const x = executions.get(body.key);
      const what = `seed ${this.#seed}: the body ${body.told} at revision ${body.revision}`;
      assert.equal(body.step, nextStep, what);
      assert.ok(x === undefined || x.status === "pending" || x.status === "backoff", `${what}: ${x?.status}`);
      assert.equal(body.attempt, (x?.failedAttempts.length ?? 0) + 1, what);
      assert.ok(body.at >= (x?.nextAt ?? 0), `${what} ran before its backoff ended`);
    }
    const routes = history.filter((h) => h.events.some((e) => e.type === "routed"))
      .map((h) => h.routes.map(({ from, to, kind }) => `${from} -${kind}-> ${to}`));
    assert.deepEqual(routes, expected, `seed ${this.#seed}: routes`);
    const { owners } = this.#world.store;
    for (const { ownerId } of await owners.list()) {
      assert.deepEqual(await owners.ownedBy(ownerId, 10), [], `seed ${this.#seed}: ${ownerId} still owns`);
    }
    assert.deepEqual(await this.#world.store.wakes(Infinity, 10), [], `seed ${this.#seed}: a wake is left`);
  }
}
