/** A command line in this process, on a folder of its own. */
import { join } from "node:path";
import { PassThrough, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import type { ConsoleMethods, Io, StopSignal } from "../../src/cli/io.ts";
import { main } from "../../src/cli/main.ts";
import { temporaryFolder } from "../support/stores.ts";

/** The path of a fixture: source, or as built for Node. */
export function fixture(name: string): string {
  const path = fileURLToPath(new URL(`./fixtures/${name}`, import.meta.url));
  return import.meta.url.endsWith(".js") ? path.replace(/\.ts$/, ".js") : path;
}

/** The workflow that does whatever its input asks for. */
export const DESK = fixture("desk.ts");

/** What a command did. */
export interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** How a command is run. */
export interface RunIn {
  /** What stands on the standard input. */
  readonly stdin?: string | Uint8Array;
  /** Makes terminals of the streams; what is typed whenever the pattern appears, in this order. */
  readonly typed?: readonly (readonly [seen: RegExp, keys: string])[];
  readonly env?: Readonly<Record<string, string>>;
  readonly console?: ConsoleMethods;
  /** Called with every piece of both output streams, and a way to send signals. */
  readonly watch?: (text: string, send: (signal: StopSignal) => void) => void;
  /** Called instead of ending the process. */
  readonly exit?: (code: number) => void;
}

/** A folder with a database, and commands on it. */
export class Shell {
  readonly folder: string;
  readonly db: string;
  readonly #remove: () => Promise<void>;

  private constructor(folder: string, remove: () => Promise<void>) {
    this.folder = folder;
    this.db = join(folder, "runs.db");
    this.#remove = remove;
  }

  /** Runs `use` with a shell and removes what it left. */
  static async with(use: (shell: Shell) => Promise<void>): Promise<void> {
    const { path, remove } = await temporaryFolder();
    const shell = new Shell(path, remove);
    try {
      await use(shell);
    } finally {
      await shell.#remove();
    }
  }

  /** Runs a command on the database of this shell. */
  run(...argv: readonly string[]): Promise<Ran> {
    return this.runIn({}, ...argv);
  }

  /** Runs a command under circumstances. */
  runIn(how: RunIn, ...argv: readonly string[]): Promise<Ran> {
    return runMain([...argv, "--db", this.db], how);
  }

  /** Starts a run of the desk that waits for its verdict; answers the id of the wait. */
  async waiting(runId: string, input: object = {}): Promise<string> {
    const ran = await this.run(
      "run",
      DESK,
      "--json",
      "--run-id",
      runId,
      "-i",
      JSON.stringify({ title: "T", ...input }),
    );
    const { waits } = JSON.parse(ran.out) as { readonly waits: readonly { readonly waitId: string }[] };
    return waits[0]!.waitId;
  }
}

/** Runs the command line with streams of its own. */
export async function runMain(argv: readonly string[], how: RunIn = {}): Promise<Ran> {
  const { typed, stdin = "", env = {}, watch, console, exit = () => {} } = how;
  const listeners = new Set<(signal: StopSignal) => void>();
  const send = (signal: StopSignal) => listeners.forEach((listener) => listener(signal));
  const input = Object.assign(
    new PassThrough(),
    typed === undefined ? {} : { isTTY: true, setRawMode: () => {} },
  );
  if (typed === undefined) input.end(stdin);
  const out = new Sink(typed !== undefined, (text) => watch?.(text, send));
  const err = new Sink(typed !== undefined, (text) => {
    watch?.(text, send);
    keyboard?.saw(text);
  });
  const keyboard = typed === undefined ? undefined : new Keyboard(input, typed);
  const io: Io = {
    stdin: input,
    stdout: out,
    stderr: err,
    env: { NO_COLOR: "1", ...env },
    ...(console === undefined ? {} : { console }),
    onStop(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    exit,
  };
  const code = await main(argv, io);
  return { code, out: out.text, err: err.text };
}

/** A stream that keeps what is written to it. */
export class Sink extends Writable {
  text = "";
  readonly isTTY: boolean;
  readonly columns = 100;
  readonly rows = 30;
  readonly #saw: (text: string) => void;

  constructor(isTTY: boolean, saw: (text: string) => void = () => {}) {
    super({ decodeStrings: false });
    this.isTTY = isTTY;
    this.#saw = saw;
  }

  override _write(chunk: string | Uint8Array, _encoding: string, done: () => void): void {
    const text = typeof chunk === "string" ? chunk : new TextDecoder().decode(chunk);
    this.text += text;
    this.#saw(text);
    done();
  }
}

/** Types when something appears. */
class Keyboard {
  readonly #input: PassThrough;
  readonly #left: (readonly [RegExp, string])[];
  #seen = "";

  constructor(input: PassThrough, typed: readonly (readonly [RegExp, string])[]) {
    this.#input = input;
    this.#left = [...typed];
  }

  saw(text: string): void {
    this.#seen += text;
    const [next] = this.#left;
    if (next === undefined || !next[0].test(this.#seen)) return;
    this.#left.shift();
    this.#seen = "";
    // Keys are pressed one after another, once the prompt that asked for them listens.
    setImmediate(() => {
      for (const key of next[1].match(/\p{Cc}\[.|[^]/gu) ?? []) this.#input.write(key);
    });
  }
}

/** The characters of a text that a terminal would act upon, but for those allowed. */
export function dangers(text: string, allowed = ""): readonly string[] {
  return [...text].filter((c) => {
    const code = c.codePointAt(0)!;
    const isControl = code < 0x20 || code >= 0x7f && code < 0xa0;
    const isTurn = code >= 0x2028 && code <= 0x202e || code >= 0x2066 && code <= 0x2069 || code === 0x200e ||
      code === 0x200f;
    return (isControl || isTurn) && !allowed.includes(c);
  });
}
