import type {
  BackoffOptions,
  ErrorHandler,
  MigrationOptions,
  RetryPolicy,
  RouteOptions,
  ScheduleOptions,
  TimeoutPolicy,
} from "./definition.ts";
import type { ConcurrencyOptions, FlowOptions, SingletonOptions, ThrottleOptions } from "./flow.ts";
import { type KnownOptions, ON_OFF } from "./known_options.ts";

/** The options of a migration. */
export const KNOWN_MIGRATION = {
  from: true,
  state: true,
  vertices: true,
} satisfies KnownOptions<keyof MigrationOptions>;

/** The limits of a graph. */
export const KNOWN_FLOW = {
  concurrency: true,
  throttle: true,
  singleton: true,
} satisfies KnownOptions<keyof FlowOptions>;

/** The options of a concurrency limit. */
export const KNOWN_CONCURRENCY = {
  limit: true,
  key: true,
  holdWhileWaiting: ON_OFF,
} satisfies KnownOptions<keyof ConcurrencyOptions>;

/** The options of a throttle. */
export const KNOWN_THROTTLE = {
  limit: true,
  per: true,
  key: true,
} satisfies KnownOptions<keyof ThrottleOptions>;

/** The options of a singleton. */
export const KNOWN_SINGLETON = {
  key: true,
  onConflict: ["skip", "queue", "cancel"],
} satisfies KnownOptions<keyof SingletonOptions>;

/** The options of a retry policy. */
export const KNOWN_RETRY = {
  maxAttempts: true,
  backoff: true,
  retryIf: true,
} satisfies KnownOptions<keyof RetryPolicy>;

/** The options of a backoff. */
export const KNOWN_BACKOFF = {
  initial: true,
  factor: true,
  max: true,
  jitter: true,
} satisfies KnownOptions<keyof BackoffOptions>;

/** The options of a timeout policy. */
export const KNOWN_TIMEOUT = { attempt: true, total: true } satisfies KnownOptions<keyof TimeoutPolicy>;

/** The options of an error handler. */
export const KNOWN_HANDLER = {
  route: true,
  match: true,
  record: true,
} satisfies KnownOptions<keyof ErrorHandler<unknown>>;

/** The options of a conditional edge. */
export const KNOWN_ROUTE = {
  targets: true,
  pick: true,
} satisfies KnownOptions<keyof RouteOptions<unknown, string>>;

/** The options of a schedule. */
export const KNOWN_SCHEDULE = {
  id: true,
  timezone: true,
  onMissed: true,
  overlap: true,
  input: true,
} satisfies KnownOptions<keyof ScheduleOptions>;
