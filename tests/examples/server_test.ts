// Runs on deno by default: its processes show the same on all runtimes, and tests of a few start them on all three.
import assert from "node:assert/strict";
import { type ChildProcess, execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import process from "node:process";
import { test, type TestContext } from "node:test";
import { promisify } from "node:util";
import { Ledger } from "../../examples/support/ledger.ts";
import { tokenAuth } from "../../examples/support/token.ts";
import { ROOT } from "../support/paths.ts";
import { temporaryFolder } from "../support/stores.ts";
import { type Ended, run } from "./processes.ts";

const PROGRAM = "examples/server.ts";
const QUESTION = { customer: "kim@bluefox.example", question: "Is there a discount?" };

/** The server in a process of its own. */
interface Served {
  readonly url: string;
  /** What it printed before it was ready. */
  readonly lines: readonly string[];
  /** Sends a signal; resolves when the process has ended. */
  end(signal: NodeJS.Signals): Promise<Ended>;
}

/** Starts the server on any free port; it ends with the test at the latest. */
async function start(
  t: TestContext,
  db: string,
  env: Readonly<Record<string, string>> = {},
): Promise<Served> {
  const lines: string[] = [];
  let ended!: Promise<Ended>;
  const child = await new Promise<ChildProcess>((resolve, reject) => {
    const onLine = (line: string, child: ChildProcess) => {
      lines.push(line);
      if (line.includes("OpenAPI")) resolve(child);
    };
    ended = run(PROGRAM, ["--db", db], { env: { PORT: "0", SUPERSTEP_TOKEN: "", ...env }, onLine });
    ended.then(({ errors }) => reject(new Error(`the server did not start: ${errors.join("\n")}`)), reject);
  });
  let running = true;
  ended.then(() => running = false);
  const end = (signal: NodeJS.Signals) => {
    if (running) process.kill(child.pid!, signal);
    return ended;
  };
  t.after(() => end("SIGKILL"));
  const url = /http:\S+(?=\/v1$)/m.exec(lines.join("\n"))![0];
  return { url, lines, end };
}

/** The commands of the README against the server, in order, those of several lines whole. */
function commandsOfReadme(): readonly string[] {
  const readme = readFileSync(join(ROOT, "README.md"), "utf8");
  const blocks = [...readme.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block]) => block!);
  const [block, ...more] = blocks.filter((block) => block.includes("/v1/"));
  assert.ok(block !== undefined && more.length === 0, "one block of the README is about the server");
  return block.trimEnd().split(/(?<!\\)\n/);
}

/** Runs commands in one shell; what each printed, and the statuses of the answers that its curls got. */
async function inShell(
  commands: readonly string[],
  folder: string,
): Promise<readonly { readonly printed: string; readonly statuses: readonly number[] }[]> {
  const mark = "-----";
  const settings = [
    "silent",
    "show-error",
    'noproxy = "*"',
    "max-time = 20",
    'write-out = "%{stderr}%{http_code}\\n"',
  ];
  await writeFile(join(folder, ".curlrc"), settings.join("\n"));
  const script = commands.map((command) => `${command}\necho ${mark}; echo ${mark} >&2\n`).join("");
  const { stdout, stderr } = await promisify(execFile)("sh", ["-c", script], {
    env: { ...process.env, CURL_HOME: folder, HOME: folder },
  });
  const said = stderr.split(mark);
  return stdout.split(mark).slice(0, commands.length).map((printed, i) => ({
    printed: printed.trim(),
    statuses: said[i]!.trim().split("\n").map(Number),
  }));
}

async function post(url: string, body: unknown, headers: Readonly<Record<string, string>> = {}) {
  const response = await fetch(url, {
    method: "POST",
    headers: { "Content-Type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
  return { status: response.status, body: await response.json() };
}

test("the README's curl lines run as written against the example server (W2)", async (t) => {
  const folder = await temporaryFolder();
  t.after(() => folder.remove());
  const server = await start(t, join(folder.path, "served.db"));
  assert.deepEqual(server.lines.slice(1).map((line) => line.trim().split(/ +/)), [
    ["dashboard", `${server.url}/ui`],
    ["API", `${server.url}/v1`],
    ["OpenAPI", `${server.url}/v1/openapi.json`],
  ]);
  assert.equal((await fetch(`${server.url}/v1/openapi.json`)).status, 200);

  const { port } = new URL(server.url);
  const commands = commandsOfReadme().map((line) => line.replaceAll("localhost:8000", `localhost:${port}`));
  const answers = await inShell(commands, folder.path);
  assert.deepEqual(answers.map(({ statuses }) => statuses), [[200], [200], [200], [202], [200], [200]]);
  const [started, waits, , answered, events, got] = answers.map(({ printed }) => printed);
  const { run, reason, path } = JSON.parse(started!);
  assert.deepEqual([run.runId, reason, path], ["letter-7", "awaiting", ["draft", "legal", "price"]]);
  const [wait, ...more] = JSON.parse(waits!).waits;
  assert.deepEqual([wait.vertexId, more], ["review", []]);
  assert.deepEqual(JSON.parse(answered!), { runId: "letter-7", waitId: wait.waitId });
  const ids = [...events!.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id));
  assert.deepEqual(ids, ids.map((_, i) => i), "every revision, in order");
  assert.match(events!, /"type":"completed"\}\]\}$/, "the stream ended with the run");
  const done = JSON.parse(got!);
  assert.deepEqual([done.status, done.path.at(-1), done.state.verdict], ["completed", "send", "approve"]);

  const { end, errors } = await server.end("SIGTERM");
  assert.deepEqual([end, errors], [0, []]);
});

test("a run of the example server outlives SIGTERM and SIGKILL, and no body of it runs again for that", async (t) => {
  const folder = await temporaryFolder();
  t.after(() => folder.remove());
  const db = join(folder.path, "served.db");
  let server = await start(t, db);
  const asked = await post(`${server.url}/v1/graphs/approval/runs?wait=30s`, { runId: "r", input: QUESTION });
  assert.deepEqual([asked.status, asked.body.reason], [200, "awaiting"]);
  const before = await (await fetch(`${server.url}/v1/runs/r`)).json();

  const stream = (await fetch(`${server.url}/v1/runs/r/events`)).body!.pipeThrough(new TextDecoderStream());
  const reader = stream.getReader();
  for (let seen = ""; !seen.includes('"reason":"awaiting"');) {
    const { value, done } = await reader.read();
    assert.equal(done, false, "the stream goes on as long as the run waits");
    seen += value;
  }
  const stopped = server.end("SIGTERM");
  while (!(await reader.read()).done); // it would reject if the stream were cut
  const { end, errors } = await stopped;
  assert.deepEqual([end, errors], [0, []]);

  server = await start(t, db);
  assert.deepEqual(await (await fetch(`${server.url}/v1/runs/r`)).json(), before);
  assert.equal((await server.end("SIGKILL")).end, "SIGKILL");

  server = await start(t, db, { SUPERSTEP_TOKEN: "secret" });
  const wait = `${server.url}/v1/runs/r/waits/${asked.body.waits[0].waitId}/answer`;
  const answer = { value: { verdict: "approve" } };
  const headers = { Authorization: "Bearer secret" };
  assert.equal((await post(wait, answer)).status, 401);
  assert.equal((await post(wait, answer, headers)).status, 202);
  const rest = await fetch(`${server.url}/v1/runs/r/events`, { headers });
  assert.match(await rest.text(), /"type":"completed"/);
  assert.equal((await server.end("SIGTERM")).end, 0);

  const ledger = new Ledger(`${db}-ledger.jsonl`);
  assert.deepEqual(ledger.repeated(), [], "nothing that had finished ran again");
  const totals = [...ledger.totals()].map(([vertex, { bodies, executions }]) => [vertex, bodies, executions]);
  assert.deepEqual(totals, [
    ["draft", 2, 1], // the first look-up of a process fails
    ["legal", 1, 1],
    ["price", 1, 1],
    ["review", 2, 1], // until it waits, and with the answer
    ["send", 1, 1],
  ]);
  assert.equal(ledger.entries().filter(({ event }) => event === "mail").length, 1);
});

test("the example server tells in one line why it cannot serve, and the exit code is 1", async (t) => {
  const folder = await temporaryFolder();
  const taken = createServer();
  await new Promise<void>((resolve) => void taken.listen(0, "127.0.0.1", resolve));
  t.after(async () => {
    await new Promise((resolve) => taken.close(resolve));
    await folder.remove();
  });
  const { port } = taken.address() as AddressInfo;
  const db = ["--db", join(folder.path, "served.db")];
  const cases: readonly (readonly [port: string, args: readonly string[], said: RegExp])[] = [
    [String(port), db, new RegExp(`127\\.0\\.0\\.1:${port} cannot be listened at`)],
    ["http", db, /port is NaN; give a number/],
    ["0", [...db, "--host", "0.0.0.0"], /other machines could reach 0\.0\.0\.0/],
    ["0", ["--colour"], /--colour/],
  ];
  await Promise.all(cases.map(async ([PORT, args, said]) => {
    const { end, lines, errors } = await run(PROGRAM, args, { env: { PORT, SUPERSTEP_TOKEN: "" } });
    assert.deepEqual([end, lines, errors.length], [1, [], 1], errors.join("\n"));
    assert.match(errors[0]!, said);
  }));
});

test("the example server's token lets in those who send it, as a bearer or as a browser's password, and nobody else", async () => {
  const auth = tokenAuth("to:ken");
  const admitted = async (authorization?: string) => {
    const headers = authorization === undefined ? {} : { Authorization: authorization };
    const request = new Request("http://localhost/v1/runs", { headers });
    const caller = await auth({ request, reads: true, signal: new AbortController().signal });
    return caller !== undefined;
  };
  const basic = (pair: string) => `Basic ${btoa(pair)}`;
  for (const good of ["Bearer to:ken", "bearer  to:ken", basic("kim:to:ken"), basic(":to:ken")]) {
    assert.equal(await admitted(good), true, good);
  }
  const bad = [undefined, "", "to:ken", "Bearer", "Bearer ", "Bearer to", "Bearer to:ken2", "Digest to:ken"];
  for (
    const other of [...bad, "Basic", "Basic ???", "Basic to:ken", basic("to:ken"), basic("kim:"), basic("")]
  ) {
    assert.equal(await admitted(other), false, other);
  }
  assert.throws(() => tokenAuth(""), /empty/);
});
