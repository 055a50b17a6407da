import type { KvEntry } from "./driver.ts";
import { frame, unframe } from "./frame.ts";
import { everything, layoutKey } from "./keys.ts";
import type { Check } from "./op.ts";
import { finishPurges } from "./purge.ts";
import type { Call, Session } from "./session.ts";

/**
 * The layout of keys and values that this code writes; it reads the earlier ones too. A file without a mark has the first
 * one. The second has what changes with the head of a run behind it, entries beside mailboxes, which say when their runs are to
 * be woken, one mark for status and reason, and holds the place of a head until its purge has ended. A run keeps the layout that
 * it began with, which its epoch tells.
 */
const LAYOUT = 2;

/**
 * The mark of the layout in a file, with the layout that the file began with. It is read and, where there is none or an earlier one, written when the file is opened,
 * and every beat of an owner demands it as it was read. So code that changes a layout raises the mark first, and within one
 * beat every process that does not know the new one has stopped: its handle does nothing any more.
 */
export class LayoutMark {
  readonly #session: Session;
  #versionstamp: string | null = null;

  constructor(session: Session) {
    this.#session = session;
  }

  /** What a commit demands so that it is made under the layout known here. */
  get check(): Check {
    return { key: layoutKey, versionstamp: this.#versionstamp };
  }

  /** Reads the mark and writes it where the file has none or an earlier one; of several processes that do so one writes. */
  async open(call: Call): Promise<void> {
    const read = async () => {
      const entry = await this.#session.get(call, layoutKey);
      this.learn(call, entry);
      return layoutOf(entry) === LAYOUT ? { value: undefined } : undefined;
    };
    if (await read() !== undefined) return;
    const isNew = this.#versionstamp === null &&
      (await this.#session.list(call, everything, 1)).length === 0;
    this.#session.hasEarlier = !isNew;
    // Code of the first layout notes a purge where this one does not look before it begins a run.
    while (await finishPurges(this.#session, call, Infinity) > 0);
    await this.#session.settle(call, "layout", {
      build: () => ({
        checks: [this.check],
        writes: [{ key: layoutKey, value: frame([LAYOUT, this.#session.hasEarlier ? 1 : LAYOUT]) }],
      }),
      done: (versionstamp) => void (this.#versionstamp = versionstamp),
      judge: read,
    });
  }

  /** Takes in the mark as it was read; a layout that is not known here ends the use of the handle. */
  learn(call: Call, entry: KvEntry): void {
    const layout = layoutOf(entry);
    if (!(layout <= LAYOUT)) {
      throw this.#session.end(
        call,
        `the file has layout ${layout}, this version of superstep reads and writes layout ${LAYOUT}; ` +
          "stop this process, and start it with the version of superstep that changed the file, or a newer one",
        { layout },
      );
    }
    this.#versionstamp = entry.versionstamp;
    this.#session.hasEarlier = firstOf(entry) < LAYOUT;
  }
}

function layoutOf({ value, versionstamp }: KvEntry): number {
  return versionstamp === null ? 1 : Number(unframe(value, "the layout of the file").meta[0]);
}

/** The layout that a file began with, which it may hold runs of. */
function firstOf({ value, versionstamp }: KvEntry): number {
  return versionstamp === null ? 1 : Number(unframe(value, "the layout of the file").meta[1] ?? 1);
}
