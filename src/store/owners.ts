import type { CallOptions } from "./call_options.ts";

/** Options of `ownedBy`. */
export interface OwnedOptions extends CallOptions {
  /** Begins behind this run id, whether or not it is still owned. */
  readonly after?: string;
}

/** The processes that own runs. An owner key is written once; once it is deleted, that owner can append nothing. */
export interface Owners {
  /** Writes the owner key and the first beat; a `StoreError` when the id was used before and not forgotten. */
  register(ownerId: string, options?: CallOptions): Promise<void>;
  /** Renews the beat; false when the owner key no longer exists. */
  beat(ownerId: string, options?: CallOptions): Promise<boolean>;
  /** Every owner with a beat. */
  list(options?: CallOptions): Promise<readonly OwnerRow[]>;
  /** Deletes the owner key iff the beat is still the one seen; false otherwise. Its owned-by rows stay. */
  bury(ownerId: string, beatVersion: string, options?: CallOptions): Promise<boolean>;
  /** Removes every trace of an owner that owns no run any more. */
  forget(ownerId: string, options?: CallOptions): Promise<void>;
  /** Runs whose head names this owner, in ascending id. */
  ownedBy(ownerId: string, limit: number, options?: OwnedOptions): Promise<readonly string[]>;
  /** Takes the pokes of an owner: the runs whose mailbox it should read. */
  takePokes(ownerId: string, options?: CallOptions): Promise<readonly string[]>;
}

/** An owner as others see it. */
export interface OwnerRow {
  /** The id that the process gave itself. */
  readonly ownerId: string;
  /** Changes with every beat; who watches it for a lease knows whether the owner lives, and no clock of another tells. */
  readonly beatVersion: string;
  /** Whether its owner key is gone. */
  readonly buried: boolean;
}
