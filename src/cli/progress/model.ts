import type { RunEvent } from "../../engine/events.ts";
import { line, shortJson } from "../printable.ts";

/** What a vertex is up to. */
export type RowState = "running" | "done" | "failed" | "waiting" | "backoff";

/** A wait that keeps a vertex. */
export interface RowWait {
  readonly name: string;
  readonly due?: number;
  readonly isTimer: boolean;
}

/** One execution: of a vertex, or of one item of a map vertex. */
export interface Execution {
  state: RowState;
  readonly startedAt: number;
  endedAt?: number;
  attempt: number;
  /** When the next attempt begins, in `backoff`. */
  nextAt?: number;
  problem?: string;
  readonly waits: Map<string, RowWait>;
}

/** What is known of one vertex of a run; of its newest execution. */
export interface Row {
  readonly vertexId: string;
  step: number;
  /** How often it has begun in this process. */
  runs: number;
  /** The number of its items; 0 for an ordinary vertex. */
  items: number;
  /** By item; an ordinary vertex has the item -1. */
  readonly executions: Map<number, Execution>;
  /** What it said last with `ctx.emit`. */
  said?: string;
}

/** A run as its events tell it, by vertex in order of appearance. */
export class ProgressModel {
  readonly rows = new Map<string, Row>();

  /** Takes an event in. */
  apply(event: RunEvent): void {
    switch (event.type) {
      case "vertexStart":
        this.#begin(event);
        break;
      case "vertexFinish": {
        const x = this.#execution(event);
        x.state = event.status === "suspended" ? "waiting" : event.status;
        x.endedAt = event.endedAt;
        x.attempt = event.attempt;
        if (event.failure !== undefined) x.problem = line(event.failure.message, 200);
        break;
      }
      case "attemptFailed": {
        const x = this.#execution(event);
        x.state = "backoff";
        x.attempt = event.attempt;
        x.nextAt = event.nextAt;
        x.problem = line(event.failure.message, 200);
        break;
      }
      case "wait": {
        const { waitId, name, kind, due } = event;
        const wait = { name: line(name), isTimer: kind === "timer", ...(due === undefined ? {} : { due }) };
        this.#execution(event).waits.set(waitId, wait);
        break;
      }
      case "answer": {
        const x = this.#execution(event);
        x.waits.delete(event.waitId);
        x.state = "running";
        break;
      }
      case "waitClosed": {
        const x = this.#execution(event);
        x.waits.delete(event.waitId);
        if (event.reason === "fired" || event.reason === "expired") x.state = "running";
        break;
      }
      case "emit":
        this.#row(event.vertexId).said = line(`${event.name} ${shortJson(event.data)}`, 120);
        break;
    }
  }

  #begin(event: Extract<RunEvent, { type: "vertexStart" }>): void {
    const row = this.#row(event.vertexId);
    if (row.step !== event.step) {
      row.step = event.step;
      row.runs++;
      row.items = 0;
      row.executions.clear();
      delete row.said;
    }
    if (event.item !== undefined) row.items = Math.max(row.items, event.items ?? event.item + 1);
    row.executions.set(event.item ?? -1, fresh(event.startedAt, event.attempt));
  }

  #row(vertexId: string): Row {
    let row = this.rows.get(vertexId);
    if (row === undefined) {
      row = { vertexId, step: -1, runs: 0, items: 0, executions: new Map() };
      this.rows.set(vertexId, row);
    }
    return row;
  }

  #execution(event: { readonly vertexId: string; readonly item?: number }): Execution {
    const { executions } = this.#row(event.vertexId);
    let x = executions.get(event.item ?? -1);
    if (x === undefined) {
      x = fresh(Date.now(), 1);
      executions.set(event.item ?? -1, x);
    }
    return x;
  }
}

/** What a vertex is up to as a whole: the loudest of its items. */
export function stateOf(row: Row, now: number): RowState {
  const states = new Set([...row.executions.values()].map((x) => currentState(x, now)));
  const loudest = STATUS_PRECEDENCE.find((state) => states.has(state)) ?? "running";
  return loudest === "done" && row.executions.size < row.items ? "running" : loudest;
}

const STATUS_PRECEDENCE: readonly RowState[] = ["running", "backoff", "failed", "waiting", "done"];

/** The next attempt begins without an event of its own. */
export function currentState(x: Execution, now: number): RowState {
  return x.state === "backoff" && (x.nextAt ?? 0) <= now ? "running" : x.state;
}

function fresh(startedAt: number, attempt: number): Execution {
  return { state: "running", startedAt, attempt, waits: new Map() };
}
