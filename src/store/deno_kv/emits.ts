import { CheckpointNotFoundError, RevisionConflictError } from "../../errors.ts";
import { checkEmits } from "../limits.ts";
import { limitOf } from "../query.ts";
import type { EmitPlace, Emits } from "../store.ts";
import { corrupt, frame, unframe } from "./frame.ts";
import { below, emitsKey, headKey } from "./keys.ts";
import { drop } from "./op.ts";
import { look, stampAt } from "./run_state.ts";
import type { Session } from "./session.ts";

/** The channels of a file: a batch is one value under its place. */
export function kvEmits(session: Session): Emits {
  return {
    add: (runId, at, write, options) =>
      session.run("emits.add", runId, options, async (call) => {
        checkEmits(at, write);
        const { batch, dropped = [] } = write;
        const key = ({ revision, number }: EmitPlace) => emitsKey(at.epoch, revision, number);
        const writes = [
          ...dropped.map((place) => drop(key(place))),
          ...batch === undefined ? [] : [{ key: key(batch), value: frame([], batch.bytes) }],
        ];
        const stamp = stampAt(at);
        await session.settle(call, "emits", {
          build: () =>
            stamp === undefined
              ? undefined
              : { checks: [{ key: headKey(runId), versionstamp: stamp }], writes },
          done: () => {},
          judge: async () => {
            const { head } = await look(session, call, runId);
            if (head?.position.epoch !== at.epoch) throw new CheckpointNotFoundError(runId);
            if (head.stamp === stamp) return undefined; // It can be repeated.
            if (batch !== undefined && (await session.get(call, key(batch))).versionstamp !== null) {
              return { value: undefined };
            }
            throw new RevisionConflictError(runId, head.position.revision, at.revision);
          },
        });
      }),

    read: (runId, epoch, after, limit, options) =>
      session.run("emits.read", runId, options, async (call) => {
        const all = below(emitsKey(epoch, 0, 0).slice(0, -2));
        const start = after === undefined
          ? all.start
          : [...emitsKey(epoch, after.revision, after.number), true];
        const entries = await session.list(
          call,
          { start, end: all.end },
          limitOf("emits.read", limit),
        );
        return entries.map(({ key, value }) => {
          const [revision, number] = key.slice(-2);
          if (typeof revision !== "number" || typeof number !== "number") throw corrupt("a batch of emits");
          return { revision, number, bytes: unframe(value, "a batch of emits").body };
        });
      }),
  };
}
