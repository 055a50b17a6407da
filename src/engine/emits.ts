import { defaultCodec } from "../checkpoint/codec.ts";
import { CheckpointDecodeError, ContextError } from "../errors.ts";
import { canonical } from "../checkpoint/canonical.ts";
import { type Checkpoint, type Execution, refOf } from "../model/checkpoint.ts";
import { keyIn, vertexRunId } from "./ids.ts";
import type { RunEvent } from "./events.ts";
import type { EmitBatch } from "../store/store.ts";

/** Something that a body of a run emitted. */
export interface Emitted {
  /** The run whose body it was; of a run called by the one that is followed, the called one. */
  readonly runId: string;
  /** The vertex that emitted. */
  readonly vertexId: string;
  /** The index of the item, in a map vertex. */
  readonly item?: number;
  /** The step. */
  readonly step: number;
  /** The execution: it stays while its body runs again. */
  readonly vertexRunId: string;
  /** Tells the bodies of one execution apart: each run of it from the beginning has another one. */
  readonly body: string;
  /** When, in milliseconds since the epoch. */
  readonly at: number;
  /** The first argument of `ctx.emit`. */
  readonly name: string;
  /** The second one. */
  readonly data: unknown;
}

/** The emits of a batch, or a slice of one that is too large for a batch. */
export interface EmitsContent {
  /** Tells the writers of a run apart: the revision of the claim. */
  readonly writer: number;
  /** How many emits the writer had sent, or dropped, before those of this batch. */
  readonly index: number;
  readonly emits: readonly Emitted[];
  /** The number of this slice from 0, of how many, and its bytes. */
  readonly slice?: { readonly i: number; readonly of: number; readonly bytes: Uint8Array };
}

/** What observers in this process are told of it. */
export function emitEvent(
  { runId, vertexId, item, name, data }: Emitted,
): Extract<RunEvent, { type: "emit" }> {
  return { type: "emit", runId, vertexId, ...(item === undefined ? {} : { item }), name, data };
}

/**
 * A copy of what is emitted that can be stored.
 *
 * @throws {ContextError} the name is none
 * @throws {SerializationError} the data cannot be stored
 */
export function emittable(vertexId: string, name: unknown, data: unknown): unknown {
  if (typeof name === "string" && name.length > 0 && name.length <= LONGEST_NAME) {
    return canonical(data, `what vertex ${vertexId} emits as ${name}`);
  }
  const shown = JSON.stringify(name)?.slice(0, 80);
  throw new ContextError(
    `vertex ${vertexId} emitted under the name ${shown}; give a text of 1 to ${LONGEST_NAME} characters`,
    { vertexId },
  );
}

/** What the body of an execution emits. */
export function emittedBy(
  checkpoint: Checkpoint,
  x: Execution,
  emit: Pick<Emitted, "body" | "at" | "name" | "data">,
): Emitted {
  const { nextStep: step, run: { runId } } = checkpoint;
  return { runId, ...refOf(x), step, vertexRunId: vertexRunId(keyIn(checkpoint, x), x.generation), ...emit };
}

const LONGEST_NAME = 200;

/** The most bytes of a batch. */
export const BATCH_BYTES = 56 * 1024;

/** Each emit as bytes, so that a batch is measured before it is made. */
export function encodeEmit(emit: Emitted): Uint8Array {
  return defaultCodec.encode(emit).slice();
}

export function encodeEmits(
  writer: number,
  index: number,
  emits: readonly Uint8Array[],
  slice?: EmitsContent["slice"],
): Uint8Array {
  return defaultCodec.encode(slice === undefined ? [writer, index, emits] : [writer, index, [], slice]);
}

export function decodeEmit(bytes: Uint8Array): Emitted {
  return defaultCodec.decode(bytes) as Emitted;
}

/** Reads a batch, without trusting it. */
export function decodeEmits(runId: string, batch: EmitBatch): EmitsContent {
  const field = `emits ${batch.revision}.${batch.number}`;
  try {
    const [writer, index, emits, slice] = defaultCodec.decode(batch.bytes) as [
      number,
      number,
      Uint8Array[],
      EmitsContent["slice"]?,
    ];
    if (!Number.isSafeInteger(writer) || !Number.isSafeInteger(index) || !Array.isArray(emits)) {
      throw new TypeError("it is none");
    }
    return { writer, index, emits: emits.map(decodeEmit), ...(slice === undefined ? {} : { slice }) };
  } catch (cause) {
    throw new CheckpointDecodeError(runId, field, "it is not what this version wrote", { cause });
  }
}
