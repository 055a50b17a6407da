import { createHash } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import type { Ledger } from "../support/ledger.ts";
import { ARTICLES, PRICES, PROMISES } from "./knowledge.ts";

/** What the sales desk works with. Put a language model, a price service, a mail server in its place. */
export interface Desk {
  /** Paragraphs that answer the text, the most fitting first; none when nothing is known. */
  lookUp(text: string, signal: AbortSignal): Promise<readonly string[]>;
  /** List prices in EUR by product. */
  prices(): Promise<ReadonlyMap<string, number>>;
  /** What must not be promised, and what to write instead. */
  promises(): Promise<ReadonlyMap<string, string>>;
  /** Sends a mail and answers its id; mails with one key are one mail. */
  mail(mail: Mail, key: string): Promise<string>;
  /** Opens a ticket and answers its id; tickets with one key are one ticket. */
  ticket(ticket: Ticket, key: string): Promise<string>;
}

export interface Mail {
  readonly to: string;
  readonly text: string;
}

export interface Ticket {
  readonly question: string;
  readonly problem: string;
  /** The wait that the expert's answer goes to. */
  readonly answerTo: string;
}

/**
 * A desk without a network: a handful of articles, and the ledger in place of mail server and ticket system. Its index
 * is cold at first, so that the first look-up of every process fails.
 */
export function localDesk(ledger: Ledger, options: { readonly thinkMs?: number } = {}): Desk {
  const { thinkMs = 0 } = options;
  let warm = false;

  function deliver(event: "mail" | "ticket", detail: Mail | Ticket, key: string): string {
    if (!ledger.entries().some((entry) => entry.key === key)) ledger.write({ event, key, detail });
    return `${event}-${createHash("sha256").update(key).digest("hex").slice(0, 8)}`;
  }

  return {
    async lookUp(text, signal) {
      if (!warm) {
        warm = true;
        throw new Error("the index of the knowledge base is still loading");
      }
      await pause(thinkMs, undefined, { signal });
      const words = new Set(text.toLowerCase().match(/[\p{L}\p{N}]+/gu));
      return ARTICLES
        .map(({ words: keys, text }) => ({ text, hits: keys.filter((key) => words.has(key)).length }))
        .filter(({ hits }) => hits > 0)
        .sort((a, b) => b.hits - a.hits)
        .map(({ text }) => text);
    },
    prices: () => Promise.resolve(new Map(Object.entries(PRICES))),
    promises: () => Promise.resolve(new Map(Object.entries(PROMISES))),
    mail: (mail, key) => Promise.resolve(deliver("mail", mail, key)),
    ticket: (ticket, key) => Promise.resolve(deliver("ticket", ticket, key)),
  };
}
