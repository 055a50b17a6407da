/**
 * One workflow, lived through as its users would: everything that happens is a process of its own on one Deno KV file,
 * and one of the processes is killed in the middle of its work.
 *
 *     deno task demo        bun run demo        npm run demo
 *
 * @module
 */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { isMain, programAt } from "./support/host.ts";
import { Ledger } from "./support/ledger.ts";

let processes = 0;

async function demo(): Promise<number> {
  const db = join(await mkdtemp(join(tmpdir(), "superstep-demo-")), "approval.db");
  const ledger = new Ledger(`${db}-ledger.jsonl`);
  const approval = (args: readonly string[], options?: Expected) => inProcess(db, args, options);
  const openWait = async () => (await approval(["waits"]))[0]?.split(" ", 1)[0] ?? "";

  console.log(`Everything that lasts is in ${db}`);

  say(
    "A customer asks. The answer is drafted, checked for prices and promises at once, and waits for a consultant.",
  );
  await approval(["start", data("question.json"), "--id", "question-1"], { exit: 2 });

  say("The next morning the consultant looks at what is open, and wants more.");
  await approval(["answer", await openWait(), '{"verdict":"refine","note":"mention the volume discount"}']);

  say("The run goes on. In the middle of the second draft its process is killed.");
  await approval(["resume", "question-1"], { killAfter: "↻ draft", exit: "SIGKILL" });

  say("The next process waits until the lease of the dead one has run out (15 s), then takes the run over.");
  const takeover = approval(["resume", "question-1"], { exit: 2, atOnce: false });

  say("Meanwhile another customer asks what nobody has written down: the error route leads to an expert.");
  await approval(["start", data("unknown.json"), "--id", "question-2"], { exit: 2 });
  await approval(["answer", await openWait(), '{"text":"Yes, with the transformer kit T-110."}']);
  await approval(["resume", "question-2"]);

  say("And the first run, taken over:");
  await takeover;

  say("The consultant is content. The answer is sent.");
  await approval(["answer", await openWait(), '{"verdict":"approve"}']);
  await approval(["resume", "question-1"]);

  say("What happened, revision by revision:");
  await approval(["history", "question-1"]);

  say("The mails that were sent:");
  for (const { event, key, detail } of ledger.entries()) {
    if (event === "mail") console.log(`  ${key}\n  ${JSON.stringify(detail)}`);
  }

  say(
    "vertex × executions (a wait, a retry or a crash runs a body again; nothing that has finished ever runs again):",
  );
  for (const [vertex, { executions, bodies }] of ledger.totals()) {
    console.log(`  ${vertex.padEnd(7)} × ${executions}   ${bodies} ${bodies === 1 ? "body" : "bodies"}`);
  }
  const repeated = ledger.repeated();
  for (const { vertex, run } of repeated) console.log(`  ${vertex} of run ${run} had finished and ran again`);
  console.log(repeated.length === 0 ? "\nNo finished vertex ran twice." : "\nA finished vertex ran twice.");
  return repeated.length === 0 ? 0 : 1;
}

interface Expected {
  readonly exit?: number | "SIGKILL";
  readonly killAfter?: string;
  readonly atOnce?: boolean;
}

/** Runs the approval program in a process of its own, shows what it prints and checks how it ends. */
async function inProcess(
  db: string,
  args: readonly string[],
  options: Expected = {},
): Promise<readonly string[]> {
  const { exit = 0, killAfter, atOnce = true } = options;
  const title = `  process ${++processes}: approval ${args.map((arg) => arg.replace(/^.*\//, "")).join(" ")}`;
  const lines: string[] = [];
  const [command, ...program] = programAt(sibling("approval"));
  const child = spawn(command, [...program, ...args, "--db", db], { stdio: ["ignore", "pipe", "inherit"] });
  const ended = new Promise<number | string>((resolve) => {
    child.on("close", (code, signal) => resolve(signal ?? code ?? 1));
  });
  if (atOnce) console.log(title);
  for await (const line of createInterface({ input: child.stdout })) {
    lines.push(line);
    if (atOnce) console.log(`  │ ${line}`);
    if (killAfter === undefined || !line.startsWith(killAfter)) continue;
    await pause(600);
    child.kill("SIGKILL");
  }
  const end = await ended;
  if (!atOnce) console.log([title, ...lines.map((line) => `  │ ${line}`)].join("\n"));
  console.log(`  └ ${end === "SIGKILL" ? "killed with SIGKILL" : `exit code ${end}`}`);
  if (end !== exit) throw new Error(`process ${processes} ended with ${end} and not with ${exit}`);
  return lines;
}

function say(text: string): void {
  console.log(`\n${text}`);
}

/** A module beside this one, whose ending is `.js` in the build for Node. */
function sibling(name: string): string {
  return import.meta.url.replace(/demo(\.\w+)$/, `${name}$1`);
}

/** A file of `examples/data`, from the source and from the build alike. */
function data(name: string): string {
  const places = ["./data/", "../../examples/data/"].map((place) =>
    fileURLToPath(new URL(place + name, import.meta.url))
  );
  return places.find((place) => existsSync(place)) ?? name;
}

if (isMain(import.meta.url)) process.exitCode = await demo();
