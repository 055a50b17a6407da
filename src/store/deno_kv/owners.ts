import { StoreError } from "../../errors.ts";
import { checkKeyText } from "../limits.ts";
import type { CallOptions, OwnedOptions, OwnerRow, Owners } from "../store.ts";
import { corrupt, frame, unframe } from "./frame.ts";
import { beatKey, beatRoot, below, layoutKey, ownedIndex, ownerKey, ownerRoot, pokeIndex } from "./keys.ts";
import { places } from "./listing.ts";
import { MergedRanges } from "./merged_ranges.ts";
import { slices, type Write } from "./op.ts";
import type { LayoutMark } from "./layout.ts";
import type { OwnerStamps } from "./owner_stamps.ts";
import { finishPurges } from "./purge.ts";
import type { Call, Session } from "./session.ts";
import { deleteRange, sweepStaging } from "./stage.ts";

const EVERY_ROW = 1_000_000;

/** Processes as keys: `owner` is written once and its absence is final, `beat` is renewed. */
export function kvOwners(
  session: Session,
  stamps: OwnerStamps,
  layout: LayoutMark,
  sweepAfter: number,
): Owners {
  function run<T>(
    op: string,
    ownerId: string,
    options: CallOptions | undefined,
    work: (call: Call) => Promise<T>,
  ): Promise<T> {
    return session.run(op, undefined, options, (call) => {
      checkKeyText(op, "owner id", ownerId);
      return work(call);
    });
  }

  const owned = (ownerId: string) => places(session, (isEarlier) => ownedIndex(ownerId, isEarlier));

  return {
    register(ownerId: string, options?: CallOptions): Promise<void> {
      return run("register", ownerId, options, async (call) => {
        const nonce = session.runtime.uuid();
        const owner = ownerKey(ownerId);
        const stamp = await session.settle(call, "owner", {
          build: () => ({
            // A beat without an owner key is a buried owner, and burial is final.
            checks: [
              { key: owner, versionstamp: null },
              { key: beatKey(ownerId), versionstamp: null },
              layout.check,
            ],
            writes: [{ key: owner, value: frame([nonce]) }, {
              key: beatKey(ownerId),
              value: frame([session.runtime.now()]),
            }],
          }),
          done: (stamp) => stamp,
          judge: async () => {
            const [key, beat, mark] = await session.getMany(call, [owner, beatKey(ownerId), layoutKey]);
            layout.learn(call, mark!);
            if (key!.versionstamp === null && beat!.versionstamp === null) return undefined;
            if (key!.versionstamp !== null && unframe(key!.value, "an owner key").meta[0] === nonce) {
              return { value: key!.versionstamp };
            }
            throw new StoreError(
              "register",
              `the owner id ${ownerId} is taken; every process needs a new one`,
            );
          },
        });
        stamps.learn(ownerId, stamp);
        const until = session.runtime.now() - sweepAfter;
        await sweepStaging(session, call, until);
        await finishPurges(session, call, until);
      });
    },

    beat(ownerId: string, options?: CallOptions): Promise<boolean> {
      return run("beat", ownerId, options, async (call) => {
        const versionstamp = stamps.known(ownerId) ?? await stamps.read(call, ownerId);
        if (versionstamp === null) return false;
        const beat = beatKey(ownerId);
        const nonce = session.runtime.uuid();
        return await session.settle(call, "owner", {
          build: () => ({
            checks: [{ key: ownerKey(ownerId), versionstamp }, layout.check],
            writes: [{ key: beat, value: frame([session.runtime.now(), nonce]) }],
          }),
          done: () => true,
          judge: async () => {
            const [key, entry, mark] = await session.getMany(call, [ownerKey(ownerId), beat, layoutKey]);
            layout.learn(call, mark!);
            if (key!.versionstamp === versionstamp) {
              const isThere = entry!.versionstamp !== null &&
                unframe(entry!.value, "a beat").meta[1] === nonce;
              return isThere ? { value: true } : undefined;
            }
            stamps.learn(ownerId, null);
            return { value: false };
          },
        });
      });
    },

    list(options?: CallOptions): Promise<readonly OwnerRow[]> {
      return session.run("owners", undefined, options, async (call) => {
        // Beats first: whoever has a beat had an owner key before, so a key that is missing now was buried.
        const beats = await session.list(call, below(beatRoot), EVERY_ROW);
        const alive = new Set(
          (await session.list(call, below(ownerRoot), EVERY_ROW)).map(({ key }) => key.at(-1)),
        );
        return beats.map(({ key, value, versionstamp }) => {
          const ownerId = key.at(-1);
          // Its time is for earlier versions that share the file.
          if (typeof ownerId !== "string" || typeof unframe(value, "a beat").meta[0] !== "number") {
            throw corrupt("a beat");
          }
          return { ownerId, beatVersion: versionstamp!, buried: !alive.has(ownerId) };
        });
      });
    },

    bury(ownerId: string, beatVersion: string, options?: CallOptions): Promise<boolean> {
      return run("bury", ownerId, options, async (call) => {
        const beat = beatKey(ownerId);
        const read = async () => {
          const [key, entry] = await session.getMany(call, [ownerKey(ownerId), beat]);
          if (entry!.versionstamp !== beatVersion) return { value: false };
          return key!.versionstamp === null ? { value: true } : undefined;
        };
        const before = await read();
        if (before !== undefined) return before.value;
        return await session.settle(call, "owner", {
          build: () => ({
            checks: [{ key: beat, versionstamp: beatVersion }],
            writes: [{ key: ownerKey(ownerId), value: null }],
          }),
          done: () => true,
          judge: read,
        });
      });
    },

    forget(ownerId: string, options?: CallOptions): Promise<void> {
      return run("forget", ownerId, options, async (call) => {
        stamps.learn(ownerId, null);
        for (const index of owned(ownerId)) await deleteRange(session, call, "purge", below(index));
        await deleteRange(session, call, "purge", below(pokeIndex(ownerId)));
        await session.write(call, "owner", [
          { key: ownerKey(ownerId), value: null },
          { key: beatKey(ownerId), value: null },
        ]);
      });
    },

    ownedBy(ownerId: string, limit: number, options?: OwnedOptions): Promise<readonly string[]> {
      return run("ownedBy", ownerId, options, async (call) => {
        const all = owned(ownerId).map(below).map(({ start, end }) => ({
          // The first key behind a text is that text with a NUL, which no run id holds.
          start: options?.after === undefined ? start : [...start, `${options.after}\0`],
          end,
        }));
        const entries = await new MergedRanges(session, call, all, { parts: 1 }).take(limit);
        return entries.map(({ key }) => String(key.at(-1)));
      });
    },

    takePokes(ownerId: string, options?: CallOptions): Promise<readonly string[]> {
      return run("takePokes", ownerId, options, async (call) => {
        const entries = await session.list(call, below(pokeIndex(ownerId)), EVERY_ROW);
        // A poke that comes again before it is deleted is lost with it: the mailbox is read only after this call.
        const writes = entries.map(({ key }): Write => ({ key: key as Write["key"], value: null }));
        for (const slice of slices(writes)) await session.write(call, "poke", slice);
        return entries.map(({ key }) => String(key.at(-1)));
      });
    },
  };
}
