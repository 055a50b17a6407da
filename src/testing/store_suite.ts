/**
 * The suite that every store passes. It needs nothing but `node:test`, so the author of a store runs it as is:
 *
 * ```ts ignore
 * storeSuite("my store", { open: async () => ({ store, reopen, second, cleanup }) });
 * ```
 *
 * @module
 */
import { test } from "node:test";
import { indexCases } from "./store_suite/index_rows.ts";
import { mailboxCases } from "./store_suite/mailbox.ts";
import { ownerCases } from "./store_suite/owners.ts";
import { recordCases } from "./store_suite/records.ts";
import { signalCases } from "./store_suite/signals.ts";
import { sizeCases } from "./store_suite/sizes.ts";
import type { OpenedStore, StoreCase } from "./store_suite/support.ts";
import { trimCases } from "./store_suite/trim.ts";

export type { OpenedStore, StoreCase } from "./store_suite/support.ts";

/** How the suite gets at a store. */
export interface StoreHarness {
  /** Opens a store on data that no other test uses. */
  open(): Promise<OpenedStore>;
}

/** Every case of the suite, for other test runners. */
export const storeCases: readonly StoreCase[] = [
  ...recordCases,
  ...mailboxCases,
  ...ownerCases,
  ...indexCases,
  ...sizeCases,
  ...trimCases,
  ...signalCases,
];

/** Registers one test for each case, under the name of the store. */
export function storeSuite(name: string, harness: StoreHarness): void {
  for (const { title, run } of storeCases) {
    test(`${title} [${name}]`, async () => {
      const opened = await harness.open();
      try {
        await run(opened);
      } finally {
        await opened.cleanup();
      }
    });
  }
}
