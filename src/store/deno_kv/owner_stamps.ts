import { ownerKey } from "./keys.ts";
import type { Call, Session } from "./session.ts";

/** The versionstamps of owner keys. A key is written once, so a stamp read once serves every append of its owner. */
export class OwnerStamps {
  readonly #session: Session;
  readonly #stamps = new Map<string, string>();

  constructor(session: Session) {
    this.#session = session;
  }

  known(ownerId: string): string | undefined {
    return this.#stamps.get(ownerId);
  }

  async read(call: Call, ownerId: string): Promise<string | null> {
    const { versionstamp } = await this.#session.get(call, ownerKey(ownerId));
    this.learn(ownerId, versionstamp);
    return versionstamp;
  }

  learn(ownerId: string, versionstamp: string | null): void {
    if (versionstamp === null) this.#stamps.delete(ownerId);
    else this.#stamps.set(ownerId, versionstamp);
  }
}
