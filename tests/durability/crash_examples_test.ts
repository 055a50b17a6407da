// Runs on deno by default: the stops find faults of the engine, which no runtime decides.
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { localDesk } from "../../examples/approval/desk.ts";
import { Approval } from "../../examples/approval.ts";
import { FolderReport } from "../../examples/folder_report.ts";
import { Ledger, type LedgerEntry } from "../../examples/support/ledger.ts";
import { type CrashScenario, crashTest, type Effects } from "../../src/testing/mod.ts";
import { temporaryFolder } from "../support/stores.ts";

/** A ledger that tells a crash test what is written to it. */
class TellingLedger extends Ledger {
  constructor(readonly effects: Effects) {
    super("");
  }

  override write({ event, key }: Omit<LedgerEntry, "at" | "pid">): void {
    if (key !== undefined) this.effects.happen(key, event);
  }

  override entries(): LedgerEntry[] {
    return [];
  }
}

const QUESTION = "What does the Aroma 300 cost, and when do you deliver?";

/** Answers one review after the other. */
const reviews = (...verdicts: readonly object[]) => ({ verdict: verdicts });

interface Question {
  readonly customer: string;
  readonly question: string;
}

const BRANCHES: Readonly<Record<string, Pick<CrashScenario<unknown, Question>, "answers" | "input">>> = {
  "refined, then approved": {
    input: { customer: "ada@example.org", question: QUESTION },
    answers: reviews({ verdict: "refine", note: "mention the volume discount" }, { verdict: "approve" }),
  },
  "turned into a ticket that an expert answers": {
    input: { customer: "ada@example.org", question: "Do you repair espresso machines of other makers?" },
    answers: { expertise: { text: "We do." } },
  },
  "turned into a ticket that nobody answers": {
    input: { customer: "ada@example.org", question: QUESTION },
    answers: reviews({ verdict: "ticket" }),
  },
};

for (const [name, branch] of Object.entries(BRANCHES)) {
  test(`a sales question that is ${name} survives a stop at every write`, async () => {
    const report = await crashTest(Approval, {
      ...branch,
      provide: (cls, effects) => new cls(localDesk(new TellingLedger(effects))),
      outcome: (result) => {
        assert.equal(result.status, "completed");
        assert.equal(result.path.at(-1), "send");
        const { status, state, path } = result;
        return { status, state, path };
      },
    });
    assert.ok(report.crashes.length >= 2 * report.writes);
  });
}

test("a report on a real folder survives a stop at every write, and no finished file is read again", async () => {
  const folder = await temporaryFolder();
  const out = await temporaryFolder();
  try {
    const files = ["a.txt", "b.md", "c.csv", "d.bin"];
    for (const [i, file] of files.entries()) {
      await writeFile(join(folder.path, file), `${"line\n".repeat(i)}end`);
    }
    const report = join(out.path, "report.md");
    const { crashes } = await crashTest(FolderReport, {
      input: { folder: folder.path },
      options: { concurrency: 2 },
      provide: (cls, effects) =>
        new cls({ ledger: new TellingLedger(effects), out: report, own: [], paceMs: 0 }),
      outcome: (result) => {
        assert.equal(result.status, "completed");
        assert.deepEqual(result.state.rows.map((row) => row.path), files);
        return result.state;
      },
    });
    assert.ok(crashes.length > 0);
    assert.match(await readFile(report, "utf8"), /c\.csv/);
  } finally {
    await folder.remove();
    await out.remove();
  }
});
