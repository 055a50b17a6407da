import type { CompileOptions } from "../compile.ts";
import type { WorkflowClass } from "../decorators/mod.ts";
import type { Logger } from "../engine/events.ts";
import type { Duration } from "../model/durations.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { Store } from "../store/store.ts";
import type { AuditEvent } from "./audit.ts";
import type { Authenticate } from "./auth.ts";
import type { HttpRunner } from "./served.ts";

/** Options of {@link createApp}. */
export interface AppOptions {
  /** Runners on one store, one for each version of a graph. */
  readonly runners?: readonly HttpRunner[];
  /** Workflow classes to be compiled on `store`, as `compile` below says. */
  readonly workflows?: readonly WorkflowClass<unknown>[];
  /** The store of `workflows`. @default that of the runners */
  readonly store?: Store;
  /** How `workflows` are compiled. */
  readonly compile?: Omit<CompileOptions, "store" | "runtime" | "logger">;
  /** Tells who sends a request. @default nobody is asked, and only this machine is served */
  readonly auth?: Authenticate;
  /** How long `auth` may take before the request is denied. @default "5s" */
  readonly authTimeout?: Duration;
  /**
   * Where browsers are sent whom `auth` denies a page, such as `"/login"`; `next` in its query is where they came from.
   * @default they ask for a name and a password, which `auth` gets as Basic authentication
   */
  readonly login?: string;
  /** Serves other machines without `auth`, as behind a proxy that asks. @default false */
  readonly insecure?: boolean;
  /** What callers are shown, where `auth` says nothing else. */
  readonly expose?: {
    /** States, outputs and answers. @default true */
    readonly state?: boolean;
    /** What was thrown: messages and data of errors, which may hold secrets. @default false */
    readonly causes?: boolean;
  };
  /** The most bytes of a request's body. @default 1 MiB */
  readonly bodyLimit?: number;
  /** Whether the dashboard is served, at `/ui`. @default true */
  readonly dashboard?: boolean;
  /** Origins whose pages may use the API, such as `"https://admin.example.com"`. @default its own alone */
  readonly origins?: readonly string[];
  /** Event streams. */
  readonly events?: StreamOptions;
  /** Told of every request after it was answered, without what was in it. */
  readonly audit?: (event: AuditEvent) => void;
  /** Aborting it ends event streams, and lets go of the runs that `resume` works on. */
  readonly signal?: AbortSignal;
  /** The clock, timers and ids. @default the system's */
  readonly runtime?: Runtime;
  /** Where the app writes: an object like `console`; `false` or `null` for no log at all. @default the console */
  readonly logger?: Logger | false | null;
}

/** How event streams are sent. */
export interface StreamOptions {
  /** How often a stream on which nothing happens says that it is alive. @default "15s" */
  readonly heartbeat?: Duration;
  /** How often the store is asked for records of other processes. @default "1s" */
  readonly poll?: Duration;
  /** How long a reader may leave what it was sent unread, before its stream is closed. @default "30s" */
  readonly stall?: Duration;
  /** How long a stream lasts; its reader comes back, and is authenticated again. @default "15m" */
  readonly lifetime?: Duration;
  /** The most streams at once. @default 1000 */
  readonly limit?: number;
}
