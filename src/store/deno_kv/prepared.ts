import { isSuperstepError } from "../../errors.ts";
import { manifestKey } from "./keys.ts";
import type { Check, Op, Write } from "./op.ts";
import type { Plan } from "./plan.ts";
import type { Call, Session } from "./session.ts";
import { stage, unstage } from "./stage.ts";

/** A plan with its staging, kept over the tries of one append. */
export class Prepared {
  readonly #session: Session;
  readonly #call: Call;
  readonly #epoch: string;
  readonly #plan: (newBlob: () => string) => Plan;
  #made: Plan | undefined;
  #blob: string | undefined;
  #manifest: Check | undefined;

  constructor(session: Session, call: Call, epoch: string, plan: (newBlob: () => string) => Plan) {
    this.#session = session;
    this.#call = call;
    this.#epoch = epoch;
    this.#plan = plan;
  }

  /** Whether rows remain to be put in place once the operation succeeded. */
  get rest(): boolean {
    return this.#made?.rest ?? false;
  }

  /** The mailbox that the operation leaves. */
  get mailbox(): Plan["mailbox"] {
    return this.#planned().mailbox;
  }

  /** The operation, with everything staged that it needs; `undefined` when the sweeper removed what was staged. */
  op(checks: readonly Check[], drops: readonly Write[]): Op | Promise<Op | undefined> {
    const { writes, staged } = this.#planned();
    if (staged.length > 0) return this.#withStaged(checks, drops);
    return { checks, writes: drops.length === 0 ? writes : [...writes, ...drops] };
  }

  /**
   * Waits for the outcome of the operation. Where that is a refusal, what was staged is removed; the sweeper finds what this
   * leaves behind.
   */
  async outcome<T>(settling: Promise<T>): Promise<T> {
    try {
      return await settling;
    } catch (error) {
      const manifest = this.#manifest;
      if (manifest !== undefined && isSuperstepError(error) && error.code !== "STORE") {
        await unstage(this.#session, this.#call, this.#epoch, this.#blob!, manifest).catch(() => {});
      }
      throw error;
    }
  }

  #planned(): Plan {
    return this.#made ??= this.#plan(() => this.#blob = this.#session.runtime.uuid());
  }

  async #withStaged(checks: readonly Check[], drops: readonly Write[]): Promise<Op | undefined> {
    if (this.#manifest !== undefined && !await this.#stands(this.#manifest)) {
      this.#made = undefined;
      this.#manifest = undefined;
    }
    const { writes, staged } = this.#planned();
    this.#manifest ??= await stage(this.#session, this.#call, this.#epoch, this.#blob!, staged);
    if (this.#manifest === undefined) {
      this.#made = undefined;
      return undefined;
    }
    const clear = { key: manifestKey(this.#blob!), value: null };
    return { checks: [...checks, this.#manifest], writes: [...writes, ...drops, clear] };
  }

  async #stands(manifest: Check): Promise<boolean> {
    return (await this.#session.get(this.#call, manifest.key)).versionstamp === manifest.versionstamp;
  }
}
