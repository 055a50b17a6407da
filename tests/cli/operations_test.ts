// Runs on deno by default: the commands are the same everywhere; they run as processes on all three.
import assert from "node:assert/strict";
import { rmSync } from "node:fs";

import { test } from "node:test";
import { DESK, fixture, type Ran, Shell } from "./shell.ts";

const input = (fields: object = {}) => JSON.stringify({ title: "T", ...fields });
const APPROVE = '{"verdict":"approve","score":1}';

function refused(ran: Ran, message: RegExp): void {
  assert.deepEqual([ran.code, ran.out], [1, ""]);
  assert.match(ran.err, /^superstep: [^\n]+\n$/);
  assert.match(ran.err, message);
}

async function statusOf(shell: Shell, run: string): Promise<string> {
  return JSON.parse((await shell.run("get", run, "--json")).out).status;
}

test("cancel ends a run for good without its code, tells the reason, and comes too late for one that is over (O5)", () =>
  Shell.with(async (shell) => {
    const waitId = await shell.waiting("r1");
    const first = await shell.run("cancel", "r1", "--reason", "not \u001b[31mneeded");
    assert.deepEqual(first, { code: 0, out: "r1 is cancelled: not needed\n", err: "" });
    const again = JSON.parse((await shell.run("cancel", "r1", "-r", "other", "--json")).out);
    assert.deepEqual(again, { runId: "r1", status: "cancelled", reason: "not \u001b[31mneeded" });
    assert.equal((await shell.run("get", "r1", "--exit-status")).code, 4);
    refused(await shell.run("answer", "r1", waitId, DESK, "--value", APPROVE), /not accepted/);
    refused(await shell.run("resume", "r1", DESK), /run r1 is cancelled and cannot be resumed/);
    refused(await shell.run("cancel", "r9"), /there is no run r9/);
    refused(await shell.run("cancel", "r1", "-r", "x".repeat(2_000)), /reason/);

    await shell.waiting("r2");
    await shell.run("resume", "r2", DESK, "--value", APPROVE);
    assert.match(
      (await shell.run("cancel", "r2")).out,
      /^r2 was completed before; there is nothing to cancel\n$/,
    );
  }));

test("fork begins a new run at a revision, with another state, and may work on it at once (H2)", () =>
  Shell.with(async (shell) => {
    await shell.waiting("r1", { pages: ["abc"] });
    const plain = await shell.run("fork", "r1", DESK, "--run-id", "f1");
    assert.match(
      plain.out,
      /^f1 begins where r1 was at revision \d+; go on with: superstep resume f1 .*desk\.[tj]s --db /,
    );
    assert.equal((await shell.run("resume", "f1", DESK)).code, 2, "its wait opens anew");
    assert.equal((await shell.run("resume", "f1", DESK, "--value", APPROVE)).code, 0);

    const edits = ["--set", 'title="U"', "--set", 'pages=["a","bb"]'];
    const at = await shell.run(
      "fork",
      DESK,
      "r1",
      "--revision",
      "0",
      ...edits,
      "--tag",
      "second",
      "--resume",
      "--json",
    );
    assert.equal(at.code, 2);
    const { state, run } = JSON.parse(at.out);
    assert.deepEqual([state.title, state.text, state.read, run.tags], ["U", "U!", [1, 2], ["second"]]);
    assert.deepEqual(run.parent, { runId: "r1", revision: 0 });
    assert.match((await shell.run("get", run.runId)).out, /^forked +from r1, revision 0$/m);
    assert.match((await shell.run("history", run.runId)).out, /begins where r1 was at revision 0/);

    const whole = await shell.run(
      "fork",
      "r1",
      DESK,
      "--state",
      input({ lost: true }),
      "--json",
      "--revision",
      "0",
    );
    const forked = JSON.parse(whole.out);
    assert.deepEqual(forked.parent, { runId: "r1", revision: 0 });
    assert.equal((await shell.run("resume", forked.runId, DESK)).code, 3);

    refused(await shell.run("fork", "r1", DESK, "--revision", "99"), /run r1 has no revision 99/);
    refused(await shell.run("fork", "r1", DESK, "--state", "{}"), /does not satisfy its schema: title: /);
    refused(
      await shell.run("fork", "r1", DESK, "--state", "{}", "--set", "a=1"),
      /give --state or --set, not both/,
    );
    refused(
      await shell.run("fork", "r1", DESK, "--set", "title"),
      /--set is "title"; give a field and its value/,
    );
    refused(
      await shell.run("fork", "r1", DESK, "--set", "title=U"),
      /the value of title is no JSON: line 1, column 1.*; text needs quotes: --set 'title="U"'$/m,
    );
    refused(await shell.run("fork", "r1", DESK, "--set", "scroe=5"), /the state has no field scroe/);
    refused(await shell.run("fork", "r1", DESK, "--set", '__proto__={"admin":true}'), /__proto__/);
    assert.equal(({} as { admin?: unknown }).admin, undefined);
    refused(await shell.run("fork", "f1", DESK, "--run-id", "r1"), /run r1 exists already/);
    refused(await shell.run("fork", "r1"), /no source is given/);
    refused(await shell.run("fork", "r1", fixture("other.ts")), /run r1 belongs to workflow desk/);
  }));

test("update changes the state of a run that nobody is at work on (H2)", () =>
  Shell.with(async (shell) => {
    await shell.waiting("r1");
    const { out } = await shell.run("update", "r1", DESK, "--set", 'text="new"');
    assert.match(
      out,
      /^r1 is changed, revision \d+; it still awaits an answer; answer with: superstep answer r1 /,
    );
    const shown = JSON.parse((await shell.run("update", "r1", DESK, "--set", "score=5", "--json")).out);
    assert.deepEqual([shown.state.text, shown.state.score, shown.status], ["new", 5, "interrupted"]);
    assert.match((await shell.run("history", "r1")).out, /the state was changed from outside/);
    refused(
      await shell.run("update", "r1", DESK, "--set", 'titel="x"'),
      /no field titel; did you mean title\?/,
    );
    await shell.run("run", DESK, "-i", '{"title":"T","lost":true}', "--run-id", "r3");
    const halted = await shell.run("update", "r3", DESK, "--set", "lost=false");
    assert.match(halted.out, /^r3 is changed, revision \d+; go on with: superstep resume r3 /);
    refused(await shell.run("update", "r1", DESK), /no change is given; give --state or --set/);
    refused(await shell.run("update", "r1", DESK, "--set", "title=5"), /title: /);
    refused(await shell.run("update", "r9", DESK, "--set", "score=5"), /there is no run r9/);
    await shell.run("cancel", "r1");
    refused(await shell.run("update", "r1", DESK, "--set", "score=6"), /run r1 is cancelled/);
  }));

test("purge removes runs that are over, by id or by what they are, and others with --force only (H4)", () =>
  Shell.with(async (shell) => {
    await shell.waiting("r1");
    await shell.waiting("r2");
    await shell.run("cancel", "r2");
    await shell.run("run", fixture("other.ts"), "--run-id", "o1", "--tag", "red");
    await shell.run("cancel", "o1");
    const ids = async () =>
      (await shell.run("list", "--json")).out.split("\n").filter((row) => row !== "").map((row) =>
        JSON.parse(row).runId
      );

    refused(await shell.run("purge"), /nothing says which runs; give ids, --older-than, --status/);
    refused(await shell.run("purge", "r2"), /there is no terminal to ask on; give --yes/);
    refused(await shell.run("purge", "r1", "-y"), /run r1 is interrupted; cancel it first, or give --force/);
    refused(await shell.run("purge", "--status", "interrupted", "-y"), /give --force to cancel them first/);
    refused(await shell.run("purge", "r9", "-y"), /there is no run r9/);
    assert.deepEqual(await ids(), ["o1", "r2", "r1"]);

    assert.equal((await shell.run("purge", "--older-than", "1h", "-y")).out, "0 runs removed\n");
    assert.equal((await shell.run("purge", "--tag", "blue", "-y")).out, "0 runs removed\n");
    assert.equal((await shell.run("purge", "--workflow", "desk", "-y")).out, "1 run removed\n");
    assert.deepEqual(await ids(), ["o1", "r1"]);
    assert.equal(
      (await shell.run("purge", DESK, "--all", "-y")).out,
      "0 runs removed\n",
      "those of the sources only",
    );
    assert.deepEqual(JSON.parse((await shell.run("purge", "--all", "-y", "--json")).out), { purged: 1 });
    assert.equal((await shell.run("purge", "r1", "-y", "--force")).out, "1 run removed\n");
    assert.deepEqual(await ids(), []);
    refused(await shell.run("get", "r1"), /there is no run r1/);
  }));

test("on a terminal purge asks before it removes anything (H4)", () =>
  Shell.with(async (shell) => {
    await shell.waiting("r1");
    await shell.run("cancel", "r1");
    const question = /1 run will be removed for good\. Go on\?/;
    const no = await shell.runIn({ typed: [[question, "\r"]] }, "purge", "r1");
    assert.equal(no.code, 130);
    assert.match(no.err, /nothing was removed\n$/);
    const yes = await shell.runIn({ typed: [[question, "\u001b[B\r"]] }, "purge", "r1");
    assert.deepEqual([yes.code, yes.out], [0, "1 run removed\n"]);
  }));

test("retain cuts the beginning off a history; what is left is read as before (H4)", () =>
  Shell.with(async (shell) => {
    await shell.waiting("r1");
    assert.match(
      (await shell.run("retain", "r1", "--last", "1")).out,
      /^the history of r1 begins at revision \d+\n$/,
    );
    assert.equal(JSON.parse((await shell.run("retain", "r1", "--last", "1", "--json")).out).runId, "r1");
    assert.equal(await statusOf(shell, "r1"), "interrupted");
    refused(await shell.run("retain", "r1"), /required option '--last <n>' not specified/);
    refused(await shell.run("retain", "r1", "--last", "0"), /argument '0' is invalid/);
    refused(await shell.run("retain", "r9", "--last", "1"), /there is no run r9/);
  }));

test("get shows a run as it was at a revision, with its code and without (H1)", () =>
  Shell.with(async (shell) => {
    await shell.waiting("r1");
    for (const source of [[], [DESK]]) {
      const { run, state } = JSON.parse(
        (await shell.run("get", "r1", ...source, "--revision", "0", "--json")).out,
      );
      assert.deepEqual([run.status, run.revision, state.text], ["running", 0, ""]);
    }
    refused(await shell.run("get", "r1", "--revision", "99"), /run r1 has no revision 99/);
  }));

test("a detached run is worked on by a worker, which is stopped in good order; runs that are answered are gone on with (W1)", () =>
  Shell.with(async (shell) => {
    const { code, out } = await shell.run("run", DESK, "-d", "-i", input(), "--run-id", "r1", "--tag", "red");
    assert.deepEqual([code, out], [0, "r1\n"]);
    assert.equal(await statusOf(shell, "r1"), "running");
    const again = await shell.run("run", DESK, "--detach", "-i", input(), "--run-id", "r1", "--json");
    assert.deepEqual(JSON.parse(again.out), { runId: "r1", created: false });

    let answered: Promise<Ran> | undefined;
    const served = await shell.runIn(
      {
        watch: (text, send) => {
          if (text.includes("awaiting an answer")) {
            answered = shell.run("answer", "r1", DESK, "--value", APPROVE);
          }
          if (text.includes("r1  desk  completed")) {
            send("SIGTERM");
          }
        },
      },
      "serve",
      DESK,
      "--poll",
      "20ms",
      "--grace",
      "1s",
    );
    assert.equal(served.code, 143);
    assert.match(
      served.out,
      /r1 {2}desk {2}started\n[^]*awaiting an answer\n[^]*gone on with\n[^]*completed\n$/,
    );
    assert.match(served.err, /^serving desk from .*; stop with Ctrl-C\nstopping: no more runs are taken/);
    assert.equal((await answered)?.code, 0);
    refused(
      await shell.run("serve", DESK, "--poll", "often"),
      /argument 'often' is invalid\. Give a span such as "30s"/,
    );
    refused(await shell.run("serve", DESK, "-w", "desc"), /there is no workflow "desc"; did you mean desk\?/);
  }));

test("a worker ends with the code of the signal that stopped it, as every command does (FT-F13, W4)", () =>
  Shell.with(async (shell) => {
    for (const [signal, code] of [["SIGINT", 130], ["SIGTERM", 143]] as const) {
      const served = await shell.runIn(
        { watch: (text, send) => text.startsWith("serving") && send(signal) },
        "serve",
        DESK,
      );
      assert.equal(served.code, code);
    }
  }));

test("a worker whose database is deleted says so and ends with code 1 (FT-F6, W4)", () =>
  Shell.with(async (shell) => {
    const served = await shell.runIn(
      { watch: (text) => text.startsWith("serving") && rmSync(shell.db) },
      ...["serve", DESK, "--poll", "20ms"],
    );
    assert.equal(served.code, 1);
    assert.match(served.err, /the worker stops: .*was deleted while it was open/);
  }));

test("a worker takes requests too, and has a dashboard, until it is stopped (W3, W4)", () =>
  Shell.with(async (shell) => {
    const pages: string[] = [];
    const served = await shell.runIn(
      {
        watch: (text, send) => {
          const [, url] = /at (http:\/\/127\.0\.0\.1:\d+), for people at/.exec(text) ?? [];
          if (url === undefined || pages.length > 0) return;
          pages.push("asked");
          const visit = async () => {
            const run = await fetch(`${url}/v1/graphs/desk/runs?wait=10s`, {
              method: "POST",
              headers: { "Content-Type": "application/json" },
              body: JSON.stringify({ runId: "r1", input: JSON.parse(input()) }),
            });
            const page = await fetch(`${url}/ui/runs/r1`);
            pages.push(`${run.status} ${page.status} ${/class="badge awaiting"/.test(await page.text())}`);
          };
          visit().catch((error) => pages.push(String(error))).finally(() => send("SIGTERM"));
        },
      },
      "serve",
      DESK,
      "--port",
      "0",
      "--poll",
      "20ms",
    );
    assert.deepEqual(pages, ["asked", "200 200 true"]);
    assert.equal(served.code, 143);
    refused(await shell.run("serve", DESK, "--port", "70000"), /Give a number from 0 to 65535/);
  }));

test("a queued run is listed as such, and the workers of a database with what they serve (FT-F3, W4)", () =>
  Shell.with(async (shell) => {
    await shell.run("run", DESK, "-d", "-i", input(), "--run-id", "r1");
    assert.match((await shell.run("list")).out, /r1 +desk +queued/);
    assert.equal(JSON.parse((await shell.run("get", "r1", "--json")).out).activity, "queued");
    assert.equal((await shell.run("list", "--activity", "working")).err, "no runs\n");
    assert.match((await shell.run("workers")).err, /no workers; start one with superstep serve/);
    let listed: Promise<Ran> | undefined;
    await shell.runIn(
      {
        watch: (text, send) => {
          if (!text.includes("awaiting an answer")) return;
          listed ??= shell.run("workers").finally(() => send("SIGTERM"));
        },
      },
      "serve",
      DESK,
      "--poll",
      "20ms",
      "--name",
      "desk-1",
    );
    assert.match((await listed)!.out, /^WORKER .*\ndesk-1 .* \d\/32 +desk [0-9a-f]{8}:1 /);
  }));

test("schedules that no worker has followed are not there to be paused, and a database may have none (Q3, W4)", () =>
  Shell.with(async (shell) => {
    await shell.run("run", DESK, "-d", "-i", input(), "--run-id", "r1");
    assert.match((await shell.run("schedules", "list")).err, /no schedules; a worker records them/);
    refused(
      await shell.run("schedules", "pause", "desk", "daily"),
      /no worker has followed a schedule desk daily; see superstep schedules list/,
    );
    refused(
      await shell.run("schedules", "run", "daily", DESK),
      /graph desk has no schedule daily; it has none/,
    );
  }));
