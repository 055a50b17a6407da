// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { RunHandle } from "../../mod.ts";
import { gate, INPUT, Lab, mortal, type State } from "../waits/lab.ts";

const LEASE = 15_000;
const ROUND = 5_000;

/** What a service does every five seconds: it takes over whatever is left. Answers the handles of one round. */
async function round(lab: Lab, engine: ReturnType<Lab["engine"]>): Promise<readonly RunHandle<State>[]> {
  await lab.clock.advance(ROUND);
  return await lab.drive(engine.recover());
}

test("a run whose process was killed is resumed within a lease by a process that merely recovers; done work is kept (FC-03, O2)", async () => {
  const lab = new Lab();
  const graph = lab.graph({
    a: { body: () => "a", to: "b" },
    b: { body: () => lab.count("b") === 1 ? gate().promise : "b" },
  });
  const dying = mortal(lab.store);
  await lab.engine(graph, { store: dying.store }).start(INPUT, { runId: "r" });
  await lab.clock.settle();
  dying.kill();
  const from = lab.clock.now();
  const service = lab.elsewhere(graph);
  let handles: readonly RunHandle<State>[] = [];
  while (handles.length === 0) handles = await round(lab, service);
  assert.ok(lab.clock.now() - from <= LEASE + ROUND);
  const result = await lab.drive(handles[0]!.result());
  assert.deepEqual([result.status, lab.count("a"), lab.count("b")], ["completed", 1, 2]);
});

test("a run that kills every process is parked and listed with its reason; others are recovered meanwhile, unharmed (FC-03, O2, E8)", async () => {
  const lab = new Lab();
  let kill = () => {};
  const graph = lab.graph({
    a: { select: (s) => s.log[0], body: (_, kind) => kind, to: "p" },
    p: {
      select: (s) => s.log[0],
      body: (_, kind) => {
        if (kind !== "poison") return "survived";
        kill();
        return gate().promise;
      },
    },
  });
  const submit = async (kind: string, runId: string) =>
    await lab.elsewhere(graph).submit({ out: {}, log: [kind] }, { runId });
  await submit("poison", "poison");
  let processes = 0;
  for (; processes < 50; processes++) {
    await submit("innocent", `innocent-${processes}`);
    const process = mortal(lab.store);
    kill = process.kill;
    const engine = lab.engine(graph, { store: process.store, maxRecoveries: 5 });
    // A process that is killed in the middle of this never comes back from it.
    void engine.recover();
    await lab.clock.advance(LEASE + ROUND);
    if ((await lab.elsewhere(graph).status("poison")).status === "interrupted") break;
  }
  assert.ok(processes < 49, "it was never parked");
  const reader = lab.elsewhere(graph);
  const { rows } = await reader.list({ reason: "halted" });
  assert.deepEqual(rows.map((row) => row.runId), ["poison"]);
  const view = await reader.get("poison");
  assert.equal(view.status === "interrupted" && view.halt?.kind, "max_recoveries");
  const history = (await reader.history("poison")).rows;
  assert.deepEqual(history.map((row) => row.revision), history.map((_, i) => i));
  assert.equal(
    history.filter(({ events }) => events[0]?.type === "claimed" && events.at(-1)?.type !== "halted").length,
    6,
    "begun once, recovered five times",
  );
  await lab.drive(reader.recover());
  await lab.clock.advance("1m");
  const done = (await reader.list({ status: "completed" })).rows;
  assert.equal(done.length, processes + 1);
  for (const { runId } of done) assert.equal((await reader.get(runId)).state.out.p, "survived");
  assert.equal(lab.count("a"), done.length + 1, "no vertex that was done ran again");
});
