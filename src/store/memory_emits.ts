import { CheckpointNotFoundError, RevisionConflictError } from "../errors.ts";
import { checkEmits } from "./limits.ts";
import type { Run } from "./memory_run.ts";
import { limitOf } from "./query.ts";
import type { CallOptions, EmitPlace, Emits } from "./store.ts";

/** The channels of runs in memory; `begin` opens a call and finds its run. */
export function memoryEmits(
  begin: (op: string, runId: string, options: CallOptions | undefined) => Run | undefined,
): Emits {
  return {
    // deno-lint-ignore require-await
    async add(runId, at, write, options) {
      const run = begin("emits.add", runId, options);
      checkEmits(at, write);
      const { batch, dropped = [] } = write;
      if (run?.position.epoch !== at.epoch) throw new CheckpointNotFoundError(runId);
      if (run.position.token !== at.token) {
        throw new RevisionConflictError(runId, run.position.revision, at.revision);
      }
      const gone = [...dropped, ...batch === undefined ? [] : [batch]];
      run.emits = run.emits.filter((one) => gone.every((place) => compareEmits(one, place) !== 0));
      if (batch === undefined) return;
      run.emits.push({ ...batch, bytes: batch.bytes.slice() });
      run.emits.sort(compareEmits);
    },

    // deno-lint-ignore require-await
    async read(runId, epoch, after, limit, options) {
      const run = begin("emits.read", runId, options);
      if (run?.position.epoch !== epoch) return [];
      return run.emits
        .filter((batch) => after === undefined || compareEmits(batch, after) > 0)
        .slice(0, limitOf("emits.read", limit))
        .map((batch) => ({ ...batch, bytes: batch.bytes.slice() }));
    },
  };
}

function compareEmits(a: EmitPlace, b: EmitPlace): number {
  return a.revision - b.revision || a.number - b.number;
}
