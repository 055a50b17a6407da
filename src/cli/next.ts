import { dbArgument } from "./database.ts";
import { quoted } from "./format.ts";
import type { Io } from "./io.ts";

/** Commands to be typed next, made from what was typed now. */
export interface NextCommands {
  resume(runId: string): string;
  answer(waitId: string): string;
}

/** The commands that go on with a run of these sources; without sources they say that some are needed. */
export function nextCommands(env: Io["env"], sources: readonly string[], db: string): NextCommands {
  const program = programName(env);
  const command = (name: string, id: string) => {
    const words = [program, name, id, ...sources.map(quoted)].join(" ");
    return `${words}${dbArgument(db)}${sources.length === 0 ? ", and the source of the workflow" : ""}`;
  };
  return {
    resume: (runId) => command("resume", runId),
    answer: (waitId) => command("answer", waitId),
  };
}

/** How the program was started, as far as the one who started it tells: `npx` and `bunx` do, and so do tasks and scripts. */
export function programName(env: Io["env"]): string {
  const { npm_lifecycle_event: event, npm_lifecycle_script: script = "" } = env;
  if (event === "npx" && /\bdeno\b/.test(script)) return "npx -y deno@2 task superstep";
  if (event === "npx" || event === "bunx") return `${event} superstep`;
  const { npm_config_user_agent: agent = "", INIT_CWD: task } = env;
  return task !== undefined && agent.startsWith("deno/") ? "deno task superstep" : "superstep";
}
