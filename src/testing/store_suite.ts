/**
 * The suite that every store passes. It needs nothing but `node:test`, so the author of a store runs it as is:
 *
 * ```ts ignore
 * storeSuite("my store", { open: async () => ({ store, reopen, second, cleanup }) });
 * ```
 *
 * @module
 */
import { cellCases } from "./store_suite/cells.ts";
import { emitCases } from "./store_suite/emits.ts";
import { entryCases, entrySizeCases } from "./store_suite/entries.ts";
import { leaseCases } from "./store_suite/leases.ts";
import { indexCases } from "./store_suite/index_rows.ts";
import { mailboxCases } from "./store_suite/mailbox.ts";
import { ownerCases } from "./store_suite/owners.ts";
import { recordCases } from "./store_suite/records.ts";
import { signalCases } from "./store_suite/signals.ts";
import { sizeCases } from "./store_suite/sizes.ts";
import type { OpenedStore, StoreCase } from "./store_suite/support.ts";
import { trimCases } from "./store_suite/trim.ts";
import type { Store } from "../store/store.ts";
import { aroundStore } from "./around_store.ts";
import { lateStore } from "./late_store.ts";
import { testEach } from "./suite.ts";
import { VirtualClock } from "./virtual_clock.ts";

export type { OpenedStore, StoreCase } from "./store_suite/support.ts";

/** How the suite gets at a store. */
export interface StoreHarness {
  /** Opens a store on data that no other test uses. */
  open(): Promise<OpenedStore>;
}

/** The cases of a store that hands out leases, beside those of every store. */
export { leaseCases };

/** Every case of the suite, for other test runners. */
export const storeCases: readonly StoreCase[] = [
  ...recordCases,
  ...mailboxCases,
  ...entryCases,
  ...ownerCases,
  ...indexCases,
  ...cellCases,
  ...sizeCases,
  ...entrySizeCases,
  ...trimCases,
  ...emitCases,
  ...signalCases,
];

/**
 * Registers one test for each case, under the name of the store, and one more where acknowledgements are up to 200 ms late
 * and some writes are made twice.
 */
export function storeSuite(name: string, harness: StoreHarness): void {
  testEach(name, storeCases, () => harness.open());
  testEach(`${name}, acknowledged late`, lateCases, () => harness.open(), async (run, opened) => {
    const clock = new VirtualClock();
    const far = (store: Store) => {
      const held = aroundStore(store, (call) => clock.hold(call.apply()));
      return lateStore(held, clock, LATE_MS);
    };
    await clock.drive(run({
      store: far(opened.store),
      reopen: async () => far(await opened.reopen()),
      second: async () => far(await opened.second()),
      cleanup: opened.cleanup,
    }));
  });
}

/** What is about order and not about sizes: acknowledged late, lost and made again, on virtual time. */
const lateCases = [
  ...recordCases,
  ...mailboxCases,
  ...entryCases,
  ...ownerCases,
  ...indexCases,
  ...cellCases,
  ...trimCases,
  ...emitCases,
];
const LATE_MS = 200;
