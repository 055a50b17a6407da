import { StoreError } from "../errors.ts";
import { checkKeyText } from "./limits.ts";
import { checkSignal } from "./signal.ts";
import type { CallOptions, OwnedOptions, OwnerRow, Owners } from "./store.ts";

interface Owner {
  alive: boolean;
  beat: number;
}

/** The owners of a memory store, with what the append path asks of them. */
export interface MemoryOwners extends Owners {
  alive(ownerId: string): boolean;
  own(runId: string, change: { readonly from?: string; readonly to?: string }): void;
  poke(ownerId: string, runId: string): void;
}

/** Owners kept in maps. */
export function memoryOwners(open: (op: string) => void): MemoryOwners {
  const owners = new Map<string, Owner>();
  const owned = new Map<string, Set<string>>();
  const pokes = new Map<string, Set<string>>();

  function begin(op: string, ownerId: string, options: CallOptions | undefined): void {
    open(op);
    checkSignal(op, options);
    checkKeyText(op, "owner id", ownerId);
  }

  return {
    // deno-lint-ignore require-await
    async register(ownerId: string, options?: CallOptions): Promise<void> {
      begin("register", ownerId, options);
      if (owners.has(ownerId)) {
        throw new StoreError("register", `the owner id ${ownerId} is taken; every process needs a new one`);
      }
      owners.set(ownerId, { alive: true, beat: 0 });
    },
    // deno-lint-ignore require-await
    async beat(ownerId: string, options?: CallOptions): Promise<boolean> {
      begin("beat", ownerId, options);
      const owner = owners.get(ownerId);
      if (owner === undefined || !owner.alive) return false;
      owner.beat++;
      return true;
    },
    // deno-lint-ignore require-await
    async list(options?: CallOptions): Promise<readonly OwnerRow[]> {
      open("owners");
      checkSignal("owners", options);
      return [...owners].map(([ownerId, o]) => ({
        ownerId,
        beatVersion: String(o.beat),
        buried: !o.alive,
      }));
    },
    // deno-lint-ignore require-await
    async bury(ownerId: string, beatVersion: string, options?: CallOptions): Promise<boolean> {
      begin("bury", ownerId, options);
      const owner = owners.get(ownerId);
      if (owner === undefined || String(owner.beat) !== beatVersion) return false;
      owner.alive = false;
      return true;
    },
    // deno-lint-ignore require-await
    async forget(ownerId: string, options?: CallOptions): Promise<void> {
      begin("forget", ownerId, options);
      owners.delete(ownerId);
      owned.delete(ownerId);
      pokes.delete(ownerId);
    },
    // deno-lint-ignore require-await
    async ownedBy(ownerId: string, limit: number, options?: OwnedOptions): Promise<readonly string[]> {
      begin("ownedBy", ownerId, options);
      const { after = "" } = options ?? {};
      return [...owned.get(ownerId) ?? []].filter((runId) => runId > after).sort().slice(0, limit);
    },
    // deno-lint-ignore require-await
    async takePokes(ownerId: string, options?: CallOptions): Promise<readonly string[]> {
      begin("takePokes", ownerId, options);
      const taken = [...pokes.get(ownerId) ?? []].sort();
      pokes.delete(ownerId);
      return taken;
    },
    alive: (ownerId) => owners.get(ownerId)?.alive ?? false,
    own(runId, { from, to }) {
      if (from !== undefined) owned.get(from)?.delete(runId);
      if (to !== undefined) addTo(owned, to, runId);
    },
    poke(ownerId, runId) {
      if (owners.has(ownerId)) addTo(pokes, ownerId, runId);
    },
  };
}

function addTo(sets: Map<string, Set<string>>, key: string, value: string): void {
  const set = sets.get(key);
  if (set === undefined) sets.set(key, new Set([value]));
  else set.add(value);
}
