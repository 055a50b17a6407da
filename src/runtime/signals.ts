import process from "node:process";

const SIGNALS = ["SIGTERM", "SIGINT"] as const;

/** Calls `run` whenever the process is asked to end; until the returned function is called it does not end by itself. */
export function onTermination(run: (signal: string) => void): () => void {
  const listeners = SIGNALS.map((signal) => [signal, () => run(signal)] as const);
  for (const [signal, listener] of listeners) process.on(signal, listener);
  return () => {
    for (const [signal, listener] of listeners) process.off(signal, listener);
  };
}
