import { dbArgument } from "./database.ts";
import { quoted } from "./format.ts";

/** Commands to be typed next, made from what was typed now. */
export interface NextCommands {
  resume(runId: string): string;
  answer(waitId: string): string;
}

/** The commands that go on with a run of these sources. */
export function nextCommands(sources: readonly string[], db: string): NextCommands {
  const where = sources.length === 0 ? "<module>" : sources.map(quoted).join(" ");
  const rest = ` ${where}${dbArgument(db)}`;
  return {
    resume: (runId) => `superstep resume ${runId}${rest}`,
    answer: (waitId) => `superstep answer ${waitId}${rest}`,
  };
}
