import { evolve } from "../checkpoint/evolve.ts";
import { isStillSuspended, type Mailbox } from "../checkpoint/mailbox.ts";
import type { EventOf, RecordEvent } from "../checkpoint/records.ts";
import type { ContextError } from "../errors.ts";
import { type Checkpoint, executionKey, refOf } from "../model/checkpoint.ts";
import { compareIds } from "../model/ids.ts";
import type { WaitResult, WaitState } from "../model/wait.ts";

/**
 * What the mailbox and the clock add to the facts of a record. Pure.
 *
 * 1. Results are taken in for executions whose body is at rest. A body that is at work is let come to rest first.
 * 2. An accepted answer always becomes a result before its wait closes: when a body has settled or closed the wait in the
 *    same record, its outcome is not durable yet, so it is dropped and the body runs again.
 * 3. Results of one record are numbered by the time they were accepted or due, then by name.
 * 4. A cancellation and a passed deadline come last: what became known before them stays known.
 * 5. What a body opens that misuses its context, and fails for that in the same record, is never opened: nobody awaits it.
 */
export function withMailboxFacts(
  checkpoint: Checkpoint,
  mailbox: Mailbox,
  given: readonly RecordEvent[],
  now: number,
  isAtRest: (key: string) => boolean = () => true,
): { readonly events: readonly RecordEvent[]; readonly rerun: readonly string[] } {
  const facts = withoutMisused(given);
  const closing = new Set(facts.flatMap((e) => e.type === "closed" ? [e.id] : []));
  const results = resultsDue(checkpoint, mailbox, facts, now).filter((r) =>
    closing.has(r.id) || isAtRest(executionKey(r.vertexId, r.item))
  );
  const returned = returnsOf(checkpoint, mailbox);
  const rerun = results.length + returned.length === 0
    ? NONE
    : [...results, ...returned].map((r) => executionKey(r.vertexId, r.item));
  const events = results.length === 0 ? [...facts] : [...without(facts, results, rerun), ...results];
  events.push(...returned);

  const { deadline, status } = checkpoint.run;
  if (status === "running" || facts.some((e) => e.type === "claimed")) {
    if (mailbox.cancel !== undefined) events.push({ type: "cancelled", reason: mailbox.cancel.reason });
    else if (deadline !== undefined && deadline <= now) {
      events.push({ type: "cancelled", reason: "deadline" });
    }
  }
  return { events, rerun: rerun.length < 2 ? rerun : [...new Set(rerun)] };
}

/** The executions that are to run again since a body of theirs came back, each once. */
function returnsOf(checkpoint: Checkpoint, { returns = [] }: Mailbox): EventOf<"returned">[] {
  const found = new Map<string, EventOf<"returned">>();
  for (const posted of returns) {
    if (!isStillSuspended(checkpoint, posted)) continue;
    const { slow } = posted;
    const event: EventOf<"returned"> = { type: "returned", ...refOf(posted), posted: true };
    found.set(executionKey(posted.vertexId, posted.item), slow === undefined ? event : { ...event, slow });
  }
  return [...found.values()];
}

/** The facts but for what was opened, and closed by that, in bodies that misused their context. */
function withoutMisused(facts: readonly RecordEvent[]): readonly RecordEvent[] {
  const misused = facts.flatMap((e) =>
    e.type === "failed" && e.failure.code === MISUSE ? [executionKey(e.vertexId, e.item)] : []
  );
  if (misused.length === 0) return facts;
  return facts.filter((e) =>
    e.type !== "opened" && e.type !== "closed" || !misused.includes(executionKey(e.vertexId, e.item))
  );
}

const MISUSE: ContextError["code"] = "CONTEXT";

/** Drops the outcomes of bodies that ran without these results. */
function without(
  facts: readonly RecordEvent[],
  results: readonly EventOf<"resolved">[],
  rerun: readonly string[],
): readonly RecordEvent[] {
  const resolved = new Set(results.map((r) => r.id));
  return facts.filter((e) => {
    if (e.type === "closed") return !resolved.has(e.id);
    return !isOutcome(e) || !rerun.includes(executionKey(e.vertexId, e.item));
  });
}

/** What is left of facts that are not recorded when others were by which these executions run again. */
export function withoutOutdated(
  facts: readonly RecordEvent[],
  recorded: readonly RecordEvent[],
  rerun: readonly string[],
): RecordEvent[] {
  const resolved = new Set(recorded.flatMap((e) => e.type === "resolved" ? [e.id] : []));
  return facts.filter((e) =>
    e.type === "closed"
      ? !resolved.has(e.id)
      : !isOutcome(e) || !rerun.includes(executionKey(e.vertexId, e.item))
  );
}

const NONE: readonly never[] = [];

/** Whether the event is what a body came to, apart from running out of time. */
export function isOutcome(event: RecordEvent): event is Outcome {
  switch (event.type) {
    case "done":
    case "suspended":
      return true;
    case "failed":
    case "attempt_failed":
      return event.failure.phase !== "timeout";
    default:
      return false;
  }
}

type Outcome = EventOf<"done" | "suspended" | "failed" | "attempt_failed">;

/** The results that the mailbox and the clock have for the open waits of a run, in the order of their numbers. */
export function resultsDue(
  checkpoint: Checkpoint,
  mailbox: Mailbox,
  facts: readonly RecordEvent[],
  now: number,
): readonly EventOf<"resolved">[] {
  const opens = facts.some((e) => e.type === "opened");
  if (!opens && !hasWaits(checkpoint)) return [];
  const { revision } = checkpoint.run;
  const known = facts.filter((e) => e.type !== "closed" && e.type !== "done" && e.type !== "failed");
  const { executions } = evolve(checkpoint, known, revision, now);
  const answers = new Map(mailbox.answers.map((a) => [a.waitId, a]));
  const found: { readonly at: number; readonly name: string; readonly event: EventOf<"resolved"> }[] = [];
  for (const x of executions.values()) {
    if (x.status === "done" || x.status === "failed") continue;
    for (const wait of x.waits.values()) {
      if (wait.result !== undefined || wait.closed !== undefined) continue;
      const answer = answers.get(wait.id);
      const result: WaitResult | undefined = answer === undefined
        ? ended(wait, now, checkpoint.run.caller !== undefined)
        : { kind: "answered", value: answer.value, at: answer.at };
      if (result === undefined) continue;
      const at = result.kind === "answered" ? result.at : wait.due!;
      found.push({ at, name: wait.name, event: { type: "resolved", ...refOf(x), id: wait.id, result } });
    }
  }
  return found.sort((a, b) => a.at - b.at || compareIds(a.name, b.name)).map((f) => f.event);
}

function hasWaits(checkpoint: Checkpoint): boolean {
  for (const x of checkpoint.executions.values()) if (x.waits.size > 0) return true;
  return false;
}

/** In a run that works for another one it is for the caller to say what has expired. */
function ended(wait: WaitState, now: number, called: boolean): WaitResult | undefined {
  if (wait.due === undefined || wait.due > now) return undefined;
  if (wait.kind === "timer") return { kind: "fired", at: now };
  return called ? undefined : { kind: "expired", at: now };
}
