import type { Key, KeyPart, KvEntry } from "./driver.ts";
import { corrupt, type Frame, frame, MAX_VALUE, unframe, ValueFault } from "./frame.ts";
import { below, chunkKey } from "./keys.ts";
import type { Write } from "./op.ts";
import { type Call, type Session, TornRead } from "./session.ts";

/** What a chunk carries beside the frame around it. */
const CHUNK = MAX_VALUE - 32;
const EVERY_CHUNK = 1_000_000;

/**
 * Makes values of payloads. What does not fit into a value becomes chunks under keys of its own, and the value names
 * them: the first element of every packed frame is the blob that holds its chunks, or 0.
 */
export class Packer {
  readonly chunks: Write[] = [];
  readonly #epoch: string;
  readonly #blob: () => string;
  readonly #inlineMax: number;

  /** @param inlineMax the longest payload that stays in its value */
  constructor(epoch: string, blob: () => string, inlineMax: number = MAX_VALUE) {
    this.#epoch = epoch;
    this.#blob = blob;
    this.#inlineMax = inlineMax;
  }

  pack(key: Key, slot: KeyPart, meta: readonly unknown[], body: Uint8Array): Write {
    const inline = inlineValue(meta, body, this.#inlineMax);
    if (inline !== undefined) return { key, value: inline };
    const value = frame([this.#blob(), ...meta]);
    if (value.length > MAX_VALUE) {
      throw new ValueFault(
        `a row takes ${value.length} bytes beside its body, at most ${MAX_VALUE} are kept`,
      );
    }
    this.cut(slot, body);
    return { key, value };
  }

  /** Puts a payload into chunks, an empty one too. */
  cut(slot: KeyPart, body: Uint8Array): void {
    const count = chunkCount(body.length);
    for (let i = 0; i < count; i++) {
      this.chunks.push({
        key: chunkKey(this.#epoch, this.#blob(), slot, i),
        value: frame([count], body.subarray(i * CHUNK, (i + 1) * CHUNK)),
      });
    }
  }
}

/** The value that holds a payload itself; `undefined` when the payload is too long for that. */
export function inlineValue(
  meta: readonly unknown[],
  body: Uint8Array,
  inlineMax: number = MAX_VALUE,
): Uint8Array | undefined {
  if (body.length > inlineMax) return undefined;
  const value = frame([0, ...meta], body);
  return value.length <= MAX_VALUE ? value : undefined;
}

/** How many chunks a payload takes. */
export function chunkCount(length: number): number {
  return Math.max(1, Math.ceil(length / CHUNK));
}

/** A packed value, taken apart: `blob` is where the body is when it is not here. */
export interface Packed extends Frame {
  readonly blob: string | undefined;
}

/** Takes a packed value apart without reading its chunks. */
export function unpack(entry: KvEntry, what: string): Packed {
  const { meta, body } = unframe(entry.value, what);
  const blob = meta[0];
  if (blob !== 0 && typeof blob !== "string") throw corrupt(what);
  return { blob: blob === 0 ? undefined : blob, meta: meta.slice(1), body };
}

/** The body of a packed value, wherever it is. */
export async function bodyOf(
  session: Session,
  call: Call,
  packed: Packed,
  epoch: string,
  slot: KeyPart,
): Promise<Uint8Array> {
  return packed.blob === undefined ? packed.body : await readChunks(session, call, epoch, packed.blob, slot);
}

/** Reads the chunks of a payload and puts them together. */
export async function readChunks(
  session: Session,
  call: Call,
  epoch: string,
  blob: string,
  slot: KeyPart,
): Promise<Uint8Array> {
  const entries = await session.list(call, below(chunkKey(epoch, blob, slot, 0).slice(0, -1)), EVERY_CHUNK);
  const frames = entries.map((entry) => unframe(entry.value, "a chunk"));
  const count = frames[0]?.meta[0];
  if (count !== frames.length) {
    throw new TornRead(`${frames.length} of ${count ?? "the"} chunks of a payload are there`);
  }
  if (frames.length === 1) return frames[0]!.body;
  const body = new Uint8Array(frames.reduce((sum, part) => sum + part.body.length, 0));
  let at = 0;
  for (const part of frames) {
    body.set(part.body, at);
    at += part.body.length;
  }
  return body;
}
