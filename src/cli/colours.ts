import pc from "picocolors";
import type { Io, OutStream } from "./io.ts";

/** What puts colours on texts; plain texts where there are none. */
export type Colours = ReturnType<typeof pc.createColors>;

/** One colour. */
export type Paint = Colours["red"];

/** The colours of a stream: none for files and pipes, unless the environment says otherwise. */
export function coloursOf(io: Io, stream: OutStream): Colours {
  return pc.createColors(hasColours(io, stream));
}

/** Whether a person looks at the stream. */
export function isTerminal(io: Io, stream: OutStream): boolean {
  return stream.isTTY === true && io.env["TERM"] !== "dumb";
}

function hasColours(io: Io, stream: OutStream): boolean {
  const { NO_COLOR, FORCE_COLOR } = io.env;
  if (NO_COLOR !== undefined && NO_COLOR !== "") return false;
  return FORCE_COLOR !== undefined && FORCE_COLOR !== "" && FORCE_COLOR !== "0" || isTerminal(io, stream);
}
