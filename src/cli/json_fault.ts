/** Where a text stops being JSON. The runtimes say it in different words, and some of them not at all. */
interface JsonFault {
  readonly line: number;
  readonly column: number;
  readonly problem: string;
}

const SPACE = /[ \t\r\n]*/y;
const SCALAR = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;
const CHARACTERS = /[^"\\\p{Cc}]*[\u007f-\u009f]*/uy;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;

/** The first fault of a text that is no JSON. */
export function jsonFault(text: string): JsonFault {
  const scanner = new Scanner(text);
  scanner.scan();
  const before = text.slice(0, scanner.at);
  const lines = before.split("\n");
  return { line: lines.length, column: lines.at(-1)!.length + 1, problem: scanner.problem };
}

/** Walks over a text until it finds what is wrong; keeps its own stack, so that depth costs none of the host's. */
class Scanner {
  at = 0;
  problem = "it is no JSON";
  readonly #text: string;
  /** The brackets that are open. */
  readonly #open: string[] = [];

  constructor(text: string) {
    this.#text = text;
  }

  scan(): void {
    for (let wanted: string | undefined = "a value"; wanted !== undefined;) {
      this.#take(SPACE);
      wanted = this.#next(wanted);
    }
  }

  /** Takes what is wanted and returns what must follow; `undefined` at the fault. */
  #next(wanted: string): string | undefined {
    const c = this.#text[this.at];
    const closing = this.#open.at(-1) === "{" ? "}" : "]";
    if (wanted === "the end") return c === undefined ? undefined : this.#fault("more after the end");
    if (c === undefined) return this.#fault(`the text ends where ${wanted} is expected`);
    if (wanted.endsWith(`or ${closing}`) && c === closing) {
      this.at++;
      this.#open.pop();
      return this.#after();
    }
    if (wanted.startsWith("a comma")) {
      return this.#mark(c, ",", this.#open.at(-1) === "{" ? "a key" : "a value");
    }
    if (wanted === "a colon") return this.#mark(c, ":", "a value");
    if (wanted.startsWith("a key")) {
      if (c !== '"') return this.#fault(`a key in double quotes is expected, not ${shown(c)}`);
      return this.#string() ? "a colon" : undefined;
    }
    if (c === "{" || c === "[") {
      this.at++;
      this.#open.push(c);
      return c === "{" ? "a key or }" : "a value or ]";
    }
    if (c === '"') return this.#string() ? this.#after() : undefined;
    return this.#take(SCALAR) > 0 ? this.#after() : this.#fault(`a value is expected, not ${shown(c)}`);
  }

  #after(): string {
    const open = this.#open.at(-1);
    return open === undefined ? "the end" : open === "{" ? "a comma or }" : "a comma or ]";
  }

  #mark(c: string, mark: string, next: string): string | undefined {
    if (c !== mark) {
      return this.#fault(`${mark === "," ? this.#after() : "a colon"} is expected, not ${shown(c)}`);
    }
    this.at++;
    return next;
  }

  #string(): boolean {
    const start = this.at++;
    for (;;) {
      if (this.#take(CHARACTERS) + this.#take(ESCAPE) > 0) continue;
      const c = this.#text[this.at];
      if (c === '"') return ++this.at > start;
      if (c === undefined) this.at = start;
      this.#fault(
        c === undefined
          ? "a string that begins here does not end"
          : c === "\\"
          ? "no such escape"
          : "a string holds a line break or another control character; write it as an escape",
      );
      return false;
    }
  }

  #take(pattern: RegExp): number {
    pattern.lastIndex = this.at;
    const length = pattern.exec(this.#text)?.[0].length ?? 0;
    this.at += length;
    return length;
  }

  #fault(problem: string): undefined {
    this.problem = problem;
    return undefined;
  }
}

function shown(c: string): string {
  return JSON.stringify(c);
}
