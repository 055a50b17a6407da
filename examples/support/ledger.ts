import { appendFileSync, existsSync, readFileSync } from "node:fs";
import process from "node:process";
import type { Hooks, Task } from "superstep";

/** One line of a ledger. */
export interface LedgerEntry {
  readonly at: string;
  readonly pid: number;
  /** `started`: a body began · `finished`: its outcome is durable · anything else: an effect on the world. */
  readonly event: string;
  readonly run?: string;
  readonly vertex?: string;
  readonly item?: number;
  /** The execution: the same in every attempt and re-run, whatever process it happens in. */
  readonly execution?: string;
  /** The idempotency key of an effect. */
  readonly key?: string;
  readonly detail?: unknown;
}

/**
 * What really happened, in a file beside the store: one line of JSON for every body that began, every outcome that
 * became durable and every effect. It shares nothing with the engine, so it can bear witness against it.
 */
export class Ledger {
  constructor(readonly path: string) {}

  write(entry: Omit<LedgerEntry, "at" | "pid">): void {
    const line: LedgerEntry = { at: new Date().toISOString(), pid: process.pid, ...entry };
    appendFileSync(this.path, `${JSON.stringify(line)}\n`);
  }

  /** Everything noted so far, or what belongs to one run. */
  entries(run?: string): LedgerEntry[] {
    if (!existsSync(this.path)) return [];
    const lines = readFileSync(this.path, "utf8").split("\n").filter((line) => line !== "");
    const entries = lines.map((line) => JSON.parse(line) as LedgerEntry);
    return run === undefined ? entries : entries.filter((entry) => entry.run === run);
  }

  /** The task, noting whenever its body begins: hand it to `provide`. */
  watch(task: Task<never, unknown>): Task<never, unknown> {
    return {
      execute: (input, ctx) => {
        this.write({
          event: "started",
          run: ctx.runId,
          vertex: ctx.vertexId,
          ...(ctx.item === undefined ? {} : { item: ctx.item }),
          execution: ctx.vertexRunId,
        });
        return task.execute(input, ctx);
      },
    };
  }

  /** Notes every outcome once it is durable: hand it to `compile`. */
  readonly hooks: Hooks = {
    vertexFinish: ({ status, runId, vertexId, item, vertexRunId }) => {
      if (status === "suspended") return;
      this.write({
        event: "finished",
        run: runId,
        vertex: vertexId,
        ...(item === undefined ? {} : { item }),
        execution: vertexRunId,
        detail: status,
      });
    },
  };

  /** Bodies that began although their outcome was durable already. There must be none. */
  repeated(run?: string): LedgerEntry[] {
    const finished = new Set<string>();
    return this.entries(run).filter(({ event, execution }) => {
      if (execution === undefined) return false;
      if (event === "finished") finished.add(execution);
      return event === "started" && finished.has(execution);
    });
  }

  /** For each vertex, in order of appearance, how many executions finished and how many bodies they took. */
  totals(run?: string): Map<string, { executions: number; bodies: number }> {
    const totals = new Map<string, { executions: number; bodies: number }>();
    for (const { event, vertex } of this.entries(run)) {
      if (vertex === undefined) continue;
      const total = totals.get(vertex) ?? { executions: 0, bodies: 0 };
      if (event === "started") total.bodies++;
      if (event === "finished") total.executions++;
      totals.set(vertex, total);
    }
    return totals;
  }
}
