import type { EventOf, RecordEvent } from "../checkpoint/records.ts";
import {
  type Checkpoint,
  type Execution,
  executionKey,
  type ExecutionRef,
  refOf,
} from "../model/checkpoint.ts";
import { defined } from "../model/defined.ts";
import { compareIds } from "../model/ids.ts";
import type { WaitCloseReason, WaitOpening } from "../model/wait.ts";
import type { RunEvent, VertexStart } from "./events.ts";
import { keyIn, vertexRunId } from "./ids.ts";

/**
 * What observers are told of a record that has become durable, in this order: the checkpoint, the start of the run or who
 * goes on with it, the outcomes and waits in ascending vertex id, the edges, the step, the halt, the end of the run.
 */
export function hookEventsOf(
  before: Checkpoint,
  after: Checkpoint,
  events: readonly RecordEvent[],
): RunEvent[] {
  const { run } = after;
  const { runId } = run;
  const told: RunEvent[] = [
    { type: "checkpoint", runId, revision: run.revision, step: run.step, at: run.updatedAt },
  ];
  // A run that was submitted starts with its first claim.
  if (events[0]?.type === "created" || (before.run.startedAt === undefined && run.startedAt !== undefined)) {
    told.push({ type: "runStart", run });
  } else {
    const claimed = events.find((e) => e.type === "claimed");
    if (claimed !== undefined) told.push({ type: "runResume", run, recovery: claimed.recovery });
  }

  const ofVertices = events.filter(isOfVertex).sort((a, b) =>
    compareIds(a.vertexId, b.vertexId) || (a.item ?? -1) - (b.item ?? -1) || RANK[a.type] - RANK[b.type]
  );
  const stepBefore = before.nextStep;
  for (const event of ofVertices) told.push(...ofVertex(event, before, stepBefore, runId));

  for (const event of events) {
    if (event.type === "routed") {
      for (const route of event.routes) told.push({ type: "edge", run, route });
      told.push({ type: "step", run, step: stepBefore, vertices: before.frontier });
    } else if (event.type === "halted") {
      told.push({ type: "halt", run, halt: event.halt });
    }
  }
  if (run.owner === undefined && run.status !== "running") told.push({ type: "runFinish", run });
  return told;
}

/** What observers are told when the first body of an execution begins; `mapped` is what is still to be recorded of maps. */
export function vertexStart(
  checkpoint: Checkpoint,
  x: Execution,
  startedAt: number,
  mapped: readonly EventOf<"mapped">[] = [],
): VertexStart {
  const ofMap = checkpoint.maps.get(x.vertexId) ?? mapped.find(({ vertexId }) => vertexId === x.vertexId);
  const items = ofMap?.count ?? 0;
  const { run: { runId }, nextStep: step } = checkpoint;
  const { vertexId, item, generation, failedAttempts } = x;
  return {
    type: "vertexStart",
    runId,
    vertexId,
    ...(item === undefined ? {} : { item, items }),
    get vertexRunId() {
      return vertexRunId(keyIn(checkpoint, x), generation);
    },
    step,
    attempt: failedAttempts.length + 1,
    startedAt,
  };
}

type VertexEvent = EventOf<
  "done" | "failed" | "suspended" | "attempt_failed" | "opened" | "resolved" | "closed" | "reopened"
>;

const RANK: Record<VertexEvent["type"], number> = {
  attempt_failed: 0,
  done: 1,
  failed: 1,
  suspended: 1,
  opened: 2,
  resolved: 3,
  closed: 3,
  reopened: 3,
};

function isOfVertex(event: RecordEvent): event is VertexEvent {
  return event.type in RANK;
}

function ofVertex(event: VertexEvent, before: Checkpoint, step: number, runId: string): RunEvent[] {
  const { vertexId, item } = event;
  const of = { runId, ...refOf(event) };
  const x = before.executions.get(executionKey(vertexId, item));
  const key = keyIn(before, event);
  const vertex = {
    ...of,
    get vertexRunId() {
      return vertexRunId(key, x?.generation ?? 0);
    },
    step,
    attempt: (x?.failedAttempts.length ?? 0) + 1,
  };
  const closed = (reason: Exclude<WaitCloseReason, "answered">, waitId: string): RunEvent => {
    return { type: "waitClosed", ...of, waitId, reason };
  };
  switch (event.type) {
    case "attempt_failed": {
      const { failure, nextAt, stack } = event;
      const { attempt } = failure;
      return [{ type: "attemptFailed", ...vertex, attempt, failure, nextAt, ...defined({ stack }) }];
    }
    case "done": {
      const { startedAt, at: endedAt, attempt } = event;
      return [{ type: "vertexFinish", ...vertex, attempt, status: "done", startedAt, endedAt }];
    }
    case "failed": {
      const { startedAt, at: endedAt, failure, stack } = event;
      const { attempt } = failure;
      const times = { startedAt, endedAt };
      return [{
        type: "vertexFinish",
        ...vertex,
        attempt,
        status: "failed",
        ...times,
        failure,
        ...defined({ stack }),
      }];
    }
    case "suspended": {
      const { startedAt, at: endedAt } = event;
      return [{ type: "vertexFinish", ...vertex, status: "suspended", startedAt, endedAt }];
    }
    case "opened":
      return [opening(runId, event, event)];
    case "resolved":
      return event.result.kind === "answered"
        ? [{ type: "answer", ...of, waitId: event.id }]
        : [closed(event.result.kind, event.id)];
    case "closed":
      return event.reason === "answered" ? [] : [closed(event.reason, event.id)];
    case "reopened": {
      const wait = x?.waits.get(event.id);
      const refused = closed("refused", event.id);
      return wait === undefined ? [refused] : [refused, opening(runId, event, { ...wait, id: event.newId })];
    }
  }
}

function opening(runId: string, of: ExecutionRef, wait: WaitOpening): RunEvent {
  const { id: waitId, kind, name, key, due } = wait;
  return {
    type: "wait",
    runId,
    ...refOf(of),
    waitId,
    kind,
    name,
    ...defined({ key, due }),
    ...("info" in wait ? { info: wait.info } : {}),
  };
}
