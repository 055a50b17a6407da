import process from "node:process";
import { setImmediate } from "node:timers";
import { z } from "zod";
import { defineWait } from "../../mod.ts";
import { carry } from "./carry.ts";
import { INPUT, Lab } from "./lab.ts";

/** Bodies that await late what an expiry has rejected; prints what each came to, unless the process ends before. */
const Verdict = defineWait("verdict", z.object({ ok: z.boolean() }));
const Boss = defineWait("boss", z.string());
type Answer = { ok: boolean };

async function turns(count = 3): Promise<void> {
  for (let i = 0; i < count; i++) await new Promise<void>((resolve) => setImmediate(resolve));
}

const LATE: Readonly<Record<string, (wait: Promise<Answer>) => Promise<unknown>>> = {
  "a helper": async (wait) => await wait,
  "a helper with a finally": async (wait) => {
    try {
      return await wait;
    } finally {
      await undefined;
    }
  },
  "then": (wait) => wait.then(({ ok }) => ok),
  "finally": (wait) => wait.finally(() => {}),
  "Promise.all": (wait) => Promise.all([wait, undefined]),
  "Promise.race": (wait) => Promise.race([wait]),
  "Promise.any": (wait) =>
    Promise.any([wait]).catch((error: AggregateError) => {
      throw error.errors[0];
    }),
};

const told: Record<string, unknown> = {};
for (const [what, derive] of Object.entries(LATE)) {
  const lab = new Lab();
  let mails = 0;
  const graph = lab.graph({
    a: {
      waits: [Verdict, Boss],
      body: async (ctx) => {
        const early = derive(ctx.waitFor(Verdict, { deadline: "1h" }));
        await ctx.waitFor(Boss);
        await turns();
        await ctx.once("mail", () => void mails++);
        await turns();
        return await early.then(() => "answered", (error: Error) => error.name);
      },
    },
  });
  const { runId } = (await lab.drive(lab.engine(graph).run(INPUT))).run;
  await carry(lab, graph, runId, {}, "1h");
  const result = await carry(lab, graph, runId, { boss: "yes" });
  told[what] = [result.status, result.state.out.a, mails];
}
console.log(JSON.stringify(told));
if (process.argv[2] === "own") {
  void Promise.reject(new Error("the user's own"));
  await turns(20);
}
