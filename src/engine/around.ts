import { faulty, type Hooks, type Logger, type VertexStart } from "./events.ts";

/** What runs a body within the `around` of every observer; `undefined` when there is none. */
export function wrapInAroundHooks(
  observers: readonly Hooks[],
  logger: Logger,
  start: () => VertexStart,
): ((body: () => unknown) => unknown) | undefined {
  if (observers.length === 0) return undefined;
  const around = observers.filter(encloses);
  if (around.length === 0) return undefined;
  const event = start();
  return (body) => around.reduceRight((inner, hooks) => within(hooks, logger, event, inner), body)();
}

function encloses(hooks: Hooks): boolean {
  try {
    return hooks.around !== undefined;
  } catch {
    return false;
  }
}

/** The body within one hook: it runs exactly once, whatever the hook does, and only its own outcome counts. */
function within(hooks: Hooks, logger: Logger, start: VertexStart, body: () => unknown): () => unknown {
  let outcome: Outcome | undefined;
  const run = (): unknown => {
    outcome ??= outcomeOf(body);
    if ("error" in outcome) throw outcome.error;
    return outcome.value;
  };
  return () => {
    try {
      const answer: unknown = hooks.around!(start, run);
      if (answer instanceof Promise) answer.catch((error) => blame(error));
    } catch (error) {
      void blame(error);
    }
    return run();
  };

  /** What comes from the body passes through the hook, and is no fault of it. */
  async function blame(error: unknown): Promise<void> {
    try {
      await run();
    } catch (own) {
      if (own === error) return;
    }
    faulty(logger, "around", error);
  }
}

type Outcome = { readonly value: unknown } | { readonly error: unknown };

function outcomeOf(body: () => unknown): Outcome {
  try {
    return { value: body() };
  } catch (error) {
    return { error };
  }
}
