import { type CompiledGraph, isSuperstepError, type RunView } from "../../mod.ts";
import type { Lab, State } from "./lab.ts";

/**
 * Answers by name what is open and has an answer, and has other processes take over what is due, until the run is over
 * or nothing more comes: a body that did plain work while its run was released may have come back meanwhile (T9).
 */
export async function carry(
  lab: Lab,
  graph: CompiledGraph<State>,
  runId: string,
  answers: Readonly<Record<string, unknown>>,
  by: "1m" | "1h" = "1m",
): Promise<RunView<State>> {
  const person = lab.elsewhere(graph);
  for (let i = 0; i < 12; i++) {
    await lab.clock.advance(by);
    for (const handle of await lab.elsewhere(graph).recover()) await lab.drive(handle.result());
    const view = await person.get(runId);
    if (view.status === "completed") return view;
    for (const { waitId, name } of (await person.waits({ runId })).rows) {
      if (!(name in answers)) continue;
      await person.answer(runId, waitId, answers[name]).catch((error: unknown) => {
        if (!isSuperstepError(error, "ANSWER")) throw error;
      });
    }
  }
  return await person.get(runId);
}
