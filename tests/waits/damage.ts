import { defaultCodec } from "../../src/checkpoint/codec.ts";
import { CheckpointLog } from "../../src/checkpoint/log.ts";
import { type Checkpoint, verticesOf } from "../../src/model/checkpoint.ts";
import { systemRuntime } from "../../src/runtime/system.ts";
import type { Store } from "../../mod.ts";

/** The newest checkpoint of a run, as it is loaded from the store. */
export async function storedCheckpoint(store: Store, runId: string): Promise<Checkpoint> {
  return (await new CheckpointLog(store, systemRuntime).load(runId, { state: false }))!.checkpoint;
}

/** A checkpoint with the list that its path stands for, to be compared with another one or written. */
export function listed(
  checkpoint: Checkpoint,
): Omit<Checkpoint, "path"> & { readonly path: readonly string[] } {
  return { ...checkpoint, path: verticesOf(checkpoint.path) };
}

/** What a damaged snapshot holds instead of the run's own. */
export interface Damage {
  /** Fields of the checkpoint, valid or not. */
  readonly checkpoint?: Readonly<Record<string, unknown>>;
  /** Fields that the checkpoint lacks. */
  readonly without?: readonly string[];
  /** Fields of the run record, valid or not. */
  readonly run?: Readonly<Record<string, unknown>>;
  /** The table of the state. */
  readonly table?: unknown;
}

/** Appends, through the store alone, a snapshot of the newest checkpoint with something wrong in it. */
export async function damage(store: Store, runId: string, what: Damage): Promise<void> {
  const { checkpoint = {}, without = [], run = {} } = what;
  const tail = (await store.tail(runId))!;
  const base = defaultCodec.decode(tail.records[0]!.bytes) as { snapshot: { table: unknown } };
  const newest = await storedCheckpoint(store, runId);
  const revision = tail.position.revision + 1;
  const whole = { ...listed(newest), ...checkpoint, run: { ...newest.run, revision, ...run } };
  const damaged = Object.fromEntries(Object.entries(whole).filter(([field]) => !without.includes(field)));
  const table = "table" in what ? what.table : base.snapshot.table;
  const record = { at: 0, events: [], snapshot: { checkpoint: damaged, table } };
  await appendBytes(store, runId, defaultCodec.encode(record));
}

/** Appends bytes of any kind as the next record of a run. */
export async function appendBytes(store: Store, runId: string, record: Uint8Array): Promise<void> {
  const { position, owner } = (await store.tail(runId))!;
  const revision = position.revision + 1;
  const entry = {
    appendId: `damage-${revision}`,
    at: position,
    record,
    parts: [],
    snapshot: revision,
    owner,
  };
  await store.append(runId, revision, entry);
}
