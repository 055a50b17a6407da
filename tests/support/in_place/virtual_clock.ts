/**
 * Stands in place of `src/testing/virtual_clock.ts` where tests run on PostgreSQL: time stands still on every clock while the
 * database is at work, as it does anyway on stores that answer at once.
 */
import { VirtualClock as Original, type VirtualClockOptions } from "../../../src/testing/virtual_clock.ts";

export type { ClockFork, DriveOptions, VirtualClockOptions } from "../../../src/testing/virtual_clock.ts";

const clocks = new Set<WeakRef<Original>>();

export class VirtualClock extends Original {
  constructor(options?: VirtualClockOptions) {
    super(options);
    clocks.add(new WeakRef(this));
  }
}

/** Holds the time of every clock until the work is done. */
export async function held<T>(work: Promise<T>): Promise<T> {
  for (const ref of clocks) {
    const clock = ref.deref();
    if (clock === undefined) clocks.delete(ref);
    else clock.hold(work).catch(() => {});
  }
  return await work;
}
