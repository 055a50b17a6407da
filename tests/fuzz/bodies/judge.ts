import assert from "node:assert/strict";
import type { Runner } from "../../../mod.ts";
import { firstCheckpoint } from "../../../src/checkpoint/beginning.ts";
import { evolve } from "../../../src/checkpoint/evolve.ts";
import type { RecordEvent } from "../../../src/checkpoint/records.ts";
import { type Checkpoint, executionKey } from "../../../src/model/checkpoint.ts";
import { type Observed, RUN, type State } from "./case.ts";
import type { Body } from "./generate.ts";
import { foresee, type Foreseen, onceOf, openingOf, type Recorded } from "./oracle.ts";
import { show } from "./interpret.ts";

/** How many executions were compared, and how many could not be: they depend on how fast plain work is. */
export const tally = { judged: 0, ambiguous: 0 };

/** What the history says of one execution. */
interface Account {
  readonly results: Recorded[];
  readonly opened: Set<string>;
  readonly openings: Map<string, string>;
  attempt: number;
  failure: string | undefined;
  output: unknown;
  done: boolean;
}

/** Compares what was recorded with what each body comes to as plain JavaScript. */
export async function judge(
  bodies: ReadonlyMap<string, Body>,
  items: number | undefined,
  runner: Runner<State>,
  observed: Observed,
): Promise<void> {
  const { world, result } = observed;
  const { rows } = await runner.history(RUN, { limit: 10_000 });
  const accounts = new Map<string, Account>();
  const checkpoints: Checkpoint[] = [];
  for (const entry of rows) {
    const [first] = entry.events;
    const before = checkpoints.at(-1);
    if (before === undefined) {
      if (first?.type === "created") checkpoints.push(firstCheckpoint(first, entry.at));
    } else checkpoints.push(evolve(before, entry.events, entry.revision, entry.at));
    for (const event of entry.events) note(accounts, event);
  }
  for (const { key, name, revision } of observed.effects) {
    const known = checkpoints[revision]?.executions.get(key)?.once.has(name) ?? false;
    assert.ok(!known, `once ${name} of ${key} ran again after revision ${revision} had its result`);
  }
  for (const [id, body] of bodies) {
    for (const item of items === undefined ? [undefined] : Array.from({ length: items }, (_, i) => i)) {
      await judgeOne(executionKey(id, item), body, accounts, observed, outputOf(result.state, id, item));
    }
  }
  const { store, clock } = world;
  assert.deepEqual((await store.waits({ runId: RUN })).rows, [], "a wait is left");
  assert.deepEqual(await store.wakes(Infinity, 10), [], "a wake is left");
  for (const { ownerId } of await store.owners.list()) {
    assert.deepEqual(await store.owners.ownedBy(ownerId, 10), [], `${ownerId} owns the run still`);
  }
  // What has lost goes on for a while.
  await clock.advance("1m");
  assert.equal(clock.next, undefined, "a timer is left");
}

function outputOf({ seen }: State, id: string, item: number | undefined): unknown {
  return item === undefined ? seen[id] : (seen[id] as readonly unknown[] | undefined)?.[item];
}

function note(accounts: Map<string, Account>, event: RecordEvent): void {
  if (!("vertexId" in event) || event.type === "mapped") return;
  const key = executionKey(event.vertexId, event.item);
  const account: Account = accounts.get(key) ??
    {
      results: [],
      opened: new Set(),
      openings: new Map(),
      attempt: 1,
      failure: undefined,
      output: undefined,
      done: false,
    };
  accounts.set(key, account);
  switch (event.type) {
    case "once":
      account.results.push({ key: onceOf(event.name), result: { value: event.value } });
      break;
    case "opened": {
      const opening = openingOf(event.kind as "answer", event.name, event.key, event.n);
      account.openings.set(event.id, opening);
      account.opened.add(opening);
      break;
    }
    case "resolved": {
      const { result } = event;
      account.results.push({
        key: account.openings.get(event.id)!,
        result: result.kind === "expired"
          ? { expired: true }
          : { value: result.kind === "answered" ? result.value : undefined },
      });
      break;
    }
    case "attempt_failed":
      account.attempt += 1;
      break;
    case "failed":
      account.failure = `failed: ${
        event.failure.name === "Error" ? `error ${event.failure.message}` : event.failure.name
      }`;
      break;
    case "done":
      account.done = true;
      account.output = event.output;
  }
}

async function judgeOne(
  key: string,
  body: Body,
  accounts: ReadonlyMap<string, Account>,
  observed: Observed,
  output: unknown,
): Promise<void> {
  const account = accounts.get(key);
  assert.ok(account !== undefined, `nothing is recorded of ${key}`);
  const { results, attempt } = account;
  const foreseen = await foresee(body.block, results, { attempt, pace: "lazy" });
  if (body.flavour !== "pure") {
    const eager = await foresee(body.block, results, { attempt, pace: "eager" });
    if (eager.outcome !== foreseen.outcome) {
      tally.ambiguous += 1;
      return;
    }
  }
  tally.judged += 1;
  const recorded = results.map((r) => `${r.key} = ${"value" in r.result ? show(r.result.value) : "expired"}`);
  const what = (detail: string) => `${key}: ${detail}\nrecorded in this order: ${recorded.join(", ")}`;
  const outcome = account.failure ?? account.output ?? output;
  assert.equal(
    outcome,
    foreseen.outcome,
    what(`the outcome is ${outcome}, foreseen was ${foreseen.outcome}`),
  );
  const order = results.flatMap((r) => r.key.startsWith("once ") ? [r.key.slice(5)] : []);
  assert.equal(new Set(results.map((r) => r.key)).size, results.length, what("a result was recorded twice"));
  compareSets(body, account, order, foreseen, what);
  if (body.flavour !== "pure") return;
  assert.equal(foreseen.outOfTurn, undefined, what("a result was recorded before the body could ask for it"));
  const last = observed.bodies.findLast((b) => b.key === key);
  assert.deepEqual(
    last?.trace,
    foreseen.trace,
    what(`the last body went ${last?.trace.join(", ")}, foreseen was ${foreseen.trace.join(", ")}`),
  );
}

function compareSets(
  body: Body,
  account: Account,
  onces: readonly string[],
  foreseen: Foreseen,
  what: (detail: string) => string,
): void {
  const missing = [...foreseen.opened].filter((o) => !account.opened.has(o) && !foreseen.openedLast.has(o));
  if (body.flavour === "pure" || !foreseen.working) {
    const strange = onces.filter((name) => !foreseen.onces.has(name));
    assert.deepEqual(strange, [], what(`effects that the body never asks for: ${strange.join(", ")}`));
  }
  if (body.flavour !== "pure") return;
  const strange = [...account.opened].filter((o) => !foreseen.opened.has(o));
  assert.deepEqual(strange, [], what(`waits that the body never opens: ${strange.join(", ")}`));
  assert.deepEqual(missing, [], what(`waits that are not recorded: ${missing.join(", ")}`));
}
