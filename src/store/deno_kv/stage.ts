import { frame } from "./frame.ts";
import { below, chunkKey, deadKey, deadRoot, manifestKey, manifestRoot } from "./keys.ts";
import { type Check, slices, type Write } from "./op.ts";
import type { Call, Session } from "./session.ts";
import { unframe } from "./frame.ts";

/**
 * Chunks that are written before the operation that needs them. The manifest is written with the first of them and
 * names their blob; the operation demands that it is unchanged and deletes it. A writer that stops in between leaves
 * the manifest, and the sweeper, which deletes the manifest first, makes sure that it can never finish.
 */
const SWEPT_AT_ONCE = 100;
const DELETED_AT_ONCE = 100;

/** Stages chunks; answers the check that the operation must carry, or `undefined` when the sweeper was faster. */
export async function stage(
  session: Session,
  call: Call,
  epoch: string,
  blob: string,
  chunks: readonly Write[],
): Promise<Check | undefined> {
  const key = manifestKey(blob);
  const manifest = { key, value: frame([epoch, session.runtime.now()]) };
  let stamp: string | undefined;
  for (const writes of slices(chunks)) {
    if (stamp === undefined) {
      stamp = await session.settle(call, "stage", {
        build: () => ({ checks: [{ key, versionstamp: null }], writes: [manifest, ...writes] }),
        done: (stamp) => stamp,
        judge: async () => {
          const { versionstamp } = await session.get(call, key);
          return versionstamp === null ? undefined : { value: versionstamp };
        },
      });
      continue;
    }
    if (!await session.writeWhile(call, "stage", { key, versionstamp: stamp }, writes)) return undefined;
  }
  return stamp === undefined ? undefined : { key, versionstamp: stamp };
}

/** Removes what writers that stopped left behind before `until`; answers how many. */
export async function sweepStaging(session: Session, call: Call, until: number): Promise<number> {
  let swept = 0;
  for (const entry of await session.list(call, below(manifestRoot), SWEPT_AT_ONCE)) {
    const [epoch, at] = unframe(entry.value, "a manifest").meta;
    const blob = entry.key.at(-1);
    if (typeof blob !== "string" || typeof epoch !== "string" || typeof at !== "number" || at > until) {
      continue;
    }
    if (await bury(session, call, epoch, blob, entry)) swept++;
  }
  for (const entry of await session.list(call, below(deadRoot), SWEPT_AT_ONCE)) {
    const [epoch] = unframe(entry.value, "a dead manifest").meta;
    const blob = entry.key.at(-1);
    if (typeof blob !== "string" || typeof epoch !== "string") continue;
    await remove(session, call, epoch, blob);
  }
  return swept;
}

/** Removes what was staged for an operation that can never be made. */
export async function unstage(
  session: Session,
  call: Call,
  epoch: string,
  blob: string,
  manifest: Check,
): Promise<void> {
  if (await bury(session, call, epoch, blob, manifest)) await remove(session, call, epoch, blob);
}

/** Makes sure that nobody relies on a manifest; false when it was used, or removed, before. */
async function bury(
  session: Session,
  call: Call,
  epoch: string,
  blob: string,
  { versionstamp }: Pick<Check, "versionstamp">,
): Promise<boolean> {
  const key = manifestKey(blob);
  return await session.settle(call, "sweep", {
    build: () => ({
      checks: [{ key, versionstamp }],
      writes: [{ key, value: null }, { key: deadKey(blob), value: frame([epoch]) }],
    }),
    done: () => true,
    judge: async () =>
      (await session.get(call, key)).versionstamp === versionstamp ? undefined : { value: false },
  });
}

/** Deletes the chunks of a buried manifest, and then what tells of it. */
async function remove(session: Session, call: Call, epoch: string, blob: string): Promise<void> {
  await deleteRange(session, call, "sweep", below(chunkKey(epoch, blob, 0, 0).slice(0, -2)));
  await session.write(call, "sweep", [{ key: deadKey(blob), value: null }]);
}

/** Deletes every key of a range, some at a time. */
export async function deleteRange(
  session: Session,
  call: Call,
  kind: "purge" | "sweep",
  range: ReturnType<typeof below>,
): Promise<void> {
  for (;;) {
    const entries = await session.list(call, range, DELETED_AT_ONCE);
    if (entries.length === 0) return;
    await session.write(call, kind, entries.map(({ key }) => ({ key: key as Write["key"], value: null })));
    if (entries.length < DELETED_AT_ONCE) return;
  }
}
