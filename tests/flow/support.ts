import assert from "node:assert/strict";
import { CheckpointLog } from "../../src/checkpoint/log.ts";
import { compileFlow } from "../../src/graph/flow.ts";
import type { CompiledGraph } from "../../src/model/definition.ts";
import type { FlowOptions } from "../../src/model/flow.ts";
import { systemRuntime } from "../../src/runtime/system.ts";
import type { Store } from "../../src/store/store.ts";
import { graphOf, type Notes } from "../support/graphs.ts";

/** What the runs of these tests begin with. */
export interface Job extends Notes {
  readonly tenant?: string;
  readonly ms?: number;
}

/** A graph with limits. */
export function limited<S>(graph: CompiledGraph<S>, limits: FlowOptions<S>): CompiledGraph<S> {
  return Object.freeze({ ...graph, flow: compileFlow("limit", graph.id, limits) });
}

/** How many bodies are at work at once, and the order in which they began. */
export class Watch {
  readonly began: string[] = [];
  readonly times: number[] = [];
  atWork = 0;
  most = 0;
}

/** One vertex whose body sleeps for the time that the input says. */
export function jobs(
  limits: FlowOptions<Job>,
  watch: Watch,
  sleep: (ms: number) => Promise<void>,
): CompiledGraph<Job> {
  const graph = graphOf<Job>({
    id: "jobs",
    vertices: {
      work: {
        select: (s) => s,
        run: async (input, ctx) => {
          watch.began.push(ctx.runId);
          watch.most = Math.max(watch.most, ++watch.atWork);
          await sleep((input as Job).ms ?? 100);
          watch.atWork--;
        },
      },
    },
  });
  return limited(graph, limits);
}

/** What the histories of runs say of one permit, in the order of its numbers. */
export interface PermitEvent {
  readonly n: number;
  readonly by: 1 | -1;
  readonly runId: string;
}

/**
 * Checks by the records of all runs of a store that no permit was ever held more often than its limit, and that all are
 * back.
 */
export async function checkPermits(
  store: Store,
  limitOf: (permit: string) => number,
  options: { readonly held?: number } = {},
): Promise<ReadonlyMap<string, readonly PermitEvent[]>> {
  const log = new CheckpointLog<unknown>(store, systemRuntime);
  const permits = new Map<string, PermitEvent[]>();
  let cursor: string | undefined;
  do {
    const page = await store.list({ limit: 1000, ...(cursor === undefined ? {} : { cursor }) });
    cursor = page.cursor;
    for (const { runId } of page.rows) {
      for (const { events } of await log.history(runId, 0, 10_000)) {
        for (const event of events) {
          if (event.type !== "granted" && event.type !== "freed") continue;
          const all = permits.get(event.permit) ?? [];
          permits.set(event.permit, all);
          all.push({ n: event.n, by: event.type === "granted" ? 1 : -1, runId });
        }
      }
    }
  } while (cursor !== undefined);
  let left = 0;
  for (const [permit, events] of permits) {
    events.sort((a, b) => a.n - b.n);
    const holders = new Set<string>();
    for (const [i, { n, by, runId }] of events.entries()) {
      assert.notEqual(n, events[i - 1]?.n, `${permit}: number ${n} is given twice`);
      if (by === 1) {
        assert.ok(!holders.has(runId), `${permit}: run ${runId} got it twice`);
        holders.add(runId);
      } else assert.ok(holders.delete(runId), `${permit}: run ${runId} gave back what it had not`);
      assert.ok(holders.size <= limitOf(permit), `${permit}: ${holders.size} holders at number ${n}`);
    }
    left += holders.size;
    const [cell] = await store.cells.read([{ space: "permit", name: permit }]);
    const { held } = JSON.parse(new TextDecoder().decode(cell!.value)) as { held: number };
    assert.equal(held, holders.size, `${permit}: the count says ${held}, the records ${holders.size}`);
    const rows = await store.cells.list("holder", { prefix: `${permit}\u0001`, limit: 1000 });
    assert.equal(rows.length, holders.size, `${permit}: holders`);
  }
  assert.equal(left, options.held ?? 0, "permits that are held in the end");
  return permits;
}
