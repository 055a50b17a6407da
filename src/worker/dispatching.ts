import type { Logger } from "../engine/events.ts";
import { reasonOf } from "../errors.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { systemRuntime } from "../runtime/system.ts";
import type { AppendEntry, PostEntry, Store, WakeRow } from "../store/store.ts";
import type { ControlPlane } from "./control_plane.ts";

/** Options of {@link dispatching}. */
export interface DispatchingOptions {
  /** The clock and timers. @default the system's */
  readonly runtime?: Runtime;
  /** Told once of each outage of the plane. @default nobody */
  readonly logger?: Logger | false | null;
}

/** Timers of later wakes that this process keeps; further ones are for the workers that look into the store. */
const MAX_TIMERS = 10_000;
const LONGEST_MS = 3_600_000;

/**
 * A store that feeds a control plane: whatever makes a run due is submitted to the plane once the store has it, also when its time
 * comes, as long as this process lives. Compile runners on it, and serve it, in every process that starts, answers or works.
 * The plane may fail, or lose what it was given: workers find what is due in the store as well.
 *
 * @example
 * ```ts ignore
 * const plane = natsPlane("nats://nats.example:4222");
 * const store = dispatching(await postgres(url), plane);
 * ```
 */
export function dispatching(store: Store, plane: ControlPlane, options: DispatchingOptions = {}): Store {
  const { runtime = systemRuntime } = options;
  const logger = options.logger || undefined;
  let timers = 0;
  let isAway = false;

  async function submit({ runId, graphId, graphVersion }: WakeRow): Promise<void> {
    try {
      await plane.submit({ runId, graphId, graphVersion });
      isAway = false;
    } catch (error) {
      if (!isAway) {
        logger?.warn(
          `superstep: runs are not dispatched, workers find them in the store: ${reasonOf(error)}`,
          {},
        );
      }
      isAway = true;
    }
  }

  function feed(wake: WakeRow | undefined): void {
    if (wake === undefined) return;
    const left = wake.due - runtime.now();
    if (left <= 0) return void submit(wake);
    if (left > LONGEST_MS || timers >= MAX_TIMERS) return;
    timers++;
    runtime.wakeAt(wake.due, () => {
      timers--;
      void submit(wake);
    }, { keepAlive: false });
  }

  const fed: Pick<Store, "append" | "post"> = {
    append: async (runId: string, revision: number, entry: AppendEntry, call) => {
      const appended = await store.append(runId, revision, entry, call);
      feed(entry.index?.wake?.to);
      return appended;
    },
    post: async (runId: string, entry: PostEntry, call) => {
      const posted = await store.post(runId, entry, call);
      feed(entry.wake?.to);
      return posted;
    },
  };
  return new Proxy(store, {
    get(_, name) {
      if (name === "append" || name === "post") return fed[name];
      const value: unknown = Reflect.get(store, name);
      return typeof value === "function" ? value.bind(store) : value;
    },
  });
}
