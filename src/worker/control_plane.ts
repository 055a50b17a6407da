import type { CallOptions } from "../store/store.ts";

/** One version of a graph. */
export interface GraphKey {
  /** The id of the graph. */
  readonly graphId: string;
  /** The version, as `runner.graph.version` has it. */
  readonly graphVersion: string;
}

/**
 * A run that somebody should look at. There is no more to it: whether the run is begun, resumed, recovered or left alone
 * is for the run itself to tell.
 */
export interface Dispatch extends GraphKey {
  /** The run. */
  readonly runId: string;
}

/** A dispatch in the hands of a consumer, until it is acknowledged or not. The first of the two calls counts. */
export interface Delivery {
  /** What was submitted. */
  readonly dispatch: Dispatch;
  /** The run was looked at. */
  ack(): Promise<void>;
  /** The run could not be looked at; it is to be delivered again later, to anybody. */
  nack(): Promise<void>;
}

/**
 * How workers learn of runs. What is true of a run is in its store alone: a claim decides who works on it, and its wake
 * says when. So deliveries may come twice, late, to several consumers, or never, and nothing is lost or done twice.
 *
 * Every plane passes the published suite in `superstep/testing`, by these obligations, cited as CONTROL-1 to CONTROL-7:
 *
 * 1. A dispatch that was submitted is delivered, with all its fields, to a consumer of its version, also to one that
 *    comes later; to a consumer of other versions never.
 * 2. Two deliveries of one run are never in the hands of consumers of one plane at the same time; deliveries of
 *    different runs are.
 * 3. What was acknowledged is not delivered again unless the run is due again.
 * 4. What was not acknowledged is delivered again, each time after a longer pause, for ever.
 * 5. A consumer that ends hands back what it has not settled, and hinders no other one.
 * 6. `submit` and `consume` reject with the reason of a signal that is aborted already; an abort ends `consume`.
 * 7. After `close` both reject with `ControlPlaneClosedError`, every `consume` has ended, and no timer is left.
 */
export interface ControlPlane {
  /** Says that a run is due. */
  submit(dispatch: Dispatch, options?: CallOptions): Promise<void>;
  /** Runs of these versions as they become due; the next one is looked for when it is asked for. */
  consume(keys: readonly GraphKey[], signal?: AbortSignal): AsyncIterableIterator<Delivery>;
  /** Ends every `consume` and refuses what comes afterwards. */
  close(): Promise<void>;
}

/** A graph key as one text, for tables. */
export function keyText({ graphId, graphVersion }: GraphKey): string {
  return `${graphId}\n${graphVersion}`;
}
