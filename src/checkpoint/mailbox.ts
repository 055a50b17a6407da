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
import type { MailboxEntry, MailboxState } from "../store/store.ts";
import { canonical } from "./canonical.ts";
import type { Codec } from "./codec.ts";
import type { RecordEvent } from "./records.ts";

/**
 * What others leave for a run without moving its head. It also says who owns the run, or when it is to be woken, so
 * that one version check decides every race between an answer, an expiry, a claim, a release and a cancellation.
 *
 * Answers and returns are entries of their own beside it, so that a post costs what it brings.
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

/** What stands beside the mailbox. */
interface Posted {
  /** The id of its entry; absent before it is stored, and where it stands in the mailbox, as earlier code wrote it. */
  readonly entry?: string;
  /** Who posted it, where that is known. */
  readonly by?: string;
}

/** A body that came back. It counts while its execution has not moved on. */
export interface PostedReturn extends ExecutionRef, Posted {
  readonly step: number;
  readonly generation: number;
  readonly attempts: number;
  readonly results: number;
  /** As in the event `returned`. */
  readonly slow?: true;
}

/** An accepted answer. */
export interface PostedAnswer extends Posted {
  readonly waitId: string;
  readonly value: unknown;
  readonly at: number;
}

/** An entry, as it is posted. */
export type Post =
  | { readonly kind: "answer" } & Omit<PostedAnswer, "entry">
  | { readonly kind: "return" } & Omit<PostedReturn, "entry">;

const by = z.string().exactOptional();
const answer = z.object({ waitId: z.string(), value: z.unknown(), at: z.number(), by });
const back = z.object({
  vertexId: z.string(),
  item: z.number().exactOptional(),
  step: z.number(),
  generation: z.number(),
  attempts: z.number(),
  results: z.number(),
  slow: z.literal(true).exactOptional(),
  by,
});
const post = z.discriminatedUnion("kind", [
  answer.extend({ kind: z.literal("answer") }),
  back.extend({ kind: z.literal("return") }),
]);

const shape = z.object({
  graphVersion: z.string(),
  owner: z.string().exactOptional(),
  wake: z.number().exactOptional(),
  deadline: z.number().exactOptional(),
  cancel: z.object({ reason: z.string(), at: z.number() }).exactOptional(),
  queue: z.string().exactOptional(),
  granted: z.array(z.object({ permit: z.string(), n: z.number(), freed: z.number().exactOptional() }))
    .exactOptional(),
  /** What earlier code, which knew no entries, had in the mailbox itself, until it is taken; it wrote the fields below. */
  inline: z.object({ answers: z.array(answer), returns: z.array(back) }).exactOptional(),
  answers: z.array(answer).exactOptional(),
  returns: z.array(back).exactOptional(),
});

/** The mailbox of a run that has none. */
export function noMailbox(graphVersion: string): { readonly version: null; readonly content: Mailbox } {
  return { version: null, content: { graphVersion, answers: [] } };
}

/** The bytes of a mailbox, without what stands beside it. */
export function encodeMailbox({ answers, returns = [], ...mailbox }: Mailbox, codec: Codec): Uint8Array {
  const isInline = ({ entry }: Posted) => entry === undefined;
  const inline = { answers: answers.filter(isInline), returns: returns.filter(isInline) };
  return codec.encode(inline.answers.length + inline.returns.length === 0 ? mailbox : { ...mailbox, inline });
}

/** The bytes of an entry. */
export function encodePost(post: Post, codec: Codec): Uint8Array {
  return codec.encode(post);
}

/** A mailbox from bytes of unknown origin; without `entries` nothing is known of what stands beside it. */
export function decodeMailbox(
  { value, entries = [] }: Pick<MailboxState, "value"> & { readonly entries?: readonly MailboxEntry[] },
  codec: Codec,
  runId: string,
): Mailbox {
  try {
    const { inline, ...mailbox } = shape.parse(codec.decode(value));
    const answers: PostedAnswer[] = [];
    const returns: PostedReturn[] = [];
    const add = ({ value, ...a }: PostedAnswer) =>
      answers.push({ ...a, value: canonical(value, `the answer to wait ${a.waitId}`) });
    for (const { answers = [], returns: back = [] } of [mailbox, inline ?? {}]) {
      answers.forEach(add);
      returns.push(...back);
    }
    for (const { id: entry, value } of entries) {
      const { kind, ...posted } = post.parse(codec.decode(value));
      if (kind === "answer") add({ ...posted as PostedAnswer, entry });
      else returns.push({ ...posted as PostedReturn, entry });
    }
    const { returns: _, ...rest } = mailbox;
    return { ...rest, answers, ...(returns.length === 0 ? {} : { returns }) };
  } catch (cause) {
    throw new CheckpointDecodeError(runId, "Mailbox", "it is not a mailbox that this version wrote", {
      cause,
    });
  }
}

/** The ids of what stood beside a mailbox and stands there no longer. */
export function takenFrom(before: Mailbox | undefined, after: Mailbox): readonly string[] {
  if (before === undefined) return [];
  const left = new Set(idsOf(after));
  return idsOf(before).filter((id) => !left.has(id));
}

function idsOf({ answers, returns = [] }: Mailbox): string[] {
  return [...answers, ...returns].flatMap(({ entry }) => entry === undefined ? [] : [entry]);
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
    "migrated",
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
  const names = write.events.find((e) => e.type === "migrated")?.vertices;
  const named = (r: PostedReturn) => ({ ...r, vertexId: names?.get(r.vertexId) ?? r.vertexId });
  const returns = ended ? [] : (content?.returns ?? []).map(named).filter(suspended);
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
