/**
 * Takes the pictures of the dashboard that the documentation shows, with runs of the approval example on them.
 *
 *     deno task screenshots
 */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { compile, type Runner } from "superstep";
import { createApp, listen } from "superstep/http";
import { memoryStore } from "superstep/store/memory";
import { serve, type ServeOptions } from "superstep/worker";
import { Approval, type Request } from "../../examples/approval.ts";
import { localDesk } from "../../examples/approval/desk.ts";
import { Ledger } from "../../examples/support/ledger.ts";
import { launchBrowser } from "../support/browser.ts";
import { ROOT } from "../support/paths.ts";

const QUESTIONS: readonly (readonly [runId: string, customer: string, question: string])[] = [
  [
    "bluefox-1042",
    "kim@bluefox.example",
    "What does the Aroma 300 cost, and how fast can you deliver ten of them?",
  ],
  ["hillside-1043", "jo@hillside.example", "Can we lease the Aroma 700 for our large office?"],
  ["harbour-1044", "sam@harbour.example", "Do you buy back used machines?"],
  ["meadow-1045", "alex@meadow.example", "Is there a volume discount on the Aroma 300?"],
];

const folder = mkdtempSync(join(tmpdir(), "superstep-screenshots-"));
try {
  await takeAll();
} finally {
  rmSync(folder, { recursive: true });
}

async function takeAll(): Promise<void> {
  const ledger = new Ledger(join(folder, "ledger.jsonl"));
  const desk = localDesk(ledger, { thinkMs: 700 });
  const store = memoryStore();
  const served = {
    store,
    workflows: [Approval],
    compile: { provide: (cls) => new cls(desk) },
  } satisfies ServeOptions;
  await using _worker = await serve({ ...served, poll: "50ms" });
  await using server = await listen(createApp({ ...served, expose: { causes: true } }), { port: 0 });
  await live(compile(Approval, { ...served.compile, store }));

  await using browser = await launchBrowser();
  for (
    const [file, path, colorScheme] of [
      ["dashboard-run", "runs/bluefox-1042", "light"],
      ["dashboard-run-dark", "runs/bluefox-1042", "dark"],
      ["dashboard-inbox", "waits", "light"],
    ] as const
  ) {
    await using tab = await browser.newPage({ colorScheme, scale: 2 });
    await tab.page.goto(`${server.url}/ui/${path}`);
    mkdirSync(join(ROOT, "docs"), { recursive: true });
    await tab.page.screenshot({ path: join(ROOT, "docs", `${file}.png`) });
  }
}

/** Brings the runs to where the pictures show them. */
async function live(runner: Runner<Request>): Promise<void> {
  for (const [runId, customer, question] of QUESTIONS) {
    await runner.submit({ customer, question }, { runId, tags: [customer.split(/[@.]/)[1]!] });
    await waitOf(runner, runId);
  }
  await answer(runner, "bluefox-1042", { verdict: "refine", note: "mention the volume discount" });
  await answer(runner, "meadow-1045", { verdict: "approve" });
}

async function answer(runner: Runner<Request>, runId: string, value: unknown): Promise<void> {
  const { revision } = await runner.status(runId);
  await runner.answer(runId, await waitOf(runner, runId), value);
  for (let run = await runner.status(runId);; run = await runner.status(runId)) {
    if (run.revision > revision && run.status !== "running") return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** The open wait of a run, once it has one. */
async function waitOf(runner: Runner<Request>, runId: string): Promise<string> {
  for (;;) {
    const { rows: [wait] } = await runner.waits({ runId });
    if (wait !== undefined && (await runner.status(runId)).status === "interrupted") return wait.waitId;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
