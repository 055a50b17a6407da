// Runs on deno by default: the command line is the same everywhere, and the store is tested on its own.
import assert from "node:assert/strict";
import { test } from "node:test";
import { NO_POSTGRES, openPostgres, POSTGRES_BIN } from "../support/postgres.ts";
import { DESK, runMain } from "./shell.ts";

if (POSTGRES_BIN === undefined) test(NO_POSTGRES, () => {});
else {
  test("every command takes a database in place of a file, and shows no password of it (W4, S7)", async () => {
    const opened = await openPostgres();
    const url = `${opened.url.replace("superstep@", "superstep:secret@")}?schema=${opened.schema}`;
    const shown: string[] = [];
    const run = async (...argv: readonly string[]) => {
      const ran = await runMain([...argv, "--db", url]);
      shown.push(ran.out, ran.err);
      return ran;
    };
    const begun = await run("run", DESK, "--run-id", "r1", "-i", `{"title":"t"}`);
    assert.equal(begun.code, 2, begun.err);
    const waits = await run("waits", "--json");
    const { waitId } = JSON.parse(waits.out) as { readonly waitId: string };
    assert.equal((await run("answer", waitId, DESK, "--value", `{"verdict":"approve","score":1}`)).code, 0);
    assert.match((await run("list")).out, /r1/);
    assert.match((await run("get", "nobody")).err, /there is no run nobody in postgres:\/\/superstep@127/);
    assert.equal((await run("purge", "r1", "--yes", "--force")).code, 0);
    assert.doesNotMatch(shown.join(""), /secret/);
    await opened.cleanup();
  });

  test("schema prints statements that make the tables, and rights; reading a database without tables says how (W4, S7)", async () => {
    const opened = await openPostgres();
    const url = `${opened.url}?schema=printed`;
    const { err, code } = await runMain(["list", "--db", url]);
    assert.deepEqual([code, /run what `superstep schema --print` prints/.test(err)], [1, true], err);
    await opened.query("create role desk login");
    const printed = await runMain(["schema", "--print", "--schema", "printed", "--role", "desk"]);
    await opened.query(printed.out);
    assert.equal((await runMain(["list", "--db", url.replace("superstep@", "desk@")])).code, 0);
    assert.equal((await runMain(["schema", "--db", url])).code, 0);
    assert.match((await runMain(["schema"])).err, /schema needs --print, or --db/);
    await opened.query("drop schema printed cascade; drop role desk");
    await opened.cleanup();
  });
}
