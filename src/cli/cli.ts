import { format } from "node:util";
import type { Logger } from "../engine/events.ts";
import { block, line, shortJson } from "./printable.ts";
import { type Colours, coloursOf } from "./colours.ts";
import type { Io } from "./io.ts";

/** Options that every command has. */
export interface CommonOptions {
  readonly json?: boolean;
  readonly debug?: boolean;
}

/** What the commands share: where to print, and the exit code to end with. */
export class Cli {
  readonly io: Io;
  /** Colours for the results, and for everything beside them. */
  readonly colours: Colours;
  readonly noteColours: Colours;
  exitCode = 0;
  #sink: ((text: string) => void) | undefined;

  constructor(io: Io) {
    this.io = io;
    this.colours = coloursOf(io, io.stdout);
    this.noteColours = coloursOf(io, io.stderr);
  }

  /** Prints a line, or several, of the result. The text must be printable, see `printable.ts`. */
  print(text: string): void {
    this.io.stdout.write(`${text}\n`);
  }

  /** Prints something beside the result, on the error stream; above the live progress, while there is one. */
  note(text: string): void {
    if (this.#sink === undefined) this.io.stderr.write(`${text}\n`);
    else this.#sink(text);
  }

  /** From now on notes go to `sink`; returns how to end that. */
  divert(sink: (text: string) => void): () => void {
    this.#sink = sink;
    return () => this.#sink = undefined;
  }

  /** Where the engine and `ctx.log` write. */
  readonly logger: Logger = {
    info: (message, fields) => this.#log(this.noteColours.dim("·"), message, fields),
    warn: (message, fields) => {
      // The progress tells of failures of vertices.
      if (fields["event"] === "attemptFailed" || fields["event"] === "vertexFinish") return;
      this.#log(this.noteColours.yellow("!"), message, fields);
    },
  };

  /** Something that the code of a workflow printed. */
  printed(data: readonly unknown[]): void {
    this.note(block(format(...data)));
  }

  #log(mark: string, message: string, fields: Readonly<Record<string, unknown>>): void {
    const more = Object.entries(fields).map(([key, value]) =>
      line(`${key}=${value instanceof Error ? value.message : shortJson(value)}`)
    );
    this.note([`${mark} ${line(String(message))}`, ...more.map((x) => this.noteColours.dim(x))].join("  "));
  }
}
