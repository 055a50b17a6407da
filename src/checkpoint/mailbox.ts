import { z } from "zod";
import { CheckpointDecodeError } from "../errors.ts";
import {
  type Checkpoint,
  type Execution,
  executionKey,
  type ExecutionRef,
  refOf,
} from "../model/checkpoint.ts";
import { type Grant, placeOf } from "../model/flow.ts";
import { isOver } from "../model/run.ts";
import { isOpen } from "../model/wait.ts";
import { canonical } from "./canonical.ts";
import type { Codec } from "./codec.ts";
import type { RecordEvent } from "./records.ts";

/**
 * What others leave for a run without moving its head. It also says who owns the run, or when it is to be woken, so
 * that one version check decides every race between an answer, an expiry, a claim, a release and a cancellation.
 */
export interface Mailbox {
  /** The version of the graph that the run was begun under. */
  readonly graphVersion: string;
  readonly owner?: string;
  /** When an unowned run is due; {@link dueAtOnce} where that is now. Never present together with `owner`. */
  readonly wake?: number;
  /** When the run is over at the latest, for those who judge without its record. */
  readonly deadline?: number;
  /** Accepted answers that no record holds yet, in the order of acceptance. */
  readonly answers: readonly PostedAnswer[];
  /** Suspended executions that are to run again, since their bodies came back after the run had been released. */
  readonly returns?: readonly PostedReturn[];
  readonly cancel?: { readonly reason: string; readonly at: number };
  /** Its place in the queue that it waits in. Then nothing but its turn, its deadline or a cancellation wakes it. */
  readonly queue?: string;
  /** Permits that it was given when its turn came, and that no record holds yet. */
  readonly granted?: readonly PostedGrant[];
}

/** A permit that was given; `freed` is the number of its return, where nobody came for the run and it was taken back. */
export interface PostedGrant extends Grant {
  readonly freed?: number;
}

/** A body that came back. It counts while its execution has not moved on. */
export interface PostedReturn extends ExecutionRef {
  readonly step: number;
  readonly generation: number;
  readonly attempts: number;
  readonly results: number;
  /** As in the event `returned`. */
  readonly slow?: true;
}

/** An accepted answer. */
interface PostedAnswer {
  readonly waitId: string;
  readonly value: unknown;
  readonly at: number;
}

const shape = z.object({
  graphVersion: z.string(),
  owner: z.string().exactOptional(),
  wake: z.number().exactOptional(),
  deadline: z.number().exactOptional(),
  returns: z.array(z.object({
    vertexId: z.string(),
    item: z.number().exactOptional(),
    step: z.number(),
    generation: z.number(),
    attempts: z.number(),
    results: z.number(),
    slow: z.literal(true).exactOptional(),
  })).exactOptional(),
  answers: z.array(z.object({ waitId: z.string(), value: z.unknown(), at: z.number() })),
  cancel: z.object({ reason: z.string(), at: z.number() }).exactOptional(),
  queue: z.string().exactOptional(),
  granted: z.array(z.object({ permit: z.string(), n: z.number(), freed: z.number().exactOptional() }))
    .exactOptional(),
});

/** The mailbox of a run that has none. */
export function noMailbox(graphVersion: string): { readonly version: null; readonly content: Mailbox } {
  return { version: null, content: { graphVersion, answers: [] } };
}

/** The bytes of a mailbox. */
export function encodeMailbox(mailbox: Mailbox, codec: Codec): Uint8Array {
  return codec.encode(mailbox);
}

/** A mailbox from bytes of unknown origin. */
export function decodeMailbox(bytes: Uint8Array, codec: Codec, runId: string): Mailbox {
  try {
    const mailbox = shape.parse(codec.decode(bytes));
    return {
      ...mailbox,
      answers: mailbox.answers.map((a) => ({
        ...a,
        value: canonical(a.value, `the answer to wait ${a.waitId}`),
      })),
    };
  } catch (cause) {
    throw new CheckpointDecodeError(runId, "Mailbox", "it is not a mailbox that this version wrote", {
      cause,
    });
  }
}

/**
 * The wake of a run that is due now: a time early in 1970, so that it is due whatever a clock says later; the older it is
 * the sooner it comes.
 */
export function dueAtOnce(now: number): number {
  return Math.min(LAST_AT_ONCE, Math.max(0, Math.floor(now / 1_000)));
}

/** No wake that is a time is as early as this. */
export const LAST_AT_ONCE = 100_000_000_000;

const MOVES_MAILBOX: ReadonlySet<string> = new Set<RecordEvent["type"]>(
  [
    "created",
    "forked",
    "adopted",
    "claimed",
    "released",
    "resolved",
    "closed",
    "reopened",
    "halted",
    "completed",
    "cancelled",
    "queued",
  ],
);

function movesMailbox(event: RecordEvent): boolean {
  if (event.type === "updated") return event.maps !== undefined;
  if (event.type === "returned") return event.posted === true;
  return MOVES_MAILBOX.has(event.type) && !(event.type === "resolved" && event.result.kind === "fired");
}

/** The mailbox that the record leaves behind, or `undefined` when it does not touch it. */
export function mailboxAfter(
  before: { readonly mailbox: { readonly content: Mailbox } } | undefined,
  checkpoint: Checkpoint,
  write: { readonly events: readonly RecordEvent[]; readonly wake?: number | undefined },
): Mailbox | undefined {
  if (!write.events.some(movesMailbox)) return undefined;
  const { owner, status, caller, deadline, updatedAt } = checkpoint.run;
  const ended = isOver(status);
  const open = new Set<string>();
  for (const x of checkpoint.executions.values()) {
    for (const wait of x.waits.values()) {
      if (isOpen(wait)) open.add(wait.id);
    }
  }
  const content = before?.mailbox.content;
  const suspended = (r: PostedReturn) =>
    checkpoint.executions.get(executionKey(r.vertexId, r.item))?.status === "suspended";
  const returns = ended ? [] : (content?.returns ?? []).filter(suspended);
  const { runId, flow = {}, queued } = checkpoint.run;
  const isQueuedNow = write.events.some((e) => e.type === "queued");
  const granted = ended
    ? []
    : (content?.granted ?? []).filter(({ permit, n }) =>
      !write.events.some((e) => e.type === "granted" && e.permit === permit && e.n === n)
    );
  return {
    graphVersion: checkpoint.run.graphVersion,
    ...(owner === undefined ? {} : { owner }),
    ...(queued === undefined || queued.until !== undefined || granted.some(({ freed }) => freed === undefined)
      ? {}
      : {
        queue: isQueuedNow ? placeOf(runId, flow, queued) : content?.queue ?? placeOf(runId, flow, queued),
      }),
    ...(granted.length === 0 ? {} : { granted }),
    ...(owner === undefined && write.wake !== undefined && !ended && caller === undefined
      ? { wake: write.wake <= updatedAt ? dueAtOnce(updatedAt) : write.wake }
      : {}),
    ...(deadline === undefined ? {} : { deadline }),
    ...(returns.length === 0 ? {} : { returns }),
    answers: ended ? [] : (content?.answers ?? []).filter((a) => open.has(a.waitId)),
    ...(content?.cancel === undefined || ended ? {} : { cancel: content.cancel }),
  };
}

/** Which body of which execution has come back. */
export function identityOf(x: Execution, step: number): PostedReturn {
  const { generation, results } = x;
  return { ...refOf(x), step, generation, attempts: x.failedAttempts.length, results };
}

/** Whether the execution is suspended still, as it was when the body was let go. */
export function isStillSuspended({ executions, nextStep }: Checkpoint, posted: PostedReturn): boolean {
  const x = executions.get(executionKey(posted.vertexId, posted.item));
  if (x?.status !== "suspended" || nextStep !== posted.step) return false;
  const { generation, attempts, results } = identityOf(x, nextStep);
  return generation === posted.generation && attempts === posted.attempts && results === posted.results;
}

/** Whether executions of a run are to run again since their bodies came back. */
export function hasReturns(checkpoint: Checkpoint, { returns = [] }: Mailbox): boolean {
  return returns.some((posted) => isStillSuspended(checkpoint, posted));
}
