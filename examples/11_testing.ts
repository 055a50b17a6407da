/**
 * Testing your workflow: fakes in the place of tasks, answers by the name of the wait, a clock that moves when nothing
 * else happens. `crashTest` stops the engine at every write, resumes, and compares with the run that never crashed.
 *
 *     deno run -A examples/11_testing.ts
 *
 * In a project these would be tests; here they print.
 *
 * @module
 */
import { crashTest, testRunner } from "superstep/testing";
import { Expense } from "./08_wait.ts";
import { Invitation } from "./09_sleep.ts";
import { isMain } from "./support/host.ts";

if (isMain(import.meta.url)) {
  const expense = testRunner(Expense, { answers: { approval: { by: "Kim", approve: false } } });
  const refused = await expense.run({ amount: 120 });
  console.log(refused.status, refused.state.approvedBy, `the body ran ${expense.calls.approve} times`);

  // A fake for a vertex: nothing is sent, and no time passes.
  const invitation = testRunner(Invitation, { tasks: { invite: () => true } });
  console.log((await invitation.run({ guest: "Sam" })).state.coming);

  const report = await crashTest(Expense, {
    input: { amount: 120 },
    answers: { approval: { by: "Kim", approve: true } },
  });
  console.log(`the same outcome after each of ${report.crashes.length} crashes`);
}
