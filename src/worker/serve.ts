import { compile, type CompileOptions } from "../compile.ts";
import type { WorkflowClass } from "../decorators/mod.ts";
import type { Hooks, Logger } from "../engine/events.ts";
import { loggerOf, positive, span } from "../engine/options.ts";
import { ownershipOf } from "../engine/ownership.ts";
import { ArgumentError, DuplicateRegistrationError } from "../errors.ts";
import type { Duration } from "../model/durations.ts";
import { type KnownOptions, ON_OFF, optionProblem } from "../model/known_options.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { onTermination } from "../runtime/signals.ts";
import { systemRuntime } from "../runtime/system.ts";
import type { Store } from "../store/store.ts";
import { type ControlPlane, keyText } from "./control_plane.ts";
import { DeadOwners } from "./dead_owners.ts";
import { Adoptions } from "./adoptions.ts";
import { Presence } from "./presence.ts";
import { Scheduler, schedulesOf } from "./scheduler.ts";
import { sweeping } from "./sweeping.ts";
import { isPlaneOf, storePlane } from "./store_plane.ts";
import { type ServedRunner, type Source, type Worker, WorkerLoops } from "./worker.ts";

/** Options of {@link serve}. */
export interface ServeOptions {
  /** The store whose runs are worked on. @default that of the runners */
  readonly store?: Store;
  /** Runners on that store, one for each version of a graph. */
  readonly runners?: readonly ServedRunner[];
  /** Workflow classes to be compiled on that store, as `compile` below says. */
  readonly workflows?: readonly WorkflowClass<unknown>[];
  /** How `workflows` are compiled. */
  readonly compile?: Omit<CompileOptions, "store" | "runtime" | "logger">;
  /**
   * The most runs at once, and the most that are held in memory. One that only waits for a timer or a retry is let go as
   * soon as another one needs its place, and goes on when it is due. @default 32
   */
  readonly concurrency?: number;
  /** What the worker is called in lists, such as `superstep workers`. @default host and process id, such as `web-1:4711` */
  readonly name?: string;
  /** How often the store is asked for runs that are due, on average. @default "1s" */
  readonly poll?: Duration;
  /** How long runs may go on when the worker stops, before their bodies are aborted. @default "5s" */
  readonly grace?: Duration;
  /** Aborting it stops the worker. */
  readonly signal?: AbortSignal;
  /** Whether SIGTERM and SIGINT stop the worker; a second one cuts the grace. @default false */
  readonly handleSignals?: boolean;
  /** Whether this worker starts runs by the schedules of what it serves. @default true */
  readonly schedules?: boolean;
  /** A broker that says which runs are due. The store is asked all the same, so that nothing depends on it. @default none */
  readonly plane?: ControlPlane;
  /** Observers of every run that the worker works on, beside those of its runner. */
  readonly hooks?: Hooks;
  /** The clock, timers, ids and randomness. @default the system's */
  readonly runtime?: Runtime;
  /** Where the worker writes: an object like `console`; `false` or `null` for no log at all. @default the console */
  readonly logger?: Logger | false | null;
}

const KNOWN = {
  store: true,
  runners: true,
  workflows: true,
  compile: true,
  concurrency: true,
  name: true,
  poll: true,
  grace: true,
  signal: true,
  handleSignals: ON_OFF,
  schedules: ON_OFF,
  plane: true,
  hooks: true,
  runtime: true,
  logger: true,
} satisfies KnownOptions<keyof ServeOptions>;

/**
 * Works on the runs of a store: those that were submitted, answered, or whose timers, retries and deadlines are due, and
 * those that dead processes left; and starts runs by their schedules. Any number of workers, in any number of processes, share the work; a run whose version
 * this worker does not have is left to one that has it.
 *
 * @throws {ArgumentError} nothing to serve, runners on several stores, or an option that is not one
 * @throws {DuplicateRegistrationError} two runners of one version
 *
 * @example
 * ```ts ignore
 * await using worker = await serve({ store: await denoKv("./superstep.db"), workflows: [Approval], handleSignals: true });
 * await worker.stopped;
 * ```
 */
// deno-lint-ignore require-await
export async function serve(options: ServeOptions): Promise<Worker> {
  const unknown = optionProblem(options, KNOWN);
  if (unknown !== undefined) throw new ArgumentError("serve", unknown);
  const { runtime = systemRuntime, plane, signal, hooks, schedules = true } = options;
  const logger = loggerOf("serve", options.logger);
  const store = storeOf(options);
  const runners = runnersOf(options, store, runtime, logger);
  const graceMs = span(options.grace, 5_000, "serve", "grace");
  const concurrency = positive(options.concurrency, 32, "serve", "concurrency");
  const own = plane !== undefined && isPlaneOf(plane, store) ? undefined : storePlane(store, {
    runtime,
    logger,
    ...(options.poll === undefined ? {} : { poll: options.poll }),
  });
  const [anyone] = runners.values();
  const presence = new Presence(store, runtime, logger, {
    name: options.name,
    serves: [...runners.values()].map(({ graph: { id, version } }) => ({
      graphId: id,
      graphVersion: version,
    })),
    places: concurrency,
  });
  const adoptions = new Adoptions(store, runtime, logger, presence, runners.values());
  const dead = new DeadOwners(
    store,
    runtime,
    ownershipOf(store, runtime),
    logger,
    (id) => anyone!.status(id),
    (run, ownerId) => adoptions.consider(run, `of ${ownerId}`),
  );
  const sources: Source[] = [{ essential: false, consume: (keys, signal) => dead.consume(keys, signal!) }];
  if (own !== undefined) sources.push({ essential: true, consume: (keys, s) => own.consume(keys, s) });
  if (plane !== undefined) {
    sources.push({ essential: own === undefined, consume: (keys, s) => plane.consume(keys, s) });
  }
  const leave: (() => void)[] = [];
  const worker = new WorkerLoops({
    runners,
    sources,
    loops: [
      (stop, worker) => presence.run(stop, worker),
      (stop) => adoptions.run(stop),
      ...(schedules ? schedulesOf(runners.values()) : []).map(({ runner, schedule }) => {
        const scheduler = new Scheduler(runner, schedule, runtime, logger, presence);
        return (stop: AbortSignal) => scheduler.run(stop);
      }),
      ...[...runners.values()].flatMap((runner) => sweeping(runner, runtime, logger)),
    ],
    runtime,
    logger,
    concurrency,
    graceMs,
    hooks,
    ended: async () => {
      for (const end of leave) end();
      await own?.close();
    },
  });
  const abort = () => void worker.stop();
  signal?.addEventListener("abort", abort);
  leave.push(() => signal?.removeEventListener("abort", abort));
  if (signal?.aborted) abort();
  if (options.handleSignals === true) {
    let asked = 0;
    leave.push(onTermination(() => void worker.stop(asked++ === 0 ? graceMs : 0)));
  }
  return worker;
}

function storeOf({ store, runners = [] }: ServeOptions): Store {
  const found = store ?? runners[0]?.store;
  if (found === undefined) {
    throw new ArgumentError("serve", "there is no store; give `store: await denoKv(path)`");
  }
  const other = runners.find((runner) => runner.store !== found);
  if (other === undefined) return found;
  throw new ArgumentError(
    "serve",
    `the runner of graph ${other.graph.id} is on another store; compile it on the store that is served`,
  );
}

function runnersOf(
  options: ServeOptions,
  store: Store,
  runtime: Runtime,
  logger: Logger,
): ReadonlyMap<string, ServedRunner> {
  const { runners = [], workflows = [] } = options;
  const served = new Map<string, ServedRunner>();
  const compiled = workflows.map((workflow, i) => {
    const isRunner = typeof workflow === "object" &&
      typeof (workflow as Partial<ServedRunner>)?.graph === "object";
    if (isRunner) {
      throw new ArgumentError("serve", `workflows[${i}] is a runner; give it as \`runners: [runner]\``);
    }
    return compile(workflow, { ...options.compile, store, runtime, logger });
  });
  for (const runner of [...runners, ...compiled]) {
    const { id: graphId, version: graphVersion } = runner.graph;
    const key = keyText({ graphId, graphVersion });
    if (served.has(key)) throw new DuplicateRegistrationError(graphId, graphVersion);
    served.set(key, runner);
  }
  if (served.size === 0) {
    throw new ArgumentError("serve", "there is nothing to serve; give workflows or runners");
  }
  return served;
}
